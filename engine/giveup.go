package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Allocations are parts of a claim that a deployment group gives up alone, whatever else it holds: they are live for nobody, by what was
// seen. They go only as they were seen.
type Allocations struct {
	Claim *state.Claim
	Keys  []string
	// Objects are the group's objects that go before them: those that nothing serves, or with Gone all that serve them.
	Objects []types.UID
	// Gone is the namespace of their lease, which does not exist; empty if that does not matter. The parts do not show whether the lease is
	// live then, so nothing of the claim may have changed.
	Gone string
}

// only returns the allocations that alone are given up; nil for any other want.
func (v view) only() []Allocations {
	if v.want.Release == nil {
		return nil
	}
	return v.want.Release.Only
}

// isLive reports whether allocations may be live by now: the claim is not as it was seen, the namespace exists again, or, of those with
// objects that nothing was to serve, something serves them.
func (v view) isLive(a Allocations) bool {
	c, of := v.w.Claim(a.Claim.Name()), v.reading().snapshot
	differs := func(key string) bool {
		was, is := a.Claim.Part(key), c.Part(key)
		return was == nil || is == nil || is.Lease.Group() != v.group || !is.Same(*was)
	}
	if c == nil || c.UID != a.Claim.UID || slices.ContainsFunc(a.Keys, differs) {
		return true
	}
	if a.Gone != "" {
		return c.ResourceVersion != a.Claim.ResourceVersion || slices.ContainsFunc(v.namespacesOf(a), func(k Key) bool { return v.w.live(k).live != nil })
	}
	return len(a.Objects) > 0 && slices.ContainsFunc(a.Keys, func(key string) bool {
		by, _ := v.servedBy(of, c, *c.Part(key))
		for _, o := range of.Written.Of(v.group) {
			if slices.Contains(o.Near, c.Name()) && o.StandsFor(c, *c.Part(key)) {
				by = append(by, o)
			}
		}
		return slices.ContainsFunc(by, func(o observed.Object) bool {
			return !slices.Contains(kinds.ClaimLike, o.Kind) && !slices.Contains(a.Objects, o.UID())
		})
	})
}

// objectsOf returns the objects that go before allocations.
func (v view) objectsOf(a Allocations) []observed.Object {
	return slices.DeleteFunc(slices.Clone(v.reading().snapshot.Written.Of(v.group)), func(o observed.Object) bool { return !slices.Contains(a.Objects, o.UID()) })
}

// namespacesOf returns the namespaces that do not exist: those of the leases of allocations, and of the objects that go before them.
func (v view) namespacesOf(a Allocations) (out []Key) {
	if a.Gone == "" {
		return nil
	}
	out = []Key{{Kind: kinds.Namespace, Name: a.Gone}}
	for _, o := range v.objectsOf(a) {
		if k := (Key{Kind: kinds.Namespace, Name: o.Lease.Namespace()}); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// readGone reads in the command's turn whether allocations are still live for nobody, as far as objects say so: what serves them, and the
// namespaces that do not exist, because Akash's programs take no lock. What is deleted, and what is given up after that, rests on a reading
// of its own.
func (v view) readGone() (out Step) {
	for _, a := range v.only() {
		if len(a.Objects) > 0 && a.Gone == "" && v.reading().sent <= v.w.Turn.Alone {
			return v.readOwner(v.w.Turn.Alone, "whether anything serves it by now")
		}
		for _, k := range v.namespacesOf(a) {
			asks := func(r Request) bool { return r.On == k }
			if now, read := v.w.lives[k]; (!read || now.sent <= max(v.w.Turn.Alone, v.changed())) && !slices.ContainsFunc(out.Requests, asks) {
				out.Requests = append(out.Requests, Request{Verb: GetLive, On: k, Why: "whether it is still gone"})
			}
		}
	}
	return out
}

// allocated returns the allocations of a claim's part that are given up.
func (v view) allocated(c *state.Claim, p state.Part) []Allocations {
	return slices.DeleteFunc(slices.Clone(v.only()), func(a Allocations) bool {
		return a.Claim.Name() != c.Name() || !slices.Contains(a.Keys, p.Key) || v.isLive(a)
	})
}

// restsOnObjects reports whether allocations of a claim are given up because of what objects, or namespaces, are there.
func (v view) restsOnObjects(c *state.Claim) bool {
	return v.only() == nil || slices.ContainsFunc(v.only(), func(a Allocations) bool { return a.Claim.Name() == c.Name() && (len(a.Objects) > 0 || a.Gone != "") })
}

// given returns the claims of allocations as they were seen last, by name.
func (v view) given() map[string]*state.Claim {
	out := map[string]*state.Claim{}
	for _, a := range v.only() {
		out[a.Claim.Name()] = v.w.Claim(a.Claim.Name())
	}
	return out
}
