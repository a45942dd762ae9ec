package config_test

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

func TestPoolNames(t *testing.T) {
	for _, c := range []struct{ text, name, metallb string }{
		{"203.0.113.0/28", "akash-net-203-0-113-0-28", "203.0.113.0/28"},
		{"203.0.113.0-203.0.113.15", "akash-net-203-0-113-0-28", "203.0.113.0/28"},
		{"203.0.113.8-203.0.113.12", "akash-net-203-0-113-8-203-0-113-12", "203.0.113.8-203.0.113.12"},
		{"203.0.113.1-203.0.113.2", "akash-net-203-0-113-1-203-0-113-2", "203.0.113.1-203.0.113.2"},
		{"203.0.113.7", "akash-net-203-0-113-7-32", "203.0.113.7/32"},
		{"0.0.0.0/0", "akash-net-0-0-0-0-0", "0.0.0.0/0"},
		{"2001:db8:10::/120", "akash-net-2001-0db8-0010-0000-0000-0000-0000-0000-120", "2001:db8:10::/120"},
		{"2001:db8::7", "akash-net-2001-0db8-0000-0000-0000-0000-0000-0007-128", "2001:db8::7/128"},
		{
			"2001:db8::8-2001:db8::c",
			"akash-net-2001-0db8-0000-0000-0000-0000-0000-0008-2001-0db8-0000-0000-0000-0000-0000-000c",
			"2001:db8::8-2001:db8::c",
		},
	} {
		r, err := config.ParseRange(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.PoolName(); got != c.name {
			t.Errorf("pool name of %s: got %s, want %s", c.text, got, c.name)
		}
		if got := r.MetalLB(); got != c.metallb {
			t.Errorf("MetalLB's form of %s: got %s, want %s", c.text, got, c.metallb)
		}
		for _, problem := range validation.IsDNS1123Subdomain(r.PoolName()) {
			t.Errorf("pool name of %s: %s", c.text, problem)
		}
	}
}

func TestPoolFor(t *testing.T) {
	with := func(mode string, include, exclude []string) *config.ProviderConfig {
		cfg := config.Default()
		cfg.IP.Mode = mode
		for _, text := range include {
			r, err := config.ParseRange(text)
			if err != nil {
				t.Fatal(err)
			}
			cfg.IP.Ranges.Include = append(cfg.IP.Ranges.Include, r)
		}
		for _, text := range exclude {
			r, err := config.ParseRange(text)
			if err != nil {
				t.Fatal(err)
			}
			cfg.IP.Ranges.Exclude = append(cfg.IP.Ranges.Exclude, r)
		}
		return cfg
	}
	ranges, excluded := []string{"203.0.113.0/28", "2001:db8::/120"}, []string{"203.0.113.3"}
	for _, c := range []struct {
		name string
		cfg  *config.ProviderConfig
		addr string
		want string
	}{
		{"range", with(config.ModeRange, ranges, excluded), "203.0.113.7", "akash-net-203-0-113-0-28"},
		{"range IPv6", with(config.ModeRange, ranges, excluded), "2001:db8::1", "akash-net-2001-0db8-0000-0000-0000-0000-0000-0000-120"},
		{"excluded", with(config.ModeRange, ranges, excluded), "203.0.113.3", ""},
		{"outside", with(config.ModeRange, ranges, excluded), "198.51.100.1", ""},
		{"range without ranges", with(config.ModeRange, nil, nil), "203.0.113.7", ""},
		{"dedicated", with(config.ModeDedicated, ranges, excluded), "203.0.113.7", "akash-ip-203-0-113-7"},
		{"dedicated IPv6", with(config.ModeDedicated, ranges, excluded), "2001:db8::1", "akash-ip-2001-0db8-0000-0000-0000-0000-0000-0001"},
		{"dedicated outside", with(config.ModeDedicated, ranges, excluded), "198.51.100.1", ""},
		{"dedicated without ranges", with(config.ModeDedicated, nil, nil), "198.51.100.1", "akash-ip-198-51-100-1"},
		{"pool", with(config.ModePool, ranges, nil), "203.0.113.7", ""},
	} {
		name, ok := c.cfg.PoolFor(netip.MustParseAddr(c.addr))
		if ok != (c.want != "") || ok && name != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, name, ok, c.want)
		}
	}
}
