package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"github.com/akash-net/kubectl-akash-net/reconcile"
)

// options are those of a reconciler that listens at an address.
func options(at netip.AddrPort) Options {
	s := &Shown{}
	return Options{Listen: reconcile.Listen{Address: at}, Rest: &rest.Config{Host: "http://127.0.0.1:1"}, Shown: s, Metrics: NewMetrics(s)}
}

// Without a certificate of its own the reconciler makes one, and takes none from the system's temporary files, where anybody may write.
func TestNoCertificateOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	cert, key, err := certutil.GenerateSelfSignedCertKey("evil.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"k8s-metrics-server", "k8s-webhook-server"} {
		in := filepath.Join(dir, program, "serving-certs")
		if err := os.MkdirAll(in, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
			if err := os.WriteFile(filepath.Join(in, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	open := freePort(t, "0.0.0.0")
	at := fmt.Sprint("127.0.0.1:", open.Port())
	err = Beside(t.Context(), options(open), func(ctx context.Context) error {
		for ctx.Err() == nil {
			c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
			if err != nil {
				continue // it does not listen yet
			}
			shown := c.ConnectionState().PeerCertificates[0]
			if shown.VerifyHostname("localhost") != nil || shown.VerifyHostname("evil.example.com") == nil {
				t.Errorf("the certificate is that of %s", shown.Subject)
			}
			return c.Close()
		}
		return ctx.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// As operators it answers over plain HTTP at any address, with and without --listen.
func TestListensAsOperators(t *testing.T) {
	for _, also := range []bool{false, true} {
		o := options(netip.AddrPort{})
		if also {
			o.Listen.Address = freePort(t, "127.0.0.1")
		}
		o.Listen.Operators = freePort(t, "0.0.0.0")
		err := Beside(t.Context(), o, func(ctx context.Context) error {
			for ctx.Err() == nil {
				r, err := http.Get(fmt.Sprint("http://127.0.0.1:", o.Listen.Operators.Port(), "/health"))
				if err != nil {
					continue // it does not listen yet
				}
				if r.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("it answers %s", r.Status)
				}
				return r.Body.Close()
			}
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// freePort is a port of an address at which nobody listens.
func freePort(t *testing.T, address string) netip.AddrPort {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close() //nolint:errcheck // it was only asked for its port
	return netip.AddrPortFrom(netip.MustParseAddr(address), netip.MustParseAddrPort(free.Addr().String()).Port())
}

// Where somebody else listens, the work is ended, and the error names the flag and the address.
func TestAddressInUse(t *testing.T) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close() //nolint:errcheck // the test is over
	err = Beside(t.Context(), options(netip.MustParseAddrPort(held.Addr().String())), func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
	if want := "--listen: cannot listen at " + held.Addr().String() + ": bind: address already in use"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
