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

// Who has mistyped a lease is told which one may be meant: another of the owner, the nearest first, or one that differs in a few characters.
func TestNearest(t *testing.T) {
	const (
		ann = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
		bob = "akash1xqnd68gmsw2vlz3m68qvyvcf3kh6q269ajvqw6"
	)
	held := []lease.Group{{Owner: ann, DSeq: 5005, GSeq: 1}, {Owner: ann, DSeq: 8438017, GSeq: 1}, {Owner: bob, DSeq: 77, GSeq: 1}}
	for _, tt := range []struct{ typed, want lease.Group }{
		{lease.Group{Owner: ann, DSeq: 5006, GSeq: 1}, held[0]},
		{lease.Group{Owner: ann, DSeq: 8438018, GSeq: 1}, held[1]},
		{lease.Group{Owner: ann, DSeq: 5005, GSeq: 2}, held[0]},
		{lease.Group{Owner: strings.Replace(bob, "w2vl", "w3vl", 1), DSeq: 77, GSeq: 1}, held[2]},
		{lease.Group{Owner: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0", DSeq: 77, GSeq: 1}, lease.Group{}},
	} {
		if got, ok := Nearest(tt.typed, slices.Values(held)); got != tt.want || ok != (tt.want != lease.Group{}) {
			t.Errorf("the nearest to %s is %s, want %s", tt.typed, got, tt.want)
		}
	}
	if got, ok := Nearest(held[2], slices.Values(held[2:])); ok {
		t.Errorf("a lease is near itself: %s", got)
	}
}

// A name is completed as it was begun: by the whole wallet, by the DSEQ, or without the middle of the wallet.
func TestComplete(t *testing.T) {
	g := lease.Group{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1}
	for typed, want := range map[string]string{
		"": g.String(), "akash1h24": g.String(), "akash1h24f": g.String(), "84": "8438017", "lease/84": "lease/8438017", "lease/": "lease/" + g.String(),
		"akash1h24…": "akash1h24…9w3c9h/8438017/1", "akash1h24…9w3c9h/8": "akash1h24…9w3c9h/8438017/1", "85": "", "shop": "",
	} {
		if got, ok := Complete(g, typed); got != want || ok != (want != "") {
			t.Errorf("%q is completed to %q, want %q", typed, got, want)
		}
		if short, is := ParseShort(want); is && !short.Matches(lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: 1, OSeq: 1, Provider: g.Owner}) {
			t.Errorf("%q is the name of another lease", want)
		}
	}
}

// The names of leases in a sentence are shortened to what ParseShort reads; the rest of it stays.
func TestShortenLeases(t *testing.T) {
	const (
		ann  = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
		east = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	)
	for text, want := range map[string]string{
		"":                                    "",
		ann + "/5005/1":                       "akash1h24…9w3c9h/5005/1",
		"lease " + ann + "/5005/1 is live":    "lease akash1h24…9w3c9h/5005/1 is live",
		"(by " + ann + "/5/1/1/" + east + ")": "(by akash1h24…9w3c9h/5/1/1/akash1nxq…vqw6y0)",
		ann + "/5/1, " + east + "/6/1":        "akash1h24…9w3c9h/5/1, akash1nxq…vqw6y0/6/1",
		"kubectl akash-net release " + ann + "/5/1 x.example.com":     "kubectl akash-net release akash1h24…9w3c9h/5/1 x.example.com",
		"kubectl akash-net transfer x --to " + ann + "/5/1/1/" + east: "kubectl akash-net transfer x --to " + ann + "/5/1/1/" + east,
		"kubectl akash-net reserve --order=" + ann + "/5/1/1":         "kubectl akash-net reserve --order=" + ann + "/5/1/1",
		"lease/" + ann + "/5/1":                                       "lease/" + ann + "/5/1",
		"providerleasedip/" + ann + "-ip-public-tcp-443 created":      "providerleasedip/" + ann + "-ip-public-tcp-443 created",
		"akash-net-owner=" + ann:                                      "akash-net-owner=" + ann,
		"owner " + ann:                                                "owner " + ann,
	} {
		if got := ShortenLeases(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
