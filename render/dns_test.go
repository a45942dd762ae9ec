package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	dnsrules "github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	"github.com/akash-net/kubectl-akash-net/render"
)

func gardener(c *config.ProviderConfig) {
	c.DNS.Form = config.DNSGardener
	c.DNS.Gardener = config.Gardener{Type: "aws-route53", ZoneAccess: config.ZoneAccess{Secret: config.SecretRef{Name: "dns", Namespace: "garden"}}}
}

func form(form string, f func(*config.ProviderConfig)) func(*config.ProviderConfig) {
	return func(c *config.ProviderConfig) {
		ip(config.ModeRange, nil)(c)
		gardener(c)
		c.DNS.Form = form
		if f != nil {
			f(c)
		}
	}
}

// mail has a host with a route, whose service leases an address too, and one that only the leased
// port serves; a third is reserved and served by nothing.
func mail() lease.Service {
	return lease.Service{Name: "mail", Expose: []lease.Expose{
		{Port: 25, Protocol: lease.TCP, Global: true, IP: "public", Hosts: host("mx.example.com")},
		{Port: 80, Protocol: lease.TCP, Global: true, Hosts: host("mail.example.com")},
		{Port: 8080, Protocol: lease.TCP, Global: true, Hosts: host("reserved.example.com")},
	}}
}

var both = render.Addresses{"public": addrs("2001:db8:10::7", "203.0.113.7")}

var dnsCases = []struct {
	goldenCase
	published render.Published
}{
	{
		goldenCase: goldenCase{name: "dns-gardener-status", services: []lease.Service{web("a.example.com", "b.dev.example.com", "c.example.org")}, configure: form(config.DNSGardener, func(c *config.ProviderConfig) {
			c.DNS.TTL, c.DNS.Ownership = 300, true
			c.DNS.Gardener.Class, c.DNS.Gardener.Region, c.DNS.Gardener.Zone = "garden", "eu-west-1", "Z0"
			c.DNS.Gardener.Zones = []config.Zone{
				{Domain: "example.com", Zone: "Z1"},
				{Domain: "dev.example.com", Zone: "Z2", Region: "eu-central-1", Secret: config.SecretRef{Name: "dev", Namespace: "garden-dev"}},
			}
		})},
		published: render.Published{
			"a.example.com":     dnsrules.ParseTarget([]string{"2001:db8::1", "192.0.2.9", "192.0.2.1"}),
			"b.dev.example.com": dnsrules.ParseTarget([]string{"LB.example.net"}),
			"c.example.org":     dnsrules.ParseTarget([]string{"2001:db8::1"}),
		},
	},
	{goldenCase: goldenCase{name: "dns-gardener-address", services: []lease.Service{mail()}, addrs: both, configure: form(config.DNSGardener, func(c *config.ProviderConfig) {
		c.DNS.Sources = []string{config.FromAddress, config.FromStatus}
	})}},
	{goldenCase: goldenCase{name: "dns-endpoint-domain", services: []lease.Service{mail()}, addrs: both, configure: form(config.DNSEndpoint, func(c *config.ProviderConfig) {
		c.DNS.Sources, c.DNS.TTL, c.DNS.Ownership, c.Ingress.Domain, c.Ingress.StaticHosts = []string{config.FromDomain}, 60, true, "ingress.example.net", true
	})}},
	{goldenCase: goldenCase{name: "dns-endpoint-target", services: []lease.Service{web("shop.example.com")}, configure: form(config.DNSEndpoint, func(c *config.ProviderConfig) {
		c.DNS.Sources, c.DNS.Targets = []string{config.FromTarget}, []string{"192.0.2.1", "2001:db8::1"}
	})}},
	{goldenCase: goldenCase{name: "dns-annotations-status", services: []lease.Service{mail()}, addrs: both, configure: form(config.DNSAnnotations, func(c *config.ProviderConfig) {
		c.DNS.TTL = 60
	})}},
	{goldenCase: goldenCase{name: "dns-annotations-address", services: []lease.Service{mail()}, addrs: both, configure: form(config.DNSAnnotations, func(c *config.ProviderConfig) {
		c.DNS.Sources, c.DNS.AnnotationPrefix = []string{config.FromAddress, config.FromStatus}, "external-dns.kubernetes.io"
	})}},
	{goldenCase: goldenCase{name: "dns-annotations-httproute", services: []lease.Service{mail()}, addrs: both, configure: form(config.DNSAnnotations, func(c *config.ProviderConfig) {
		c.DNS.TTL, c.Target = 60, config.TargetHTTPRoute
	})}},
}

// What each form and each source of values makes. With annotations it is the objects of the lease
// that say it.
func TestDNSGolden(t *testing.T) {
	for _, c := range dnsCases {
		t.Run(c.name, func(t *testing.T) {
			cfg, def := config.Default(), definition(c.services...)
			c.configure(cfg)
			records, err := render.Records(def, cfg, c.addrs, c.published)
			if err != nil || len(records.Unknown) > 0 {
				t.Fatal(err, records.Unknown)
			}
			objects := records.Objects
			if !cfg.DNS.Records() {
				if objects, err = render.Lease(def, cfg, c.addrs); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, c.name+".yaml", encode(t, emit.YAML, objects))
		})
	}
}

// A value that only the cluster knows is left open, and said.
func TestRecordsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		configure func(*config.ProviderConfig)
		addrs     render.Addresses
		want      string
	}{
		"status":           {form(config.DNSEndpoint, nil), both, "mail.example.com status "},
		"no address yet":   {form(config.DNSEndpoint, nil), nil, "mail.example.com status , mx.example.com address public"},
		"MetalLB's choice": {form(config.DNSGardener, func(c *config.ProviderConfig) { c.IP.Mode = config.ModePool }), both, "mail.example.com status , mx.example.com address public"},
		"annotations":      {form(config.DNSAnnotations, nil), nil, ""},
		"none":             {form(config.DNSNone, nil), nil, ""},
	} {
		cfg := config.Default()
		c.configure(cfg)
		records, err := render.Records(definition(mail()), cfg, c.addrs, nil)
		if err != nil {
			t.Fatal(err)
		}
		var unknown []string
		for _, h := range records.Unknown {
			unknown = append(unknown, h.Name+" "+h.Source+" "+h.Endpoint)
		}
		if got := strings.Join(unknown, ", "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What would not be a valid record is refused with the host's place.
func TestRecordsRefused(t *testing.T) {
	long := strings.Repeat("abcdefg.", 30) + "example.com"
	for name, c := range map[string]struct {
		service   lease.Service
		configure func(*config.ProviderConfig)
		want      string
	}{
		"to itself": {web("lb.example.com"), form(config.DNSEndpoint, func(c *config.ProviderConfig) {
			c.DNS.Sources, c.DNS.Targets = []string{config.FromTarget}, []string{"lb.example.com."}
		}), "leads to itself"},
		"CNAME of a zone": {web("example.com"), form(config.DNSGardener, func(c *config.ProviderConfig) {
			c.DNS.Gardener.Zones = []config.Zone{{Domain: "example.com", Zone: "Z1"}}
			c.DNS.Sources, c.DNS.Targets = []string{config.FromTarget}, []string{"lb.example.net"}
		}), "example.com is a zone of dns.gardener.zones"},
		"one label": {web("shop"), form(config.DNSGardener, func(c *config.ProviderConfig) {
			c.DNS.Sources, c.DNS.Targets = []string{config.FromTarget}, []string{"192.0.2.1"}
		}), "one label"},
		"no room for an owner": {web(long), form(config.DNSGardener, func(c *config.ProviderConfig) { c.DNS.Ownership = true }), "at most 253"},
		"HTTPRoute with address": {mail(), form(config.DNSAnnotations, func(c *config.ProviderConfig) {
			c.Target, c.DNS.Sources = config.TargetHTTPRoute, []string{config.FromAddress, config.FromStatus}
		}), "from its Gateway alone"},
		"Route with a TTL": {mail(), form(config.DNSAnnotations, func(c *config.ProviderConfig) { c.Target, c.DNS.TTL = config.TargetRoute, 60 }), "Routes get no external-dns annotations"},
		"pool with address": {mail(), form(config.DNSAnnotations, func(c *config.ProviderConfig) {
			c.IP.Mode, c.DNS.Sources = config.ModePool, []string{config.FromAddress, config.FromStatus}
		}), "MetalLB chooses"},
	} {
		cfg := config.Default()
		c.configure(cfg)
		for i := range c.service.Expose {
			for j := range c.service.Expose[i].Hosts {
				c.service.Expose[i].Hosts[j].At = lease.Place{File: "f", Line: 7}
			}
		}
		_, err := render.Records(definition(c.service), cfg, both, nil)
		_, ok := errors.AsType[lease.Problems](err)
		if !ok || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f:7") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// Only the zone's own name can have no CNAME: with addresses it has records, and so have names below.
func TestRecordsOfZones(t *testing.T) {
	for host, targets := range map[string][]string{
		"example.com": {"192.0.2.1"}, "shop.example.com": {"lb.example.net"}, "*.example.com": {"lb.example.net"}, "example.org": {"lb.example.net"},
	} {
		cfg := config.Default()
		form(config.DNSGardener, func(c *config.ProviderConfig) {
			c.DNS.Gardener.Zones = []config.Zone{{Domain: "example.com", Zone: "Z1"}}
			c.DNS.Sources, c.DNS.Targets = []string{config.FromTarget}, targets
		})(cfg)
		if records, err := render.Records(definition(web(host)), cfg, nil, nil); err != nil || len(records.Objects) != 1 {
			t.Errorf("%s to %v: %d records, %v", host, targets, len(records.Objects), err)
		}
	}
}

// Hosts that the provider gives have records as those of the definition have.
func TestRecordsOfOwnHosts(t *testing.T) {
	service := lease.Service{Name: "web", Expose: []lease.Expose{
		{Port: 80, Protocol: lease.TCP, Global: true, Hosts: host("shop.example.com")},
		{Port: 8080, As: 80, Protocol: lease.TCP, Global: true},
		{Port: 25, Protocol: lease.TCP, Global: true, IP: "public"},
	}}
	def := definition(service)
	for name, c := range map[string]struct {
		sources []string
		want    string
	}{
		"target":  {[]string{config.FromTarget}, "192.0.2.1"},
		"address": {[]string{config.FromAddress, config.FromTarget}, "203.0.113.7"},
	} {
		cfg := config.Default()
		form(config.DNSGardener, func(c *config.ProviderConfig) {
			c.Hosts.Generated, c.Ingress.Domain, c.Ingress.StaticHosts = "${service}.apps.example.net", "ingress.example.net", true
			c.DNS.Targets = []string{"192.0.2.1"}
		})(cfg)
		cfg.DNS.Sources = c.sources
		records, err := render.Records(def, cfg, render.Addresses{"public": addrs("203.0.113.7")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, o := range records.Objects {
			got[o.Name] = strings.Contains(string(encode(t, emit.YAML, []render.Object{o})), c.want)
		}
		for _, h := range []string{
			hosttemplate.Host(def.Lease, cfg.Hosts.Generated, "web", 80), def.Lease.StaticHost("web", cfg.Ingress.Domain), "shop.example.com",
		} {
			if !got[h+"-a"] {
				t.Errorf("%s: %s has no record of %s: %v", name, h, c.want, got)
			}
		}
	}
}

// The Service of a port without hosts has no name for external-dns.
func TestAPortWithoutHostsHasNoName(t *testing.T) {
	cfg := config.Default()
	form(config.DNSAnnotations, nil)(cfg)
	objects, err := render.Lease(definition(game()), cfg, both)
	if text := string(encode(t, emit.YAML, objects)); err != nil || strings.Contains(text, "external-dns") {
		t.Errorf("%v %s", err, text)
	}
}

// A host that leaves no room for the type is named by its hash.
func TestLongRecordNames(t *testing.T) {
	long := strings.Repeat("abcdefg.", 30) + "example.com"
	cfg := config.Default()
	form(config.DNSGardener, func(c *config.ProviderConfig) {
		c.DNS.Sources, c.DNS.Targets = []string{config.FromTarget}, []string{"lb.example.net"}
	})(cfg)
	records, err := render.Records(definition(web(long)), cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := records.Objects[0].Name, lease.Hash(long)+"-cname"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
