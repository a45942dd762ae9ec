package state_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	"github.com/akash-net/kubectl-akash-net/state"
)

var (
	ownID = lease.ID{
		Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1,
		Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
	}
	strangerID = lease.ID{Owner: "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", DSeq: 7, GSeq: 1, OSeq: 1, Provider: ownID.Provider}
)

const ownTemplate = "${service}-${dseq}.apps.provider.example"

func ownDomains() *config.ProviderConfig {
	cfg := config.Default()
	cfg.Ingress.Domain, cfg.Ingress.StaticHosts = "ingress.provider.example", true
	cfg.Hosts.Generated, cfg.Hosts.Wildcards = ownTemplate, true
	return cfg
}

// asking returns a lease whose service web asks for a host on port 80.
func asking(id lease.ID, host string) *lease.Definition {
	return &lease.Definition{Lease: id, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{
		Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: host, At: lease.Place{File: "f", Line: 7, Column: 3}}},
	}}}}}
}

// No tenant may claim the provider's own domains, names below them, or wildcards over them. A lease may name the hosts
// that the provider gives its own service, but not those of another service.
func TestProvidersDomainsAreRefused(t *testing.T) {
	static, generated := ownID.StaticHost("web", "ingress.provider.example"), hosttemplate.Host(ownID, ownTemplate, "web", 80)
	for name, c := range map[string]struct {
		id      lease.ID
		host    string
		change  func(*config.ProviderConfig)
		refused string
	}{
		"another lease's static host":    {strangerID, static, nil, "ingress.domain"},
		"another lease's generated host": {strangerID, generated, nil, "hosts.generated"},
		"a name below":                   {ownID, "admin.ingress.provider.example", nil, "ingress.domain"},
		"a name far below":               {ownID, "a.b.ingress.provider.example", nil, "ingress.domain"},
		"the domain itself":              {ownID, "ingress.provider.example", nil, "ingress.domain"},
		"a name of the generated domain": {ownID, "admin.apps.provider.example", nil, "hosts.generated"},
		"the generated domain itself":    {ownID, "apps.provider.example", nil, "hosts.generated"},
		"a wildcard below":               {ownID, "*.ingress.provider.example", nil, "ingress.domain"},
		"a wildcard over the domain":     {ownID, "*.provider.example", nil, "ingress.domain"},
		"a wildcard far over the domain": {ownID, "*.provider.example", func(c *config.ProviderConfig) { c.Ingress.Domain = "a.ingress.provider.example" }, "ingress.domain"},
		"static hosts are off": {ownID, "admin.ingress.provider.example", func(c *config.ProviderConfig) {
			c.Ingress.StaticHosts, c.Hosts.Generated = false, ""
		}, "ingress.domain"},
		"a template with variables in its domain": {ownID, "admin.apps.provider.example", func(c *config.ProviderConfig) {
			c.Hosts.Generated = "${service}.x${dseq}.apps.provider.example"
		}, "hosts.generated"},
		"the provider's public name": {ownID, "provider.provider.example", func(c *config.ProviderConfig) {
			c.Workloads.PublicHostname = "provider.provider.example"
		}, "workloads.publicHostname"},
		"below the provider's public name": {ownID, "a.provider.provider.example", func(c *config.ProviderConfig) {
			c.Workloads.PublicHostname = "provider.provider.example"
		}, "workloads.publicHostname"},
		"the static host of another service": {ownID, ownID.StaticHost("api", "ingress.provider.example"), nil, "ingress.domain"},
		"its own static host":                {ownID, static, nil, ""},
		"its own generated host":             {ownID, generated, nil, ""},
		"its own static host, blocked":       {ownID, static, func(c *config.ProviderConfig) { c.Hosts.Blocked = []string{".provider.example"} }, ""},
		"a host that only looks alike":       {ownID, "xingress.provider.example", nil, ""},
		"a host beside":                      {ownID, "shop.provider.example", nil, ""},
		"a wildcard beside":                  {ownID, "*.shop.example", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := ownDomains()
			if c.change != nil {
				c.change(cfg)
			}
			request, problems := state.NewRequest(asking(c.id, c.host), cfg)
			if c.refused != "" {
				if text := problems.Error(); !problems.Failed() || !strings.HasPrefix(text, "f:7:3: "+c.host+" ") || !strings.Contains(text, c.refused) {
					t.Errorf("got %q, want a refusal of %s that names %s", text, c.host, c.refused)
				}
				return
			}
			parts := 0
			for _, w := range request.Hosts {
				if w.Host == c.host {
					parts++
				}
			}
			if len(problems) > 0 || parts != 1 {
				t.Errorf("%d parts of %s, problems %v", parts, c.host, problems)
			}
		})
	}
}

// A named request cannot get such a host, because it names no service.
func TestProvidersDomainsAreRefusedByName(t *testing.T) {
	for _, host := range []string{ownID.StaticHost("web", "ingress.provider.example"), "admin.apps.provider.example", "*.provider.example"} {
		_, problems := state.NamedRequest(ownID, []string{host}, nil, "", ownDomains())
		if text := problems.Error(); !problems.Failed() || !strings.Contains(text, "the provider's own domain") {
			t.Errorf("%s: %q", host, text)
		}
	}
}
