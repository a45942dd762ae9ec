package dnsproof_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/dnsproof"
)

var servers = map[string]string{
	"192.0.2.1":             "192.0.2.1:53",
	"192.0.2.1:5353":        "192.0.2.1:5353",
	"2001:DB8::1":           "[2001:db8::1]:53",
	"[2001:db8::1]":         "[2001:db8::1]:53",
	"[2001:db8:0::1]:5353":  "[2001:db8::1]:5353",
	"fe80::1%eth0":          "[fe80::1%eth0]:53",
	"dns.example.com":       "dns.example.com:53",
	"DNS.example.com:5353":  "dns.example.com:5353",
	"localhost":             "localhost:53",
	"":                      "",
	":53":                   "",
	"fe80::1%a]b":           "",
	"fe80::1%a b":           "",
	"192.0.2.1:":            "",
	"192.0.2.1:0":           "",
	"192.0.2.1:053":         "",
	"192.0.2.1:65536":       "",
	"192.0.2.1:dns":         "",
	"192.0.2.300":           "",
	"2001:db8::1::53":       "",
	"[192.0.2.1]:53":        "",
	"[dns.example.com]":     "",
	"[2001:db8::1":          "",
	"https://192.0.2.1":     "",
	"dns_example":           "",
	"dns.example.com/query": "",
}

func TestParseServer(t *testing.T) {
	for text, want := range servers {
		got, err := dnsproof.ParseServer(text)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}

// A server that is read can be dialled, and is read from its own text again.
func FuzzParseServer(f *testing.F) {
	for text := range servers {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		server, err := dnsproof.ParseServer(text)
		if err != nil {
			if server != "" || !strings.Contains(err.Error(), `"`) {
				t.Errorf("%q: %q, %v", text, server, err)
			}
			return
		}
		if host, port, err := net.SplitHostPort(server); err != nil || host == "" || port == "" {
			t.Errorf("%q: %q is no address: %v", text, server, err)
		}
		if again, err := dnsproof.ParseServer(server); again != server || err != nil {
			t.Errorf("%q: %q is read as %q, %v", text, server, again, err)
		}
	})
}

func TestSystemServers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	for text, want := range map[string][]string{
		"# none\n": nil,
		"search example.com\nnameserver nosuch\n":                                                  nil,
		"nameserver 192.0.2.1\nnameserver 2001:db8::1\noptions ndots:1\n":                          {"192.0.2.1:53", "[2001:db8::1]:53"},
		"nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n": {"192.0.2.1:53", "192.0.2.2:53", "192.0.2.3:53"},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := dnsproof.SystemServers(file)
		if !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := dnsproof.SystemServers(file + ".missing"); err == nil {
		t.Error("a file that is missing gives no error")
	}
}
