package state

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// TestParseHostWant: what is typed is judged as definitions are, and by the configuration.
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
