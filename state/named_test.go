package state

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Typed hosts follow the rules of definitions and the configuration.
func TestParseHostWant(t *testing.T) {
	none, some := config.Default(), config.Default()
	some.Hosts.Wildcards, some.Hosts.Blocked = true, []string{".blocked.example"}
	for _, c := range []struct {
		text       string
		cfg        *config.ProviderConfig
		host, path string
		want       string
	}{
		{"Shop.Example.com", none, "shop.example.com", "/", ""},
		{"shop.example.com/", none, "shop.example.com", "/", ""},
		{"shop.example.com/v2/a", none, "shop.example.com", "/v2/a", ""},
		{"*.example.com/v2", some, "*.example.com", "/v2", ""},
		{"*.example.com", none, "", "", "the provider allows none (hosts.wildcards)"},
		{"*.com", some, "", "", "covers a whole top-level domain"},
		{"a.blocked.example", some, "", "", "blocked"},
		{"*.blocked.example", some, "", "", "blocked"},
		{"shop.example.com/v2/", none, "", "", `write "/v2", which serves both`},
		{"shop.example.com//v2", none, "", "", "empty segment"},
		{"shop.example.com/a?b", none, "", "", "may not hold '?'"},
		{"shop.example.com/..", none, "", "", `the segment ".."`},
		{"203.0.113.7/v2", none, "", "", "is an IP address"},
		{strings.Repeat("a.", 119) + "a/v2", none, "", "", "a name of 257 characters"},
	} {
		w, err := ParseHostWant(c.text, c.cfg)
		switch {
		case (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		case err == nil && (w.Host != c.host || w.Path != c.path):
			t.Errorf("%s is read as %s%s", c.text, w.Host, w.Path)
		}
	}
}

// An IP endpoint gets one named address of each family, or leaves the choice to the provider.
func TestNamedAddresses(t *testing.T) {
	cfg, pool := config.Default(), config.Default()
	cfg.IP.Ranges.Include, cfg.IP.Families = wordRanges(t, "203.0.113.0/28 2001:db8::/124"), []config.Family{config.IPv4, config.IPv6}
	pool.IP.Mode = config.ModePool
	for _, c := range []struct {
		addresses string
		cfg       *config.ProviderConfig
		want      string
	}{
		{"203.0.113.3", cfg, ""},
		{"203.0.113.3 2001:db8::1", cfg, ""},
		{"auto", cfg, ""},
		{"auto auto", cfg, ""},
		{"auto 203.0.113.3", cfg, "name addresses, or auto alone"},
		{"2001:db8::1 auto", cfg, "name addresses, or auto alone"},
		{"203.0.113.3 203.0.113.4", cfg, "one address of each family"},
		{"203.0.113.3 203.0.113.3", cfg, "one address of each family"},
		{"198.51.100.1", cfg, "in none of the provider's ranges"},
		{"shop.example.com", cfg, "shop.example.com"},
		{"auto", config.Default(), "no address can be leased"},
		{"203.0.113.3", pool, "MetalLB chooses"},
		{"auto", pool, "MetalLB chooses"},
	} {
		_, problems := NamedRequest(runShop, nil, strings.Fields(c.addresses), "public", c.cfg)
		if problems.Failed() != (c.want != "") || !strings.Contains(problems.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.addresses, problems, c.want)
		}
	}
}
