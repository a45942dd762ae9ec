package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/render"
)

func TestMissingAddress(t *testing.T) {
	def := definition(dns(), lease.Service{Name: "mail", Expose: []lease.Expose{
		{Port: 25, Protocol: lease.TCP, Global: true, IP: "mail", IPAt: lease.Place{File: "shop.yaml", Line: 9, Column: 5}},
	}})
	def.IPEndpoints = []lease.IPEndpoint{{Name: "public", At: lease.Place{File: "shop.yaml", Line: 12, Column: 3}}}
	cfg := config.Default()

	_, err := render.Lease(def, cfg, nil)
	if _, ok := errors.AsType[lease.Problems](err); !ok {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		`shop.yaml:12:3: IP endpoint "public" has no address`,
		`shop.yaml:9:5: IP endpoint "mail" has no address`,
		"spec.ipEndpoints[].addresses", "--ledger cluster", "--ledger DIR",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if n := strings.Count(err.Error(), "has no address"); n != 2 {
		t.Errorf("%d endpoints are reported, want each once: %v", n, err)
	}
}

func TestAddresses(t *testing.T) {
	def := definition(game())
	def.IPEndpoints = []lease.IPEndpoint{{Name: "public", Addresses: addrs("203.0.113.7")}, {Name: "unused", Addresses: addrs("203.0.113.9")}}
	cfg := config.Default()
	annotation := func(a render.Addresses) string {
		t.Helper()
		objects, err := render.Lease(def, cfg, a)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(encode(t, emit.YAML, objects)), "loadBalancerIPs: ")
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	if got, want := annotation(nil), `"203.0.113.7"`; got != want {
		t.Errorf("from the definition: got %s, want %s", got, want)
	}
	if got, want := annotation(render.Addresses{"public": addrs("203.0.113.8")}), `"203.0.113.8"`; got != want {
		t.Errorf("from the ledger: got %s, want %s", got, want)
	}
	if _, err := render.Lease(def, cfg, render.Addresses{"public": addrs("203.0.113.7", "203.0.113.8")}); err == nil {
		t.Error("two IPv4 addresses on one endpoint are no error")
	}
}

func TestPools(t *testing.T) {
	cfg := config.Default()
	cfg.IP.Ranges = ranges("203.0.113.0/28", "198.51.100.0/24", "!203.0.113.3")
	for _, outside := range []string{"192.0.2.1", "203.0.113.3", "2001:db8::1"} {
		_, err := render.Pools(cfg, addrs("203.0.113.1", outside))
		if err == nil || !strings.Contains(err.Error(), outside+" is in none of the provider's ranges") ||
			!strings.Contains(err.Error(), "203.0.113.0/28, 198.51.100.0/24, !203.0.113.3/32") {
			t.Errorf("%s: got %v", outside, err)
		}
	}
	for mode, want := range map[string][]string{
		config.ModeRange: {"ipaddresspool/akash-net-203-0-113-0-28", "l2advertisement/akash-net-203-0-113-0-28"},
		config.ModeDedicated: {
			"ipaddresspool/akash-ip-203-0-113-1", "l2advertisement/akash-ip-203-0-113-1",
			"ipaddresspool/akash-ip-203-0-113-2", "l2advertisement/akash-ip-203-0-113-2",
		},
		config.ModePool: nil,
	} {
		cfg.IP.Mode = mode
		objects, err := render.Pools(cfg, addrs("203.0.113.2", "203.0.113.1", "203.0.113.2"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range objects {
			got = append(got, o.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", mode, d)
		}
	}
}

// The second Service of a port has a longer name than Akash's, which must fit too.
func TestLongServiceName(t *testing.T) {
	service := game()
	service.Name = strings.Repeat("a", 63-len("-ip-27015-udp"))
	service.Expose[0].At = lease.Place{File: "shop.yaml", Line: 3, Column: 5}
	for ips, want := range map[string]string{
		"203.0.113.7":             "",
		"203.0.113.7 2001:db8::7": "shop.yaml:3:5: the Service for the IPv6 address would be named",
	} {
		_, err := render.Lease(definition(service), config.Default(), render.Addresses{"public": addrs(strings.Fields(ips)...)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", ips, err, want)
		}
	}
}
