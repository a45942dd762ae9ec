package config_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

// The rules of the configuration, in full: testdata/rules.txt; `go test ./lease/config -rewrite` writes what is said now.
//
//	spec        each line stands below spec
//	document    each line is a whole document; ";;" ends a line of it
//	hosts       the first line stands below spec, the others are hosts and wildcards that are asked for
//	ranges      the first line has ranges, the others addresses that are looked for in them
func TestRules(t *testing.T) {
	read := func(text string) (*config.ProviderConfig, string) {
		cfg, problems, err := config.Read(strings.NewReader(strings.ReplaceAll(text, ";;", "\n")), "")
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			return cfg, "    read\n"
		}
		said := ""
		for _, p := range problems {
			said += "    " + p.Error() + "\n"
		}
		return cfg, said
	}
	const head = "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: "
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		lines := strings.Split(strings.TrimSuffix(d.Input, "\n"), "\n")
		switch d.Cmd {
		case "hosts":
			cfg, said := read(head + "{" + lines[0] + "}\n")
			if cfg == nil {
				return said
			}
			for _, host := range lines[1:] {
				fmt.Fprintf(&out, "%s  =>  %s\n", host, cfg.Refuse(host, config.Backend{}))
			}
			return out.String()
		case "ranges":
			ranges := ranges(t, strings.Fields(lines[0]))
			for _, r := range ranges.Include {
				fmt.Fprintf(&out, "%s %s:", r.Text, r.PoolName())
				for _, p := range ranges.Pieces(r) {
					fmt.Fprintf(&out, " %s", p.MetalLB())
				}
				fmt.Fprintln(&out)
			}
			for _, f := range []config.Family{config.IPv4, config.IPv6} {
				var first []string
				for a := range ranges.Addresses(f) {
					if first = append(first, a.String()); len(first) == 8 {
						break
					}
				}
				fmt.Fprintf(&out, "%s of %s: %s\n", f, ranges.Texts(f), strings.Join(first, " "))
			}
			for _, a := range lines[1:] {
				r, ok := ranges.Find(netip.MustParseAddr(a))
				fmt.Fprintf(&out, "%s: %s %v, excluded %v\n", a, r.Text, ok, ranges.Excludes(netip.MustParseAddr(a)))
			}
			return out.String()
		}
		for _, line := range lines {
			text := line + "\n"
			if d.Cmd == "spec" {
				text = head + "{" + line + "}\n"
			}
			_, said := read(text)
			fmt.Fprintf(&out, "%s\n%s", line, said)
		}
		return out.String()
	})
}

func ranges(t *testing.T, texts []string) (rs config.Ranges) {
	t.Helper()
	for _, text := range texts {
		rest, exclude := strings.CutPrefix(text, "!")
		r, err := config.ParseRange(rest)
		if err != nil {
			t.Fatal(err)
		}
		if exclude {
			rs.Exclude = append(rs.Exclude, r)
		} else {
			rs.Include = append(rs.Include, r)
		}
	}
	return rs
}

// Pieces, Find, Contains and Addresses agree, wherever exclusions begin and end: all ranges over few addresses.
func TestPiecesAreWhatRemains(t *testing.T) {
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, byte(250 + i)}) }
	for first := range 6 {
		for last := first; last < 6; last++ {
			for x := range 36 * 36 {
				rs := config.Ranges{Include: []config.Range{{First: at(first), Last: at(last)}}}
				for _, n := range []int{x % 36, x / 36} {
					if a, b := n%6, n/6; a <= b {
						rs.Exclude = append(rs.Exclude, config.Range{First: at(a), Last: at(b)})
					}
				}
				left := map[netip.Addr]bool{}
				for _, p := range rs.Pieces(rs.Include[0]) {
					for i := range 6 {
						if p.Contains(at(i)) {
							if left[at(i)] {
								t.Fatalf("%v: %s is in two pieces", rs, at(i))
							}
							left[at(i)] = true
						}
					}
				}
				for i := range 6 {
					_, found := rs.Find(at(i))
					if want := i >= first && i <= last && !rs.Excludes(at(i)); found != want || left[at(i)] != want {
						t.Fatalf("%v: %s is found: %v, in a piece: %v", rs, at(i), found, left[at(i)])
					}
				}
				if all := slices.Collect(rs.Addresses(config.IPv4)); len(all) != len(left) || !slices.IsSortedFunc(all, netip.Addr.Compare) {
					t.Fatalf("%v: addresses %v, left %v", rs, all, slices.Collect(maps.Keys(left)))
				}
			}
		}
	}
}

// A host that the provider gives a service is that service's alone, whatever is denied.
func TestGives(t *testing.T) {
	id := lease.ID{Owner: "akash1x", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1y"}
	other := id
	other.DSeq = 2
	cfg := config.Default()
	cfg.Ingress.Domain, cfg.Hosts.Generated = "ingress.example.com", "${service}.apps.example.com"
	cfg.Hosts.DeniedDomains, cfg.Hosts.Blocked = []string{"example.com"}, []string{".example.com"}
	static, generated := id.StaticHost("web", "ingress.example.com"), hosttemplate.Host(id, cfg.Hosts.Generated, "web", 65535)
	for _, c := range []struct {
		host  string
		to    config.Backend
		gives bool
	}{
		{static, config.Backend{Lease: id, Service: "web"}, true},
		{static, config.Backend{Lease: id, Service: "api"}, false},
		{static, config.Backend{Lease: other, Service: "web"}, false},
		{static, config.Backend{}, false},
		{generated, config.Backend{Lease: id, Service: "web", Port: 65535}, true},
		{generated, config.Backend{Lease: id, Service: "web", Port: 80}, false},
		{generated, config.Backend{Lease: id, Service: "web"}, true},
		{hosttemplate.Host(id, cfg.Hosts.Generated, "web", 1), config.Backend{Lease: id, Service: "web"}, true},
		{hosttemplate.Host(id, cfg.Hosts.Generated, "web", 0), config.Backend{Lease: id, Service: "web"}, false},
		{generated, config.Backend{Lease: other, Service: "web", Port: 65535}, false},
		{"web.example.com", config.Backend{Lease: id, Service: "web"}, false},
	} {
		if why := cfg.Refuse(c.host, c.to); (why == "") != c.gives {
			t.Errorf("%s to %+v is refused: %q", c.host, c.to, why)
		}
	}
	cfg.Hosts.Generated = ""
	if cfg.Gives(generated, config.Backend{Lease: id, Service: "web"}) {
		t.Error("a host is generated without a template")
	}
	cfg.Ingress.Domain = ""
	if cfg.Gives(id.StaticHost("web", ""), config.Backend{Lease: id, Service: "web"}) {
		t.Error("a static host is made below no domain")
	}
}

func TestDefaults(t *testing.T) {
	cfg := config.Default()
	if l := cfg.Limits; l.Services != 1000 || l.Hosts != 5000 || l.Ports != 5000 || l.DocumentSize != 16<<20 || l.InputSize != 256<<20 {
		t.Errorf("the limits are %+v, other than docs/inputs.md says", l)
	}
	for got, want := range map[string]string{
		cfg.ManifestNamespace + " " + cfg.Ingress.ClassName:                                                     "lease akash-ingress-class",
		fmt.Sprint(cfg.Gateway.Name, cfg.Gateway.Namespace, cfg.Gateway.ProxyBufferSize, cfg.Gateway.Listeners): "akash-gatewayakash-gateway16k{[http] [https-wildcard https-custom] []}",
		cfg.IP.Pool + " " + cfg.IP.MetalLBNamespace + " " + cfg.IP.AnnotationPrefix:                             "default metallb-system metallb.universe.tf",
		cfg.DNS.AnnotationPrefix: "external-dns.alpha.kubernetes.io",
	} {
		if got != want {
			t.Errorf("by default %s, want %s", got, want)
		}
	}
	if config.FamilyOf(netip.MustParseAddr("203.0.113.7")) != config.IPv4 || config.FamilyOf(netip.MustParseAddr("2001:db8::7")) != config.IPv6 {
		t.Error("the family of an address")
	}
	for form, records := range map[string]bool{config.DNSNone: false, config.DNSGardener: true, config.DNSEndpoint: true, config.DNSAnnotations: false} {
		if got := (config.DNS{Form: form}).Records(); got != records {
			t.Errorf("%s has records: %v", form, got)
		}
	}
}

// What Akash's provider is started with says how addresses and hosts are given here.
func TestProvidersFile(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                 "ingress range default []",
		"{ip-operator: true}":                "ingress pool default []",
		"{ipoperator: true}":                 "ingress pool default []",
		"{ip-operator: false}":               "ingress range default []",
		"{metal-lb-pool: public}":            "ingress pool public []",
		"{metal-lb-pool: ''}":                "ingress range default []",
		"{ingress-mode: gateway-api}":        "httproute range default []",
		"{ingress-mode: ingress}":            "ingress range default []",
		"{blocked-hostnames: ' a.b, ,.c '}":  "ingress range default [a.b .c]",
		"{blocked-hostnames: [a.b, '', .c]}": "ingress range default [a.b .c]",
		"{deployment-blocked-hostnames: [a.b], blocked-hostnames: c}": "ingress range default [a.b c]",
	} {
		cfg, problems, err := config.Read(strings.NewReader(text), "")
		if err != nil || cfg == nil {
			t.Fatal(text, problems, err)
		}
		if got := fmt.Sprint(cfg.Target, " ", cfg.IP.Mode, " ", cfg.IP.Pool, " ", cfg.Hosts.Blocked); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The hosts of the provider's own that a service has beside its definition's.
func TestOwnHostsOfPorts(t *testing.T) {
	id := lease.ID{Owner: "akash1x", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1y"}
	cfg := config.Default()
	cfg.Ingress.Domain, cfg.Ingress.StaticHosts, cfg.Hosts.Generated = "in.example.com", true, "${service}.example.com"
	static, generated := id.StaticHost("web", "in.example.com"), hosttemplate.Host(id, cfg.Hosts.Generated, "web", 80)
	port := func(n uint16, change func(e *lease.Expose)) lease.Expose {
		e := lease.Expose{Port: n, As: 80, Protocol: lease.TCP, Global: true}
		change(&e)
		return e
	}
	plain := func(*lease.Expose) {}
	for name, c := range map[string]struct {
		ports []lease.Expose
		want  string
	}{
		"two that are one outside":        {[]lease.Expose{port(1, plain), port(2, plain)}, "generated/ 2, static/ 1"},
		"two paths":                       {[]lease.Expose{port(1, plain), port(2, func(e *lease.Expose) { e.Path = "/a" })}, "generated/ 1, generated/a 2, static/ 1"},
		"hosts that are withheld":         {[]lease.Expose{port(1, func(e *lease.Expose) { e.HostsWithheld = true })}, "static/ 1"},
		"a port that is not routed":       {[]lease.Expose{port(1, func(e *lease.Expose) { e.As = 81 })}, ""},
		"its own static host":             {[]lease.Expose{port(1, func(e *lease.Expose) { e.Hosts = []lease.Host{{Name: static}} })}, ""},
		"its own static host, at another": {[]lease.Expose{port(1, func(e *lease.Expose) { e.Hosts, e.Path = []lease.Host{{Name: static}}, "/a" })}, "static/ 1"},
	} {
		var got []string
		for _, h := range cfg.OwnHosts(id, &lease.Service{Name: "web", Expose: c.ports}) {
			got = append(got, strings.NewReplacer(static, "static", generated, "generated").Replace(h.Host)+fmt.Sprint(h.Path, " ", h.Expose.Port))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), c.want)
		}
	}
}
