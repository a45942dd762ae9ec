package state_test

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A host name that the provider gives a port is claimed like any other, for the port and the path of its route.
func TestOwnHostsAreClaimed(t *testing.T) {
	id := lease.ID{
		Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1,
		Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
	}
	def := &lease.Definition{Lease: id, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{
		Port: 8443, As: 443, Protocol: lease.TCP, Global: true, Path: "/api",
		Routing: &lease.Routing{TLS: &lease.TLS{Termination: lease.Edge}},
	}}}}}
	cfg := config.Default()
	if _, problems := state.NewRequest(def, cfg); !problems.Failed() {
		t.Error("a routed port without any host is no error")
	}
	const template = "${service}.apps.example.com"
	cfg.Hosts.Generated = template
	cfg.Ingress.StaticHosts, cfg.Ingress.Domain = true, "ingress.example.com"
	request, problems := state.NewRequest(def, cfg)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := map[string]uint16{}
	for _, h := range request.Hosts {
		got[h.Host+h.Path] = h.Port
	}
	generated, static := hosttemplate.Host(id, template, "web", 443)+"/api", id.StaticHost("web", "ingress.example.com")+"/"
	if len(got) != 2 || got[generated] != 443 || got[static] != 443 {
		t.Errorf("got %v, want %s and %s with port 443", got, generated, static)
	}
}
