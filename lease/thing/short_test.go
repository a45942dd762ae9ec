package thing

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// A short name is the name of all leases that have its parts, and of no others; whole names and other things are none.
func TestShortNames(t *testing.T) {
	const (
		ann, bob = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", "akash1xqnd68gmsw2vlz3m68qvyvcf3kh6q269ajvqw6"
		east     = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	)
	first := lease.ID{Owner: ann, DSeq: 5005, GSeq: 1, OSeq: 1, Provider: east}
	again := lease.ID{Owner: ann, DSeq: 5005, GSeq: 1, OSeq: 2, Provider: bob}
	second := lease.ID{Owner: ann, DSeq: 5005, GSeq: 2, OSeq: 1, Provider: east}
	other := lease.ID{Owner: bob, DSeq: 7, GSeq: 1, OSeq: 1, Provider: east}
	all := []lease.ID{first, again, second, other}
	groups := func(ids ...lease.ID) (names []string) {
		for _, id := range ids {
			names = append(names, id.Group().String())
		}
		return names
	}
	for text, want := range map[string][]string{
		"7":                             groups(other),
		"lease/7":                       groups(other),
		"5005":                          groups(first, second),
		"6":                             nil,
		ann:                             groups(first, second),
		ann + "/5005":                   groups(first, second),
		ann + "/7":                      nil,
		"akash1h24…9w3c9h":              groups(first, second),
		"akash1h24...9w3c9h":            groups(first, second),
		"akash1h24…9w3c9h/5005":         groups(first, second),
		"lease/akash1h24…9w3c9h/5005/2": groups(second),
		"akash1h24…9w3c9h/5005/1/2":     {again.String()},
		"akash1h24…9w3c9h/5005/1/1/akash1nxq…jvqw6y0":   {first.String()},
		"akash1h24…9w3c9h/5005/1/1/akash1nxq…9w3c9h":    nil,
		"akash1h24fljt7p0nh82cq0za0uhsct3sf…w3c9h/5005": groups(first, second),
		second.Namespace():      {second.String()},
		strings.Repeat("0", 45): nil,
	} {
		short, ok := ParseShort(text)
		if !ok {
			t.Errorf("%s is no short name", text)
			continue
		}
		if diff := cmp.Diff(want, short.Lengthen(slices.Values(all))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{
		"", "0", "-1", "+1", "1.5", "99999999999999999999", "shop.example.com", "shop", "5005/1", "host/5005", "akash1h24…", "…9w3c9h", "akash1…", "ak…9w3c9h",
		"akash1h24…9w3c9h/0", "akash1h24…9w3c9h/x", "akash1h24…9W3C9H", "akash1h…2…9", "akash1h24…9w3c9h/1/1/1/" + east + "/1", "akash1h24…9w3c9h/1/1/1/shop",
		first.String(), first.Group().String(), ann + "/5005/1/1", strings.ToUpper(second.Namespace()), "order/5005",
	} {
		if short, ok := ParseShort(text); ok {
			t.Errorf("%s is a short name: %+v", text, short)
		}
	}
}
