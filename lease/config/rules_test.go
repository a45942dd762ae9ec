package config_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/config"
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

// The values of Akash's chart mean what the chart makes of them for the provider, and what decides something and is not read is named.
func TestChartsFile(t *testing.T) {
	for text, want := range map[string]string{
		"{domain: a.b, gatewayApi: {enabled: true, gatewayName: edge, gatewayNamespace: sys}}": "httproute edge/sys ingress.a.b true provider.a.b 1 1 1 0",
		"{domain: a.b, gatewayApi: {enabled: false}}":                                          "ingress akash-gateway/akash-gateway ingress.a.b true provider.a.b 1 1 1 0",
		"{domain: a.b}": "ingress akash-gateway/akash-gateway ingress.a.b true provider.a.b 1 1 1 1",
		"{domain: a.b, ingress-mode: gateway-api, deployment-ingress-domain: c.d}":                  "httproute akash-gateway/akash-gateway c.d true provider.a.b 1 1 1 0",
		"{domain: a.b, gatewayApi: {}, deployment-ingress-static-hosts: false}":                     "ingress akash-gateway/akash-gateway ingress.a.b false provider.a.b 1 1 1 0",
		"{overcommit_pct_cpu: 50, overcommit_pct_mem: '25', overcommit-pct-storage: 0}":             "ingress akash-gateway/akash-gateway  false  1.5 1.25 1 0",
		"{gatewayApi: {implementation: envoy}, cluster_node_port_quantity: 9, gateway-provider: x}": "ingress akash-gateway/akash-gateway  false  1 1 1 3",
		"{from: a, deployment-runtime-class: none, deployment-ingress-expose-lb-hosts: true}":       "ingress akash-gateway/akash-gateway  false  1 1 1 1",
		"{from: a, domain: }": "ingress akash-gateway/akash-gateway  false  1 1 1 0",
	} {
		cfg, problems, err := config.Read(strings.NewReader(text), "")
		if err != nil || cfg == nil {
			t.Fatal(text, problems, err)
		}
		got := fmt.Sprint(cfg.Target, " ", cfg.Gateway.Name, "/", cfg.Gateway.Namespace, " ", cfg.Ingress.Domain, " ", cfg.Ingress.StaticHosts, " ", cfg.Workloads.PublicHostname,
			" ", cfg.CommitLevels.CPU, " ", cfg.CommitLevels.Memory, " ", cfg.CommitLevels.Storage, " ", len(problems))
		if got != want {
			t.Errorf("%s: %s, want %s\n%v", text, got, want, problems)
		}
	}
	for _, text := range []string{"{domain: '*.a.b'}", "{overcommit_pct_cpu: -1}", "{overcommit_pct_cpu: much}", "{gatewayApi: {gatewayNamespace: A}}"} {
		if cfg, problems, err := config.Read(strings.NewReader(text), ""); cfg != nil || !problems.Failed() || err != nil {
			t.Errorf("%s is taken: %v %v", text, problems, err)
		}
	}
}

// What is excluded is a line of the document, whose comments stay; what is excluded already is none.
func TestExclude(t *testing.T) {
	head := "# The provider's.\napiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec:\n  ip:\n"
	for name, tt := range map[string]struct{ document, exclude, want, fails string }{
		"a list":               {document: head + "    ranges: # ours\n      - 203.0.113.0/28\n", exclude: "203.0.113.4-203.0.113.5", want: head + "    ranges: # ours\n      - 203.0.113.0/28\n      - \"!203.0.113.4/31\"\n"},
		"a list on one line":   {document: head + "    ranges: [203.0.113.0/28]\n", exclude: "203.0.113.4", want: head + "    ranges: [203.0.113.0/28, \"!203.0.113.4/32\"]\n"},
		"JSON":                 {document: `{"apiVersion": "net.akash.network\/v1alpha1", "kind": "ProviderConfig", "spec": {"ip": {"ranges": ["203.0.113.0\/28"]}}}`, exclude: "203.0.113.4", want: `{"apiVersion": "net.akash.network/v1alpha1", "kind": "ProviderConfig", "spec": {"ip": {"ranges": ["203.0.113.0/28", "!203.0.113.4/32"]}}}` + "\n"},
		"excluded already":     {document: head + "    ranges:   [203.0.113.0/28, '!203.0.113.4/30']\n", exclude: "203.0.113.5", want: head + "    ranges:   [203.0.113.0/28, '!203.0.113.4/30']\n"},
		"no ranges":            {document: head + "    mode: dedicated\n", exclude: "203.0.113.5", fails: "it has no ranges"},
		"Akash's own":          {document: "metal-lb-pool: x\n", exclude: "203.0.113.5", fails: "it has no spec"},
		"nothing":              {exclude: "203.0.113.5", fails: "it is empty"},
		"no good":              {document: head + "    mode: none\n", exclude: "203.0.113.5", fails: "unknown mode"},
		"a list of its values": {document: "spec:\n  ip:\n    ranges: [203.0.113.0/28]\nkind: ProviderConfig\napiVersion: net.akash.network/v1alpha1\n", exclude: "203.0.113.5", want: "spec:\n  ip:\n    ranges: [203.0.113.0/28, \"!203.0.113.5/32\"]\nkind: ProviderConfig\napiVersion: net.akash.network/v1alpha1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := config.ParseRange(tt.exclude)
			if err != nil {
				t.Fatal(err)
			}
			got, err := config.Exclude([]byte(tt.document), []config.Range{r})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			cfg, problems, err := config.Read(strings.NewReader(string(got)), "")
			if err != nil || cfg == nil || !cfg.IP.Ranges.Excludes(r.First) {
				t.Errorf("it is read as %+v, %v, %v", cfg, problems, err)
			}
		})
	}
}

func TestIntersect(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"203.0.113.0/28", "203.0.113.8-203.0.113.20", "203.0.113.8/29"},
		{"203.0.113.4", "203.0.113.0/28", "203.0.113.4/32"},
		{"203.0.113.0/29", "203.0.113.8/29", ""},
		{"203.0.113.0/29", "2001:db8::/64", ""},
		{"2001:db8::/64", "2001:db8::7", "2001:db8::7/128"},
	} {
		a, errA := config.ParseRange(tt.a)
		b, errB := config.ParseRange(tt.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for _, pair := range [][2]config.Range{{a, b}, {b, a}} {
			shared, ok := pair[0].Intersect(pair[1])
			if ok != (tt.want != "") || ok && shared.MetalLB() != tt.want {
				t.Errorf("%s and %s share %s (%t), want %q", pair[0].Text, pair[1].Text, shared.MetalLB(), ok, tt.want)
			}
		}
	}
}
