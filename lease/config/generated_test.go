package config_test

import (
	"strings"
	"testing"

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
