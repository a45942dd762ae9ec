package observed

import (
	"cmp"
	"iter"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/layered"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Claims are claims by what they are asked for.
type Claims struct {
	by layered.Map[string, *state.Claim]
	// held are those on which a deployment group has an entry, former those with a part that it serves for its new holder since a transfer.
	held, former layered.Lists[lease.Group, *state.Claim]
	// endpoints are those with ports by sharing key, things all by what is claimed.
	endpoints, things layered.Lists[string, *state.Claim]
}

// Get returns a claim by its name, or nil.
func (x *Claims) Get(name string) *state.Claim { return x.by.At(name) }

// All returns all claims, in no order.
func (x *Claims) All() iter.Seq2[string, *state.Claim] { return x.by.All() }

// Held returns the claims on which a deployment group has an entry.
func (x *Claims) Held(group lease.Group) []*state.Claim { return x.held.At(group) }

// Of returns the claims with ports that have a sharing key.
func (x *Claims) Of(sharingKey string) []*state.Claim { return x.endpoints.At(sharingKey) }

// On returns the claims on a thing.
func (x *Claims) On(thing string) []*state.Claim { return x.things.At(thing) }

// Put puts a claim in the place of the one of a name; nil for none.
func (x *Claims) Put(name string, now *state.Claim) {
	if was := x.by.At(name); was != nil {
		x.by.Drop(name)
		x.index(was, (*layered.Lists[string, *state.Claim]).Remove, (*layered.Lists[lease.Group, *state.Claim]).Remove)
	}
	if now != nil {
		x.by.Put(name, now)
		x.index(now, (*layered.Lists[string, *state.Claim]).Add, (*layered.Lists[lease.Group, *state.Claim]).Add)
	}
}

// change adds a claim to the list of a key, or removes it.
type change[K comparable] func(in *layered.Lists[K, *state.Claim], key K, c *state.Claim, compare func(a, b *state.Claim) int)

func (x *Claims) index(c *state.Claim, named change[string], grouped change[lease.Group]) {
	byThing := func(a, b *state.Claim) int { return cmp.Or(a.Compare(b), cmp.Compare(a.SharingKey, b.SharingKey)) }
	named(&x.things, c.Thing, c, byThing)
	if c.Kind.HasPorts() {
		named(&x.endpoints, c.SharingKey, c, byThing)
	}
	for _, g := range c.Writers() {
		grouped(&x.held, g, c, byThing)
	}
	for _, g := range c.Formers() {
		grouped(&x.former, g, c, byThing)
	}
}

// share returns the claims as they are.
func (x *Claims) share() Claims {
	return Claims{x.by.Share(), x.held.Share(), x.former.Share(), x.endpoints.Share(), x.things.Share()}
}
