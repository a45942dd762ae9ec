package thing

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
)

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
