package apply

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Parts take the place of the entries for the same key, and of the notes about it; other entries stay.
func TestWithEntries(t *testing.T) {
	root := state.Part{Key: "route/root", Lease: ot.Next}
	for name, tt := range map[string]struct {
		entries []state.Part
		want    []string
	}{
		"no entries":             {nil, []string{"route/root"}},
		"the same part":          {[]state.Part{{Key: "route/root"}}, []string{"route/root"}},
		"a note of the part":     {[]state.Part{{Key: "wait/1", For: "route/root"}}, []string{"route/root"}},
		"another part":           {[]state.Part{{Key: "route/a"}}, []string{"route/root", "route/a"}},
		"a note of another part": {[]state.Part{{Key: "wait/2", For: "route/a"}}, []string{"route/root", "wait/2"}},
	} {
		var keys []string
		for _, p := range withEntries([]state.Part{root}, tt.entries) {
			keys = append(keys, p.Key)
		}
		if !slices.Equal(keys, tt.want) {
			t.Errorf("%s: %q", name, keys)
		}
	}
}

// A run that ends leaves its parts without what only a run notes; notes of withheld parts keep what they say.
func TestSettledAndUnmarked(t *testing.T) {
	part := state.Part{Key: "k", Service: "web", Run: "r", Expires: "later", HTTP: &lease.HTTPOptions{}, Definition: "d"}
	note := state.Part{Key: "n", For: "k", HTTP: &lease.HTTPOptions{}, Definition: "d"}
	before := []state.Part{part, note}
	if diff := cmp.Diff([]state.Part{{Key: "k", Service: "web"}, {Key: "n", For: "k"}}, settled(before)); diff != "" {
		t.Errorf("settled:\n%s", diff)
	}
	if diff := cmp.Diff([]state.Part{{Key: "k", Service: "web", Expires: "later"}, note}, unmarked(before)); diff != "" {
		t.Errorf("unmarked:\n%s", diff)
	}
	if before[0].Run != "r" || before[0].Definition != "d" {
		t.Error("what was given has changed")
	}
}

// A note of a host becomes an expose with its path and options, one of a port an expose of the endpoint.
func TestServiceOfANote(t *testing.T) {
	body := uint32(7)
	host := serviceOf(ot.Host(ot.Shop, "shop.example.com", "/a"), state.Part{
		Path: "/a", Service: "web", Port: 8080, HTTP: &lease.HTTPOptions{MaxBodySize: body},
	})
	if diff := cmp.Diff(lease.Service{Name: "web", Expose: []lease.Expose{{
		Port: 8080, Protocol: lease.TCP, Global: true, Path: "/a", Hosts: []lease.Host{{Name: "shop.example.com"}}, HTTP: lease.HTTPOptions{MaxBodySize: body},
	}}}, host); diff != "" {
		t.Errorf("a host:\n%s", diff)
	}
	port := serviceOf(ot.Address(ot.Shop, "203.0.113.7", 80), state.Part{Key: state.PortKey(lease.UDP, 53), Service: "dns", Port: 5353})
	if diff := cmp.Diff(lease.Service{Name: "dns", Expose: []lease.Expose{{
		Port: 5353, As: 53, Protocol: lease.UDP, Global: true, IP: "public",
	}}}, port); diff != "" {
		t.Errorf("a port:\n%s", diff)
	}
}

// Moved parts are known by their claim and key.
func TestKnownParts(t *testing.T) {
	shop, www := ot.Host(ot.Shop, "shop.example.com", "/", "/a"), ot.Host(ot.Shop, "www.example.com")
	moves := []*move{{claim: shop, new: shop.Parts}, {claim: www, new: www.Parts}}
	got := knownParts(moves, func(c *state.Claim, p state.Part) bool { return c == shop && p.Path == "/a" })
	if !got.Has(partKey{shop.Name(), state.RouteKey("/a")}) || got.Len() != 1 {
		t.Errorf("known are %v", got)
	}
}
