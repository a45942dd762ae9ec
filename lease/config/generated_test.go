package config_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

// drawTemplate draws what may be a template of host names.
func drawTemplate(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{"${service}", "${dseq}", "${gseq}", "${namespace}", "a", "-", "ip--", "wc--any", "x9", strings.Repeat("l", 30)})
	labels := make([]string, rapid.IntRange(2, 4).Draw(t, "labels"))
	for i := range labels {
		labels[i] = strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(t, "label"), "")
	}
	if rapid.Bool().Draw(t, "hash") {
		labels[0] += "${hash}"
	}
	if rapid.Bool().Draw(t, "domain") {
		labels = append(labels, "apps", "example")
	}
	return strings.Join(labels, ".")
}

// A host that is generated for a lease is a host name; the lease may have it, and nobody else may have it, a name below
// it, or a wildcard over it.
func TestGeneratedHostsAreTheirLeases(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		cfg := config.Default()
		cfg.Hosts.Generated = drawTemplate(t)
		if hosttemplate.Check(cfg.Hosts.Generated) != nil {
			return
		}
		accepted++
		service := rapid.SampledFrom([]string{"web", "ip--203-0-113-7", "ep--a", "wc--any", "rd--http", "pt--a", "x--9", "com", strings.Repeat("a", 63), strings.Repeat("a", 31) + strings.Repeat("-", 31) + "a"}).Draw(t, "service")
		to := config.Backend{
			Lease:   lease.ID{Owner: "akash1x", DSeq: rapid.Uint64Min(1).Draw(t, "dseq"), GSeq: rapid.Uint32Min(1).Draw(t, "gseq"), OSeq: 1, Provider: "akash1y"},
			Service: service, Port: rapid.Uint16Min(1).Draw(t, "port"),
		}
		host := hosttemplate.Host(to.Lease, cfg.Hosts.Generated, service, to.Port)
		if err := lease.CheckHost(host); err != nil {
			t.Fatalf("%s: %s is generated: %v", cfg.Hosts.Generated, host, err)
		}
		if why := cfg.Refuse(host, to); why != "" {
			t.Fatalf("%s: %s %s", cfg.Hosts.Generated, host, why)
		}
		other := to
		other.Lease.DSeq ^= 1
		_, parent, _ := strings.Cut(host, ".")
		for _, asked := range []string{host, "x." + host, "*." + host, "*." + parent} {
			if cfg.Refuse(asked, other) == "" || cfg.Refuse(asked, config.Backend{}) == "" {
				t.Fatalf("%s: another lease may have %s", cfg.Hosts.Generated, asked)
			}
		}
	})
	if accepted == 0 {
		t.Error("no template was accepted")
	}
}

// What follows from a configuration: testdata/derived.txt; `go test ./lease/config -rewrite` writes what follows now. The first
// line of a block stands below spec, the others are asked:
//
//	hosts     HOST [for SERVICE:PORT]: whether the lease may have it, and whether the provider gives it
//	given     SERVICE EXPOSE...: the hosts that the provider gives a service; an expose is PORT[/path][+HOST][!|?], "!" not global, "?" hosts withheld
//	pools     ADDRESS: the pool that serves it
//	range     (no first line) a range: how it is read, what its pool is called, how MetalLB reads it
//
// STATIC is the static host of service web, GENERATED the host that is generated for its port 80.
func TestDerived(t *testing.T) {
	id := lease.ID{Owner: "akash1x", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1y"}
	datadriven.RunTest(t, "testdata/derived.txt", func(t *testing.T, d *datadriven.TestData) string {
		lines := strings.Split(strings.TrimSuffix(d.Input, "\n"), "\n")
		var out strings.Builder
		if d.Cmd == "range" {
			for _, line := range lines {
				fmt.Fprintf(&out, "%s  =>  %s\n", line, sayRange(line))
			}
			return out.String()
		}
		cfg, problems, err := config.Read(strings.NewReader("apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {"+lines[0]+"}\n"), "")
		if err != nil || problems.Failed() {
			t.Fatal(lines[0], err, problems)
		}
		static, generated := id.StaticHost("web", cfg.Ingress.Domain), ""
		if cfg.Hosts.Generated != "" {
			generated = hosttemplate.Host(id, cfg.Hosts.Generated, "web", 80)
		}
		words := strings.NewReplacer("STATIC", static, "GENERATED", generated)
		for _, line := range lines[1:] {
			said := ""
			switch asked := words.Replace(line); d.Cmd {
			case "hosts":
				said = sayHost(cfg, id, asked)
			case "given":
				said = sayGiven(cfg, id, asked)
			case "pools":
				said = "none"
				if name, ok := cfg.PoolFor(netip.MustParseAddr(asked)); ok {
					said = name
				}
			}
			if static != "" {
				said = strings.ReplaceAll(said, static, "STATIC")
			}
			if generated != "" {
				said = strings.ReplaceAll(said, generated, "GENERATED")
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, said)
		}
		return out.String()
	})
}

func sayRange(text string) string {
	r, err := config.ParseRange(text)
	if err != nil {
		return "! " + err.Error()
	}
	return fmt.Sprintf("%s to %s, pool %s, for MetalLB %s", r.First, r.Last, r.PoolName(), r.MetalLB())
}

func sayHost(cfg *config.ProviderConfig, id lease.ID, asked string) string {
	host, backend, named := strings.Cut(asked, " for ")
	to := config.Backend{}
	if named {
		service, port, _ := strings.Cut(backend, ":")
		to = config.Backend{Lease: id, Service: service}
		_, _ = fmt.Sscan(port, &to.Port)
	}
	said := "good"
	if why := cfg.Refuse(host, to); why != "" {
		said = why
	}
	if cfg.Gives(host, to) {
		said += ", given"
	}
	return said
}

func sayGiven(cfg *config.ProviderConfig, id lease.ID, asked string) string {
	words := strings.Fields(asked)
	s := &lease.Service{Name: words[0]}
	for _, word := range words[1:] {
		e := lease.Expose{Protocol: lease.TCP, Global: !strings.HasSuffix(word, "!"), HostsWithheld: strings.HasSuffix(word, "?")}
		word, host, named := strings.Cut(strings.TrimRight(word, "!?"), "+")
		if named {
			e.Hosts = []lease.Host{{Name: host}}
		}
		port, path, hasPath := strings.Cut(word, "/")
		if hasPath {
			e.Path = "/" + path
		}
		_, _ = fmt.Sscan(port, &e.Port)
		s.Expose = append(s.Expose, e)
	}
	var said []string
	for _, h := range cfg.OwnHosts(id, s) {
		said = append(said, fmt.Sprintf("%s%s to %d", h.Host, h.Path, h.Expose.ExternalPort()))
	}
	if said == nil {
		return "none"
	}
	return strings.Join(said, ", ")
}
