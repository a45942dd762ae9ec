package state

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

func TestLimits(t *testing.T) {
	def := &lease.Definition{At: lease.Place{File: "f", Line: 1, Column: 1}, Services: []lease.Service{
		{Name: "a", Expose: []lease.Expose{{Port: 80, Global: true, Protocol: lease.TCP, Hosts: []lease.Host{{Name: "a.example.com"}, {Name: "b.example.com"}}}}},
		{Name: "b", Expose: []lease.Expose{{Port: 80, Global: true, Protocol: lease.TCP, Hosts: []lease.Host{{Name: "c.example.com"}}}, {Port: 81}}},
	}}
	for _, tt := range []struct {
		limits config.Limits
		want   string
	}{
		{config.Limits{Services: 2, Hosts: 3, Ports: 3}, ""},
		{config.Limits{Services: 1, Hosts: 3, Ports: 3}, "f:1:1: the lease has 2 services; the provider's configuration allows 1 (limits.services)"},
		{config.Limits{Services: 2, Hosts: 2, Ports: 3}, "f:1:1: the lease has 3 hosts, each path counted; the provider's configuration allows 2 (limits.hosts)"},
		{config.Limits{Services: 2, Hosts: 3, Ports: 2}, "f:1:1: the lease has 3 exposed ports; the provider's configuration allows 2 (limits.ports)"},
	} {
		cfg := config.Default()
		cfg.Limits = tt.limits
		if _, problems := NewRequest(def, cfg); !strings.HasPrefix(problems.Error(), tt.want) || (tt.want == "") != (len(problems) == 0) {
			t.Errorf("%+v: %v, want %q", tt.limits, problems, tt.want)
		}
	}
}

// What each host of a port repeats is limited for the lease.
func TestSettingsAreLimited(t *testing.T) {
	e := lease.Expose{Port: 80, Global: true, Protocol: lease.TCP, Routing: &lease.Routing{
		ResponseHeaders: []lease.HeaderRule{{Name: "a", Value: strings.Repeat("v", 16_000)}},
	}}
	def := &lease.Definition{Services: []lease.Service{{Name: "a", Expose: []lease.Expose{e}}}}
	for hosts, want := range map[int]bool{1000: true, 1100: false} {
		def.Services[0].Expose[0].Hosts = make([]lease.Host, hosts)
		problems := checkLimits(def, config.Default().Limits)
		if (len(problems) == 0) != want || !want && !strings.Contains(problems.Error(), "16 MiB of headers, labels and other settings") {
			t.Errorf("%d hosts: %v", hosts, problems)
		}
	}
}
