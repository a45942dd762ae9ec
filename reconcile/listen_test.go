package reconcile

import "testing"

// A port alone is one of the loopback address: nothing is shown to others unless their address is named.
func TestParseListen(t *testing.T) {
	for text, want := range map[string]struct {
		address       string
		loopback, tls bool
	}{
		"8443":              {"127.0.0.1:8443", true, false},
		":8443":             {"127.0.0.1:8443", true, false},
		"localhost:8443":    {"127.0.0.1:8443", true, false},
		"127.1.2.3:8443":    {"127.1.2.3:8443", true, false},
		"[::1]:8443":        {"[::1]:8443", true, false},
		"0.0.0.0:8443":      {"0.0.0.0:8443", false, true},
		"[::]:8443":         {"[::]:8443", false, true},
		"10.0.0.7:65535":    {"10.0.0.7:65535", false, true},
		"[fe80::1%eth0]:80": {"[fe80::1%eth0]:80", false, true},
	} {
		at, err := ParseListen(text)
		l := Listen{Address: at}
		if err != nil || at.String() != want.address || l.Loopback() != want.loopback || l.TLS() != want.tls {
			t.Errorf("%s: %s, loopback %t, TLS %t, %v", text, at, l.Loopback(), l.TLS(), err)
		}
	}
	for _, text := range []string{"0", ":0", "65536", "-1", "http", "example.com:80", "1.2.3.4", "1.2.3.4:", "::1:80", "[::1]", "a b:80", "127.0.0.1:80:80", "*:80"} {
		if at, err := ParseListen(text); err == nil {
			t.Errorf("%s is understood as %s", text, at)
		}
	}
	if l := (Listen{CertFile: "tls.crt"}); !l.TLS() {
		t.Error("a certificate is not used")
	}
}
