package render

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// A zone's own name can have no CNAME record, and external-dns owns no name whose first label leaves no room for its prefix.
func TestNamesWithoutACNAMERecord(t *testing.T) {
	long, longest := strings.Repeat("a", 57)+".example.com", strings.Repeat("a", 58)+".example.com"
	def := func(hosts ...string) *lease.Definition {
		e := lease.Expose{Port: 80, Protocol: lease.TCP, Global: true}
		for _, h := range hosts {
			e.Hosts = append(e.Hosts, lease.Host{Name: h})
		}
		return &lease.Definition{Services: []lease.Service{{Name: "web", Expose: []lease.Expose{e}}}}
	}
	for _, tt := range []struct {
		form   string
		target string
		want   string
	}{
		{config.DNSEndpoint, "lb.example.net", "external-dns cannot own " + longest + "; example.com is a registered domain"},
		{config.DNSEndpoint, "192.0.2.1", ""},
		{config.DNSGardener, "lb.example.net", "example.com is a registered domain"},
		{config.DNSNone, "lb.example.net", ""},
	} {
		cfg := config.Default()
		cfg.DNS.Form, cfg.DNS.Targets, cfg.DNS.Sources = tt.form, []string{tt.target}, []string{config.FromTarget}
		var got []string
		for _, p := range dnsWarnings(def("example.com", "www.example.com", long, longest), cfg) {
			text, _, _ := strings.Cut(p.Message, ", and its zone")
			text, _, _ = strings.Cut(text, ": before")
			got = append(got, text)
		}
		if said := strings.Join(got, "; "); said != tt.want {
			t.Errorf("%s to %s: %q, want %q", tt.form, tt.target, said, tt.want)
		}
	}
}
