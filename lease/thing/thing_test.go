package thing

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
)

const (
	owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	id    = owner + "/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

// What is printed is understood, and as the same thing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"shop.example.com", "host/a.b/c", "*.example.com", "https://a.b/c", "203.0.113.7", "ip/::1", "endpoint/public", id, "lease/" + id, "8438017", "problem/a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Parse(text)
		if err != nil {
			return
		}
		for _, printed := range []string{first.String(), Print(string(first.Kind), first.Name())} {
			again, err := Parse(printed)
			if again.Endpoint = first.Endpoint; err != nil || again != first {
				t.Errorf("%q is %q, which is read as %+v, error %v; want %+v", text, printed, again, err, first)
			}
		}
	})
}

// How names are understood, and what is said of those that are not: `go test ./lease/thing -rewrite` writes it. OWNER
// stands for an owner, PROVIDER for a provider.
func TestNames(t *testing.T) {
	short := strings.NewReplacer("OWNER", owner, "PROVIDER", id[strings.LastIndex(id, "/")+1:])
	long := strings.NewReplacer(owner, "OWNER", id[strings.LastIndex(id, "/")+1:], "PROVIDER")
	datadriven.RunTest(t, "testdata/names.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			said := ""
			switch text := short.Replace(line); d.Cmd {
			case "parse":
				understood, err := Parse(text)
				switch {
				case err != nil:
					said = "! " + err.Error()
				case understood.Kind == Host && understood.Endpoint != "":
					said = understood.String() + " or endpoint/" + understood.Endpoint
				default:
					said = understood.String()
				}
			case "print":
				kind, name, _ := strings.Cut(text, " ")
				said = Print(kind, name)
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, long.Replace(said))
		}
		return out.String()
	})
}

// drawThing draws a thing of any kind, also ones whose names are words of the grammar.
func drawThing(t *rapid.T) Thing {
	word := rapid.SampledFrom([]string{"host", "wildcard", "address", "ip", "endpoint", "lease", "order", "pool", "dns", "route", "service", "namespace", "akash1", "akash1xqnd68gm", "a", "x9", "0a", "dead"})
	group := lease.Group{Owner: leasetest.Wallet(rapid.String().Draw(t, "owner")), DSeq: rapid.Uint64Min(1).Draw(t, "dseq"), GSeq: rapid.Uint32Min(1).Draw(t, "gseq")}
	oseq := rapid.Uint32Min(1).Draw(t, "oseq")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address")
		if rapid.Bool().Draw(t, "four") {
			b = b[:4]
		}
		a, _ := netip.AddrFromSlice(b)
		return Thing{Kind: Address, Addr: a.Unmap()}
	case 1:
		return Thing{Kind: Endpoint, Endpoint: rapid.StringMatching(`[a-z][a-z0-9_-]{1,9}`).Draw(t, "endpoint")}
	case 2:
		return Thing{Kind: Lease, Group: group}
	case 3:
		return Thing{Kind: Lease, Group: group, ID: lease.ID{Owner: group.Owner, DSeq: group.DSeq, GSeq: group.GSeq, OSeq: oseq, Provider: "akash1yqd7y67h"}}
	case 4:
		return Thing{Kind: Order, Order: lease.Order{Owner: group.Owner, DSeq: group.DSeq, GSeq: group.GSeq, OSeq: oseq}}
	}
	labels := rapid.SliceOfN(word, 1, 3).Draw(t, "labels")
	host := Thing{Kind: Host, Host: strings.Join(labels, ".")}
	if len(labels) > 1 && rapid.Bool().Draw(t, "wildcard") {
		host.Host = "*." + host.Host
	}
	if rapid.Bool().Draw(t, "path") {
		host.Path = "/" + strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "segments"), "/")
	}
	return host
}

// What is printed of a thing is understood as that thing, however it is called.
func TestWhatIsPrintedIsUnderstood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawThing(t)
		for _, printed := range []string{want.String(), Print(string(want.Kind), want.Name()), Print("thing", want.String())} {
			got, err := Parse(printed)
			if err != nil || got != want {
				t.Fatalf("%q is understood as %+v, %v; want %+v", printed, got, err, want)
			}
		}
		if want.Kind == Host && strings.HasPrefix(want.Host, "*.") {
			if printed := Print("wildcard", want.Name()); printed != want.String() {
				t.Fatalf("the wildcard is printed %q", printed)
			}
		}
	})
}

// Of a long name that is none a message repeats the beginning.
func TestLongNamesAreShortened(t *testing.T) {
	for _, text := range []string{
		"%s", "host/%s", "address/%s", "endpoint/%s", "lease/%s", "order/%s", "pool/%s", "https://%s", "https://a.example.com/?%s", "a.example.com/%s\x1b", "akash1xqnd68gm/%s/1", "akash1xqnd68gm/1/%s",
		"fe80::1%%%s", "1%s", "https://[::1%%25%s]/", "1.2.3.4/%s",
	} {
		name := strings.Replace(strings.ReplaceAll(text, "%%", "%"), "%s", strings.Repeat("Ä9", 1<<16), 1)
		if _, err := Parse(name); err == nil || len(err.Error()) > 2500 || strings.ContainsRune(err.Error(), '\x1b') {
			n := 0
			if err != nil {
				n = len(err.Error())
			}
			t.Errorf("%s: the error has %d bytes", text, n)
		}
	}
}

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
		"kubectl akash-net order release " + ann + "/5/1/1":           "kubectl akash-net order release akash1h24…9w3c9h/5/1/1",
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
