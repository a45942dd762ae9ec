package render_test

import (
	"bytes"
	"flag"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/render"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenCase is one definition with its configuration; the defaults and a plain lease unless the
// functions say otherwise.
type goldenCase struct {
	name      string
	services  []lease.Service
	configure func(*config.ProviderConfig)
	addrs     render.Addresses
	format    string
}

func host(names ...string) []lease.Host {
	var hosts []lease.Host
	for _, n := range names {
		hosts = append(hosts, lease.Host{Name: n})
	}
	return hosts
}

func addrs(texts ...string) []netip.Addr {
	var ips []netip.Addr
	for _, s := range texts {
		ips = append(ips, netip.MustParseAddr(s))
	}
	return ips
}

func ranges(texts ...string) config.Ranges {
	var rs config.Ranges
	for _, s := range texts {
		text, excluded := strings.CutPrefix(s, "!")
		r, err := config.ParseRange(text)
		if err != nil {
			panic(err)
		}
		if excluded {
			rs.Exclude = append(rs.Exclude, r)
		} else {
			rs.Include = append(rs.Include, r)
		}
	}
	return rs
}

func definition(services ...lease.Service) *lease.Definition {
	id, err := lease.ParseID("akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0")
	if err != nil {
		panic(err)
	}
	return &lease.Definition{Name: "shop", Lease: id, Hash: lease.Hash("shop"), Services: services}
}

func web(hosts ...string) lease.Service {
	return lease.Service{Name: "web", Expose: []lease.Expose{
		{Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Hosts: host(hosts...)},
	}}
}

// dns is a service with one IP for TCP and UDP, game another on the same IP.
func dns() lease.Service {
	return lease.Service{Name: "dns", Expose: []lease.Expose{
		{Port: 5353, As: 53, Protocol: lease.TCP, Global: true, IP: "public"},
		{Port: 5353, As: 53, Protocol: lease.UDP, Global: true, IP: "public"},
	}}
}

func game() lease.Service {
	return lease.Service{Name: "game", Expose: []lease.Expose{
		{Port: 27015, Protocol: lease.UDP, Global: true, IP: "public"},
	}}
}

func httpRoute(c *config.ProviderConfig) { c.Target = config.TargetHTTPRoute }

// The options of the two hosts differ in everything; the timeouts are rounded up.
func withOptions() []lease.Service {
	return []lease.Service{
		{Name: "api", Expose: []lease.Expose{{
			Port: 80, Protocol: lease.TCP, Global: true, Hosts: host("b.example.com"),
			HTTP: lease.HTTPOptions{
				MaxBodySize: 2097152, ReadTimeout: 1001 * time.Millisecond, SendTimeout: 2 * time.Second,
				NextTries: 5, NextTimeout: 29001 * time.Millisecond, NextCases: []string{"error", "500", "429"},
			},
		}}},
		{Name: "web", Expose: []lease.Expose{{
			Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Hosts: host("c.example.com", "a.example.com"),
			HTTP: lease.HTTPOptions{NextCases: []string{"off"}},
		}}},
	}
}

// Of the exposes only two are ingresses; the hosts of the others are reserved and not routed.
func twoIngresses() []lease.Service {
	return []lease.Service{
		{Name: "db", Expose: []lease.Expose{{Port: 5432, Protocol: lease.TCP}}},
		{Name: "web", Expose: []lease.Expose{
			{Port: 80, Protocol: lease.TCP, Global: true, Hosts: host("first.example.com"), HTTP: lease.HTTPOptions{NextTries: 1}},
			{Port: 80, As: 8080, Protocol: lease.TCP, Global: true, Hosts: host("other-port.example.com")},
			{Port: 80, Protocol: lease.UDP, Global: true, Hosts: host("udp.example.com")},
			{Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Hosts: host("second.example.com"), HTTP: lease.HTTPOptions{NextTries: 2}},
			{Port: 9090, As: 80, Protocol: lease.TCP, Hosts: host("local.example.com")},
		}},
	}
}

func static(c *config.ProviderConfig) {
	c.Ingress.StaticHosts, c.Ingress.Domain = true, "ingress.example.com"
}

func ip(mode string, f func(*config.ProviderConfig)) func(*config.ProviderConfig) {
	return func(c *config.ProviderConfig) {
		c.IP.Mode = mode
		if mode == config.ModeRange {
			c.IP.Ranges = ranges("203.0.113.0/28", "!203.0.113.3", "2001:db8:10::/120")
		}
		if f != nil {
			f(c)
		}
	}
}

var goldenCases = []goldenCase{
	{name: "host", services: []lease.Service{web("shop.example.com")}},
	{name: "host-httproute", services: []lease.Service{web("shop.example.com")}, configure: httpRoute},
	{name: "host-json", services: []lease.Service{web("shop.example.com")}, format: emit.JSON},
	{name: "host-kyaml", services: []lease.Service{web("shop.example.com")}, format: emit.KYAML},
	{name: "http-options", services: withOptions()},
	{name: "http-options-httproute", services: withOptions(), configure: func(c *config.ProviderConfig) {
		httpRoute(c)
		c.Gateway.Name, c.Gateway.Namespace, c.Gateway.ProxyBufferSize = "edge", "gateways", ""
	}},
	{name: "static-host", services: []lease.Service{web()}, configure: static},
	{name: "two-ingresses", services: twoIngresses(), configure: func(c *config.ProviderConfig) {
		static(c)
		c.ManifestNamespace, c.Ingress.ClassName = "manifests", "nginx"
	}},
	{
		name: "ip-range", services: []lease.Service{dns(), game()}, configure: ip(config.ModeRange, nil),
		addrs: render.Addresses{"public": addrs("203.0.113.7")},
	},
	{
		name: "ip-range-metallb-io", services: []lease.Service{game()},
		configure: ip(config.ModeRange, func(c *config.ProviderConfig) {
			c.IP.AnnotationPrefix, c.IP.MetalLBNamespace = "metallb.io", "metallb"
		}),
		addrs: render.Addresses{"public": addrs("203.0.113.7")},
	},
	{
		name: "ip-dual-stack", services: []lease.Service{game()}, configure: ip(config.ModeRange, nil),
		addrs: render.Addresses{"public": addrs("2001:db8:10::7", "203.0.113.7")},
	},
	{
		name: "ip-v6", services: []lease.Service{game()}, configure: ip(config.ModeDedicated, nil),
		addrs: render.Addresses{"public": addrs("2001:db8:10::7")},
	},
	{
		name: "ip-dedicated", services: []lease.Service{dns()}, configure: ip(config.ModeDedicated, nil),
		addrs: render.Addresses{"public": addrs("203.0.113.7")},
	},
	{
		name: "ip-l2-nodes", services: []lease.Service{game()},
		configure: ip(config.ModeRange, func(c *config.ProviderConfig) {
			c.IP.Advertisement.Interfaces = []string{"eth0", "bond0.100"}
			c.IP.Advertisement.NodeSelectors = []metav1.LabelSelector{
				{MatchLabels: map[string]string{"kubernetes.io/hostname": "edge-1"}},
				{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}}}},
			}
		}),
		addrs: render.Addresses{"public": addrs("203.0.113.7")},
	},
	{
		name: "ip-bgp", services: []lease.Service{game()},
		configure: ip(config.ModeRange, func(c *config.ProviderConfig) {
			c.IP.Advertisement = config.Advertisement{
				Type: config.AdvertiseBGP, NodeSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"edge": "true"}}},
				Peers: []string{"tor-a"}, Communities: []string{"64500:100", "no-export"}, LocalPref: 200, AggregationLength: 31, AggregationLengthV6: 128,
			}
		}),
		addrs: render.Addresses{"public": addrs("203.0.113.7")},
	},
	{
		name: "ip-bgp-defaults", services: []lease.Service{game()},
		configure: ip(config.ModeDedicated, func(c *config.ProviderConfig) { c.IP.Advertisement.Type = config.AdvertiseBGP }),
		addrs:     render.Addresses{"public": addrs("203.0.113.7")},
	},
	{name: "ip-pool", services: []lease.Service{dns()}, configure: ip(config.ModePool, nil)},
	{name: "ip-pool-named", services: []lease.Service{game()}, configure: ip(config.ModePool, func(c *config.ProviderConfig) {
		c.IP.Pool, c.IP.AnnotationPrefix = "tenants", "metallb.io"
	})},
	{
		name: "ip-and-host", services: []lease.Service{{Name: "web", Expose: []lease.Expose{
			{Port: 80, Protocol: lease.TCP, Global: true, Hosts: host("shop.example.com"), IP: "my_ip"},
		}}},
		configure: ip(config.ModeRange, nil), addrs: render.Addresses{"my_ip": addrs("203.0.113.15")},
	},
}

// objects renders a case with the pools that it needs behind the lease.
func (c goldenCase) objects(t *testing.T) []render.Object {
	t.Helper()
	cfg := config.Default()
	if c.configure != nil {
		c.configure(cfg)
	}
	def := definition(c.services...)
	objects, err := render.Lease(def, cfg, c.addrs)
	if err != nil {
		t.Fatal(err)
	}
	pools, err := render.Pools(cfg, slices.Concat(slices.Collect(maps.Values(c.addrs))...))
	if err != nil {
		t.Fatal(err)
	}
	return append(objects, pools...)
}

func encode(t *testing.T, format string, objects []render.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	e, err := emit.NewEncoder(&out, format)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := e.Encode(o.Config); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// golden compares with a file of testdata; -update writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	path = filepath.Join("testdata", path)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestGolden(t *testing.T) {
	for _, c := range goldenCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := c.name + ".yaml"
			switch c.format {
			case "":
				c.format = emit.YAML
			case emit.JSON:
				name = c.name + ".json"
			}
			got := encode(t, c.format, c.objects(t))
			golden(t, name, got)
			for range 20 {
				if !bytes.Equal(got, encode(t, c.format, c.objects(t))) {
					t.Fatal("the same input gives other bytes")
				}
			}
		})
	}
}
