// Package reserved is the claim by which an order reserves resources: how it is named, written and read, and what it takes
// of the cluster. docs/cluster-service.md has the protocol, docs/annotations.md the keys.
package reserved

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
)

// Annotations of a reservation.
const (
	// AnnotationOrder is whose it is: OWNER/DSEQ/GSEQ/OSEQ.
	AnnotationOrder = lease.Domain + "/order"
	// AnnotationBound holds the Part that was seen to fit, AnnotationPending one that is announced.
	AnnotationBound   = lease.Domain + "/bound"
	AnnotationPending = lease.Domain + "/pending"
)

// Name is the name of the claim of an order.
func Name(o lease.Order) string { return state.ReservationPrefix + lease.Hash(o.String()) }

// Claim is the reservation of an order: an object of kind Lease in the ledger's namespace. One that is readable has a
// part: pending until its run has seen that it fits beside all others, then bound. With both it is bound, and a run moves
// it to other resources.
type Claim struct {
	Order lease.Order
	Bound *Part
	// Pending takes room from when it is announced, as Bound does.
	Pending *Part

	// ObjectName is the name of the object.
	ObjectName      string
	UID             types.UID
	ResourceVersion string
	// Created is when it was made, by the API server's clock.
	Created time.Time
	// Deleting is true for a claim that is going: it takes no room, but its name is not free yet.
	Deleting   bool
	Finalizers []string
	// Unreadable says why it cannot be understood: nobody knows what it takes.
	Unreadable string
}

// Part is what is reserved, and until when.
type Part struct {
	// Asked is the hash of the group that was asked for (Asked).
	Asked string `json:"asked"`
	// Hold is what it takes, after commit levels.
	Hold inventory.Hold `json:"hold"`
	// Params are what pods need to come to the cards that were chosen, by the ids of resources; nil without cards.
	Params map[uint32]*inventory.SchedulerParams `json:"params,omitempty"`
	// HTTP counts routed endpoints, as Akash's provider does: once for a resource, whatever its replicas. They limit
	// nothing.
	HTTP uint64 `json:"http,omitempty"`
	// Provider is who has won the order; empty while it is a bid.
	Provider string `json:"provider,omitempty"`
	// By is who reserved it, as USER@HOST, and Run the nonce of the run.
	By  string `json:"by,omitempty"`
	Run string `json:"run,omitempty"`
	// Expires is when it ends, by the API server's clock, as RFC 3339; empty where it ends by being given up.
	Expires string `json:"expires,omitempty"`
}

// Over is true for a part whose time is over at the moment now, by the API server's clock.
func (p *Part) Over(now time.Time) bool { return state.Part{Expires: p.Expires}.Ended(now) }

// Over is true where the time of what holds is over: whoever needs the room may remove it, also while a run moves it, which
// begins anew then.
func (c *Claim) Over(now time.Time) bool {
	p := c.Part()
	return p != nil && p.Over(now)
}

// Part is what holds: the bound part, else the pending one; nil where the claim cannot be read.
func (c *Claim) Part() *Part {
	if c.Bound != nil {
		return c.Bound
	}
	return c.Pending
}

// Hold is what the claim takes, with what it is being moved to.
func (c *Claim) Hold() inventory.Hold {
	switch {
	case c.Deleting || c.Part() == nil:
		return inventory.Hold{}
	case c.Bound != nil && c.Pending != nil:
		return c.Bound.Hold.Larger(c.Pending.Hold)
	}
	return c.Part().Hold
}

// moving is what is put after the name of a claim for what it is being moved to.
const moving = "+"

// Pieces are the claim as the protocol sees it: what is bound, and what is announced beyond it. Rest says what of a hold
// is not in use by the order's own pods.
func (c *Claim) Pieces(now time.Time, rest func(inventory.Hold) inventory.Hold) []capacity.Claim {
	switch {
	case c.Deleting || c.Part() == nil:
		return nil
	case c.Bound == nil:
		return []capacity.Claim{{Name: c.ObjectName, Over: c.Pending.Over(now), Hold: rest(c.Pending.Hold)}}
	}
	bound := capacity.Claim{Name: c.ObjectName, Bound: true, Over: c.Bound.Over(now), Hold: rest(c.Bound.Hold)}
	if c.Pending == nil {
		return []capacity.Claim{bound}
	}
	return []capacity.Claim{bound, {Name: c.ObjectName + moving, Over: c.Pending.Over(now), Hold: rest(c.Hold()).Minus(bound.Hold)}}
}

// Own is the order's own claim as the protocol sees it, for a run that asks for a group: nil where nothing of it is
// announced. One that is bound to another group stays, and is moved: to the run what it has is free.
func (c *Claim) Own(asked string, now time.Time) *capacity.Claim {
	switch {
	case c == nil || c.Deleting:
		return nil
	case c.Bound != nil && c.Bound.Asked == asked:
		return &capacity.Claim{Name: c.ObjectName, Bound: true, Over: c.Bound.Over(now), Hold: c.Bound.Hold}
	case c.Pending != nil && c.Pending.Asked == asked:
		return &capacity.Claim{Name: c.ObjectName, Over: c.Pending.Over(now), Hold: c.Pending.Hold}
	}
	return nil
}

// Without are the claims without what is over and named by the protocol: those to delete, and those of which what they
// are moved to goes.
func Without(all []*Claim, names []string, now time.Time) (deleted, stayed []*Claim) {
	for _, c := range all {
		switch {
		case slices.Contains(names, c.ObjectName) && c.Over(now):
			deleted = append(deleted, c)
		case slices.Contains(names, c.ObjectName+moving):
			stayed = append(stayed, c)
		}
	}
	return deleted, stayed
}

// Asked identifies a group as it was asked for.
func Asked(g inventory.Group) string { return lease.Hash(text(g.Resources)) }

// HTTP counts the routed endpoints of a group's services, once for a resource.
func HTTP(g inventory.Group) (endpoints uint64) {
	for _, r := range g.Resources {
		for _, e := range r.Endpoints {
			if e.Kind == inventory.SharedHTTP {
				endpoints++
			}
		}
	}
	return endpoints
}

// Models are the models of the cards that were chosen, each once, as VENDOR/MODEL.
func (p *Part) Models() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(p.Params)) {
		if chosen := p.Params[id]; chosen != nil {
			if m := chosen.Resources.GPU.Vendor + "/" + chosen.Resources.GPU.Model; !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}
