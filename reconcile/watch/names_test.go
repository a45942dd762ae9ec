package watch

import "testing"

// A failing lease is tried again at once where its error names what has gone, and not where a word only looks like it.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		text, name string
		want       bool
	}{
		{"host shop.example.com is held by lease akash1a/1/1", "shop.example.com", true},
		{"host shop.example.com.", "shop.example.com", true},
		{"host a.shop.example.com is held", "shop.example.com", false},
		{"host shop.example.com.au is held", "shop.example.com", false},
		{"address 10.0.0.10 is held", "10.0.0.1", false},
		{"it is used by ingress apps/shop, which names no lease", "shop", true},
		{"the shop is closed; ingress apps/web serves it", "shop", false},
		{"a host, of a lease", "a", false},
		{"ingress apps/a serves it", "a", true},
		{"wildcard *.example.com is held", "*.example.com", true},
		{"ingress apps/shop-2, then ingress apps/shop", "shop", true},
	} {
		if got := names(tt.text, tt.name); got != tt.want {
			t.Errorf("%q names %q: %t", tt.text, tt.name, got)
		}
	}
}
