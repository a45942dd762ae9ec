package reconcile

import (
	"fmt"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// A port alone is one of the loopback address: nothing is shown to others unless their address is named.
func TestParseListen(t *testing.T) {
	golden.Rules{"listen": func(line string) string {
		at, err := ParseListen(line)
		if err != nil {
			return "! " + err.Error()
		}
		l := Listen{Address: at}
		return fmt.Sprintf("%s, loopback %t, TLS %t", at, l.Loopback(), l.TLS())
	}}.Check(t, "testdata/listen.txt")
	if l := (Listen{CertFile: "tls.crt"}); !l.TLS() {
		t.Error("a certificate is not used")
	}
}
