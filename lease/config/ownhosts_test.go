package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

func TestOwnHosts(t *testing.T) {
	id := lease.ID{
		Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1,
		Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
	}
	port := func(port, as uint16, hosts ...string) lease.Expose {
		e := lease.Expose{Port: port, As: as, Protocol: lease.TCP, Global: true}
		for _, h := range hosts {
			e.Hosts = append(e.Hosts, lease.Host{Name: h})
		}
		return e
	}
	below := port(8083, 80)
	below.Path = "/api"
	web := lease.Service{Name: "web", Expose: []lease.Expose{
		port(5432, 0), port(8080, 80, "shop.example.com"), port(8081, 80), port(8082, 80), below,
	}}
	static := id.StaticHost("web", "ingress.example.com")
	generated := hosttemplate.Host(id, "${service}.apps.example.com", "web", 80)
	for _, c := range []struct {
		name     string
		static   bool
		template string
		service  lease.Service
		want     map[string]uint16 // the container's port by host and path
	}{
		{"none", false, "", web, map[string]uint16{}},
		{"static", true, "", web, map[string]uint16{static + "/": 8080}},
		{"generated", false, "${service}.apps.example.com", web, map[string]uint16{generated + "/": 8082, generated + "/api": 8083}},
		{"both", true, "${service}.apps.example.com", web, map[string]uint16{static + "/": 8080, generated + "/": 8082, generated + "/api": 8083}},
		{"no routed port", true, "${service}.apps.example.com", lease.Service{Name: "db", Expose: web.Expose[:1]}, map[string]uint16{}},
		{"all have hosts", false, "${service}.apps.example.com", lease.Service{Name: "web", Expose: web.Expose[:2]}, map[string]uint16{}},
	} {
		cfg := config.Default()
		cfg.Ingress.StaticHosts, cfg.Ingress.Domain, cfg.Hosts.Generated = c.static, "ingress.example.com", c.template
		got := map[string]uint16{}
		for _, own := range cfg.OwnHosts(id, &c.service) {
			got[own.Host+own.Path] = own.Expose.Port
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
