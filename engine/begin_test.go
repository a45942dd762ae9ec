package engine_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// begin begins a command for one lease or two.
func (h *history) begin(name string) {
	things := []string{"a.example.com", "b.example.com", "b.example.com/path", "*.example.com", "c.example.net", "address", "address"}
	leases := []string{"A/1", "A/2", "B/1", "C/1"}
	h.Shuffle(len(leases), func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
	var wants []engine.Want
	for i := range 1 + h.Intn(2) {
		words := h.words(leases[i], things)
		alone := slices.Contains(words, "transfer") // it is one lease's
		if alone {
			wants = nil
		}
		h.note("%s begins: %s", name, strings.Join(words, " "))
		if wants = append(wants, h.ledger.want(words)); alone {
			break
		}
	}
	c := h.ledger.command(name, wants...)
	h.commands = append(h.commands, c)
}

// words are what a command wants for a lease.
func (h *history) words(id string, things []string) []string {
	words := []string{id}
	some := func(of []string) {
		for _, word := range of {
			if h.Intn(3) == 0 && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	switch kept := h.ledger.definitions[leaseOf(id).Group()]; {
	case h.Intn(5) == 0:
		return append([]string{id, "release"}, [][]string{nil, {"a.example.com"}}[h.Intn(2)]...)
	case strings.HasPrefix(id, "A/") && h.Intn(5) == 0:
		host := []string{"a.example.com", "b.example.com"}[h.Intn(2)]
		if words = append(words, "transfer", host); h.applies && h.Intn(3) == 0 {
			words = append(words, "with", host)
		}
		return words
	case h.applies && kept != nil && h.Intn(5) == 0:
		return append([]string{id, "move", "a.example.com", "b.example.com"}, [][]string{nil, {"end"}}[h.Intn(2)]...)
	case kept != nil && h.Intn(6) == 0:
		return append([]string{id, "heal"}, [][]string{nil, {"prune"}}[h.Intn(2)]...)
	case h.applies && h.Intn(2) == 0:
		words = append(words, "apply")
		some([]string{"a.example.com", "b.example.com", "b.example.com/path", "c.example.net", "prune", "timeout"})
	default:
		some(things)
		some([]string{"prune", "expires"})
	}
	return words
}

// accept lets the Gateway say that an HTTPRoute serves.
func (h *history) accept() {
	for _, k := range h.ledger.keys() {
		if k.Kind == kinds.HTTPRoute && h.Intn(2) == 0 {
			h.note("the Gateway accepts %s", k)
			h.ledger.accept(k)
		}
	}
}

// serve lets a route of a holder begin to serve, as an older version of the program does that takes no lock.
func (h *history) serve() {
	claims := h.ledger.list("", "")
	if len(claims) == 0 {
		return
	}
	c := claims[h.Intn(len(claims))]
	if len(c.Parts) == 0 || c.Kind.HasPorts() || c.Parts[0].Run != "" {
		return
	}
	p := c.Parts[0]
	if slices.ContainsFunc(h.ledger.routes(c.Thing), func(o observed.Object) bool { return o.Group == p.Lease.Group() }) {
		return
	}
	h.note("a route serves %s for %s", c.Thing, p.Lease.Group())
	h.ledger.serve(lease.HostPath(c.Thing, p.Path), p.Lease, kinds.Ingress)
	h.ledger.fallen["outside"] = append(h.ledger.fallen["outside"], p.Lease.Group())
}

// A lease whose IP endpoint names no address may get the one that its sharing key has: it is served after a lease before it that names that
// address, which here waits for the host that the last one gives up. One that names another address does not ask for it.
func TestAssignSharesAddresses(t *testing.T) {
	last, of := lease.ID{Owner: ot.Blog.Owner, DSeq: ot.Blog.DSeq + 1, GSeq: 1, OSeq: 1, Provider: ot.Blog.Provider}, netip.MustParseAddr
	for name, tt := range map[string]struct {
		names []netip.Addr
		order []int
	}{
		"no address":      {nil, []int{2, 0, 1}},
		"another address": {[]netip.Addr{of("203.0.113.8")}, []int{1, 2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := engine.NewWorld()
			w.ReadAll(ot.Snapshot([]*state.Claim{ot.Address(ot.Shop, "203.0.113.7", 80), ot.Host(last, "a.example.com")}), w.Send())
			endpoint := func(id lease.ID, addresses ...netip.Addr) []state.EndpointWant {
				return []state.EndpointWant{{Name: "public", SharingKey: ot.Key(id), Addresses: addresses}}
			}
			plan := engine.Assign(w, engine.Settings{}, []engine.Want{
				{Request: state.Request{
					Lease: ot.Blog, Endpoints: endpoint(ot.Blog, of("203.0.113.7")),
					Hosts: []state.HostWant{{Host: "a.example.com", Path: "/", Service: "web", Port: 80}},
				}},
				{Request: state.Request{Lease: ot.Shop, Endpoints: endpoint(ot.Shop, tt.names...)}},
				{Request: state.Request{Lease: last}, Prune: true},
			})
			if got := plan.Order(); !slices.Equal(got, tt.order) {
				t.Errorf("order %v, want %v", got, tt.order)
			}
		})
	}
}
