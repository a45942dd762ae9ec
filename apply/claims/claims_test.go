package claims

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

const shop, address = "shop.example.com", "203.0.113.1"

// work returns the Claims of ot.Next.
func work(opts command.Options, held []*state.Claim, objects ...*unstructured.Unstructured) *Claims {
	if opts.Config == nil {
		opts.Config = config.Default()
	}
	r := New(&command.Command{Options: opts}, nil, state.Request{Lease: ot.Next})
	r.Nonce, r.Snapshot = "this-run", ot.Snapshot(held, objects...)
	return r
}

// A run gives up only parts that are as it has read or written them; it keeps what another run of the lease has taken since.
func TestKnows(t *testing.T) {
	part := func(change func(p *state.Part)) state.Part {
		p := ot.Host(ot.Next, shop).Parts[0]
		if change != nil {
			change(&p)
		}
		return p
	}
	read, taken := []*state.Claim{ot.Host(ot.Next, shop)}, &Held{Want: state.HostWant{Host: shop}.Hold(ot.Next), Claim: ot.Host(ot.Next, shop)}
	tests := []struct {
		name  string
		read  []*state.Claim
		taken *Held
		part  state.Part
		want  bool
	}{
		{"it is as it was read", read, nil, part(nil), true},
		{"only how its lease is stored differs", read, nil, part(func(p *state.Part) { p.LeaseText = "text" }), true},
		{"this run has taken it", nil, nil, part(func(p *state.Part) { p.Run = "this-run" }), true},
		{"another run has taken it", read, nil, part(func(p *state.Part) { p.Run = "another" }), false},
		{"it leads to another service now", read, nil, part(func(p *state.Part) { p.Service = "api" }), false},
		{"it was not there", nil, nil, part(nil), false},
		{"it was not there, and this run relies on it", nil, taken, part(nil), true},
		{"this run relies on it, and it has changed", nil, taken, part(func(p *state.Part) { p.Port = 81 }), false},
		{"a note holds nothing", nil, nil, part(nil).Wait("", nil), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := work(command.Options{}, tt.read)
			if tt.taken != nil {
				r.Hold(tt.taken)
			}
			if got := r.Knows(shop, tt.part); got != tt.want {
				t.Errorf("known: %t, want %t", got, tt.want)
			}
		})
	}
}

// A part is taken as applied only if the definition routes it.
func TestApplying(t *testing.T) {
	routed := lease.Expose{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: shop}}}
	unrouted := routed
	unrouted.Port = 8080
	def := func(e lease.Expose) *lease.Definition {
		return &lease.Definition{Lease: ot.Next, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{e}}}}
	}
	host, port := state.HostWant{Host: shop, Service: "web", Port: 80}.Hold(ot.Next), state.EndpointWant{Ports: []state.PortWant{{Protocol: lease.TCP, ExternalPort: 443, Service: "game"}}}.Hold(ot.Next, netip.MustParseAddr(address))
	tests := []struct {
		name string
		def  *lease.Definition
		opts command.Options
		hold state.Hold
		want bool
	}{
		{"a host with a route", def(routed), command.Options{}, host, true},
		{"a host whose port is not routed", def(unrouted), command.Options{}, host, false},
		{"a host that is reserved", nil, command.Options{}, host, false},
		{"a port of an address", def(routed), command.Options{}, port, true},
		{"an address without ports", def(routed), command.Options{}, state.EndpointWant{}.Hold(ot.Next, netip.MustParseAddr(address)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := work(tt.opts, nil)
			r.Def = tt.def
			if got := r.applying(tt.hold).Parts[0].Applied; got != tt.want {
				t.Errorf("applied: %t, want %t", got, tt.want)
			}
			if tt.hold.Parts[0].Applied {
				t.Error("what was asked for has changed")
			}
		})
	}
}

// A run may delete objects of another lease that serve its claims if it prunes, or after a transfer.
func TestRemoves(t *testing.T) {
	own, handedOn := ot.Host(ot.Next, shop), ot.HandedOn(ot.Host(ot.Next, shop), ot.Shop)
	for name, tt := range map[string]struct {
		opts  command.Options
		claim *state.Claim
		want  bool
	}{
		"a run that deletes":                               {command.Options{Prune: true}, own, true},
		"a run that deletes nothing":                       {command.Options{}, own, false},
		"what serves for the lease since a transfer":       {command.Options{}, handedOn, true},
		"a lease that is healed":                           {command.Options{Heal: true}, handedOn, false},
		"a lease that is healed by a run that deletes":     {command.Options{Heal: true, Prune: true}, handedOn, true},
		"a run that deletes nothing of what nobody claims": {command.Options{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := work(tt.opts, nil).Removes(ot.Shop.Group(), tt.claim); got != tt.want {
				t.Errorf("it may delete: %t, want %t", got, tt.want)
			}
		})
	}
}
