package engine

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Fix is what repair changes of a deployment group alone, whatever else that has: allocations of a claim, and objects that go. It is done only
// while what it rests on is as it was seen, and as a whole: allocations that stay change before the objects go, and others go after them.
type Fix struct {
	// Claim is the claim of the allocations with Keys, as it was seen; nil for objects alone. Stay says as what they stay.
	Claim *state.Claim
	Keys  []string
	Stay  Stay
	// Objects are those that go, as they were seen. Rest says on what that rests.
	Objects []observed.Object
	Rest    Rest
	// Gone is the namespace of the lease, which does not exist; empty if that does not matter. The allocations do not show whether the lease is
	// live then, so nothing of the claim may have changed.
	Gone string
	// Declares are the objects of Akash's that say for whom Followed allocations are, one for each key, or that would declare what Unchanged
	// objects serve.
	Declares []Declaration
}

// Declaration is an object of Akash's as it was seen; nil if there was none.
type Declaration struct {
	Key  Key
	Seen *unstructured.Unstructured
}

// Stay says as what allocations stay, if they do.
type Stay string

// Allocations are given up; or they stay without objects, without the mark of a command that has crashed, or, those of another deployment
// group, for the lease to which Akash's provider has moved them.
const (
	GivenUp  Stay = "nobody holds it for the lease any more"
	Reserved Stay = "what serves it goes, and it stays reserved"
	Unmarked Stay = "the command that has marked it has crashed"
	Followed Stay = "Akash's provider has moved it"
)

// Rest says on what it rests that objects go. An empty one is for those that serve allocations: these are live for nobody.
type Rest string

const (
	// Unentitled objects are as they were seen, and their deployment group holds nothing that they serve.
	Unentitled Rest = "unentitled"
	// Unserved objects are as they were seen. Akash's programs declare something with them, and nothing serves that.
	Unserved Rest = "unserved"
	// Unchanged objects, whoever wrote them, say what they said, as does the object that declares what they serve.
	Unchanged Rest = "unchanged"
)

// fixes are those of the group; nil for any other want.
func (v view) fixes() []Fix {
	if v.want.Release == nil {
		return nil
	}
	return v.want.Release.Fixes
}

// apart is a step of fixes, of which one may fail while the others go on: what rests on a claim, or on an object, alone.
func (v view) apart(s Step) Step {
	if v.fixes() == nil {
		return s
	}
	s.Requests = slices.Clone(s.Requests)
	for i := range s.Requests {
		switch s.Requests[i].On.(type) {
		case OfClaim, OfObject, Key:
			s.Requests[i].Optional = true
		}
	}
	return s
}

// refusal returns why the API server has refused what a fix asked for; nil if it has not.
func (v view) refusal(f Fix) error {
	var known []string
	if c := f.Claim; c != nil {
		if err := v.f.refused[c.Name()]; err != nil && v.w.see(c.Name()).Misses >= v.t.Settings.Tries {
			return fmt.Errorf("%s %s could not be given up: %w", c.Kind, c.Thing, err)
		}
		known = append(known, c.Name())
	}
	for _, o := range f.Objects {
		known = append(known, string(o.UID()))
	}
	for _, k := range v.underneath(f) {
		known = append(known, k.String())
	}
	for _, what := range known {
		if err := v.f.refused[what]; err != nil {
			return err
		}
	}
	return nil
}

// becomes returns an allocation as it stays.
func (f Fix) becomes(p state.Part) state.Part {
	switch f.Stay {
	case Reserved:
		p.Applied, p.From = false, ""
	case Unmarked:
		if p.Run = ""; p.Expires == state.WhileTurned {
			p.Expires = ""
		}
	}
	return p
}

// isOf reports whether a fix is one of an allocation.
func (f Fix) isOf(c *state.Claim, key string) bool {
	return f.Claim != nil && f.Claim.Name() == c.Name() && slices.Contains(f.Keys, key)
}

// isUnfounded reports whether what a fix rests on is not as it was seen: its allocations, the namespace that was gone, what was declared, or
// that nothing served what nothing was to serve; or the API server has refused something of it.
func (v view) isUnfounded(f Fix) bool {
	if v.refusal(f) != nil {
		return true
	}
	var c *state.Claim
	of := v.reading().is
	if f.Claim != nil {
		if c = v.w.Claim(f.Claim.Name()); c == nil || c.UID != f.Claim.UID || slices.ContainsFunc(f.Keys, func(key string) bool { return v.differs(f, c, key) }) {
			return true
		}
	}
	switch {
	case f.Gone != "":
		return c.ResourceVersion != f.Claim.ResourceVersion || slices.ContainsFunc(v.underneath(f), func(k Key) bool { return v.w.live(k).live != nil })
	case f.Stay == Followed:
		_, parts := v.followed(f, c)
		return parts == nil
	case f.Rest == Unchanged:
		return slices.ContainsFunc(f.Declares, func(d Declaration) bool { return !sameVersion(v.w.live(d.Key).live, d.Seen) })
	case f.Rest == Unserved:
		return slices.ContainsFunc(f.Objects, func(o observed.Object) bool { return v.isServed(of, o) })
	case f.Rest == Unentitled:
		return false
	}
	return len(f.Objects) > 0 && slices.ContainsFunc(f.Keys, func(key string) bool {
		by, _ := v.servedBy(of, c, *c.Part(key))
		for _, o := range of.Written.Of(v.group) {
			if slices.Contains(o.Near, c.Name()) && o.StandsFor(c, *c.Part(key)) {
				by = append(by, o)
			}
		}
		return slices.ContainsFunc(by, func(o observed.Object) bool { return !slices.Contains(kinds.ClaimLike, o.Kind) && !f.has(o) })
	})
}

// differs reports whether an allocation is neither as it was seen nor as it stays.
func (v view) differs(f Fix, c *state.Claim, key string) bool {
	was, is := f.Claim.Part(key), v.own(c, key)
	if f.Stay == Followed {
		return was == nil || is == nil && (c.Part(key) == nil || !c.Part(key).Same(*was))
	}
	return was == nil || is == nil || !is.Same(*was) && (f.Stay == GivenUp || !is.Same(f.becomes(*was)))
}

// has reports whether an object is one of those that go.
func (f Fix) has(o observed.Object) bool {
	return slices.ContainsFunc(f.Objects, func(x observed.Object) bool { return x.UID() == o.UID() })
}

// isServed reports whether something of the group, or of that of an object which declares something for Akash's programs, serves that, or a
// command is at work on it. A ProviderHost declares the root of its host alone.
func (v view) isServed(of *observed.Snapshot, declared observed.Object) bool {
	isOf := func(has func(lease.Group) bool) bool { return has(v.group) || has(declared.Group) }
	marked := func(g observed.Ground) bool {
		p := g.Claim.Part(g.Served.Key)
		return p != nil && p.Run != "" && isOf(func(g lease.Group) bool { return g == p.Lease.Group() })
	}
	port := state.PortObjectOf(declared.Live)
	if slices.ContainsFunc(observed.GroundsIn(declared, v.w.claimsOfEndpoint(port.SharingKey), v.w.Claim), marked) {
		return true
	}
	if declared.Kind == kinds.ProviderHost {
		return slices.ContainsFunc(of.HostUses.At(declared.Live.GetName()), func(u state.Use) bool {
			return isOf(u.Of) && u.Kind != declared.Kind.Singular && !u.Redirect && state.RouteKey(u.Path) == state.RouteKey("/")
		})
	}
	for o := range of.Of(kinds.Service) {
		if is := state.ServiceObjectOf(o); isOf(is.Of) && is.SharingKey == port.SharingKey && is.Protocol == port.Protocol && is.Port == port.Port {
			return true
		}
	}
	return false
}

// sameVersion reports whether two readings show the same version of an object. One that is being deleted counts as gone.
func sameVersion(a, b *unstructured.Unstructured) bool {
	gone := func(o *unstructured.Unstructured) bool { return o == nil || isDeleting(o) }
	if gone(a) || gone(b) {
		return gone(a) && gone(b)
	}
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// objectsOf returns the objects that go for a fix, as they are now.
func (v view) objectsOf(f Fix) (out []observed.Object) {
	of := v.reading().is
	if f.Rest == "" {
		return slices.DeleteFunc(slices.Clone(of.Written.Of(v.group)), func(o observed.Object) bool { return !f.has(o) })
	}
	for _, o := range f.Objects {
		now := v.now(f, o)
		switch {
		case now == nil || now.GetUID() != o.UID():
		case f.Rest == Unchanged && !SameRoute(now, o.Live), f.Rest != Unchanged && !sameVersion(now, o.Live):
		case f.Rest == Unentitled && o.Record() == "" && o.IsEntitled(v.w.claimsOf(o.Group), v.w.Claim):
		default:
			o.Live, o.Stays = now, f.Rest != Unchanged && of.Stays(o.Kind, now)
			out = append(out, o)
		}
	}
	return out
}

// now returns an object of a fix as it was seen last. What others wrote is not among what the owner has.
func (v view) now(f Fix, o observed.Object) *unstructured.Unstructured {
	k, of := keyOf(o), v.reading()
	if s := v.w.live(k); f.Rest == Unchanged || s.sent > of.sent {
		return s.live
	}
	return of.is.At(k.Kind, k.Namespace, k.Name)
}

// underneath returns what is read before each write of a fix, because Akash's programs take no lock: the namespaces of the lease and of the
// objects, which do not exist; or what Akash's programs declare.
func (v view) underneath(f Fix) (out []Key) {
	switch {
	case f.Gone != "":
		out = []Key{{Kind: kinds.Namespace, Name: f.Gone}}
		for _, o := range v.objectsOf(f) {
			if k := (Key{Kind: kinds.Namespace, Name: o.Lease.Namespace()}); !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	default:
		for _, d := range f.Declares {
			out = append(out, d.Key)
		}
	}
	return out
}

// readGone reads in the command's turn whether what fixes rest on is still so, as far as objects say it.
func (v view) readGone() (out Step) {
	for _, f := range v.fixes() {
		if v.isFixed(f) || v.refusal(f) != nil {
			continue
		}
		if f.isRead() && v.reading().sent <= v.w.Turn.Alone {
			return v.readOwner(v.w.Turn.Alone, "whether anything serves it by now")
		}
		after := max(v.w.Turn.Alone, v.changed())
		if f.Claim != nil { // what is written of it rests on that as well
			after = max(after, v.w.see(f.Claim.Name()).Read)
		}
		for _, k := range v.underneath(f) {
			asks := func(r Request) bool { return r.On == k }
			if now, read := v.w.lives[k]; (!read || now.sent <= after) && !slices.ContainsFunc(out.Requests, asks) {
				why := "what Akash's programs say now"
				if k.Kind == kinds.Namespace {
					why = "whether it is still gone"
				}
				out.Requests = append(out.Requests, Request{Verb: GetLive, On: k, Why: why})
			}
		}
	}
	return out
}

// isRead reports whether a fix rests on everything that the owner has.
func (f Fix) isRead() bool {
	return f.Gone == "" && f.Rest != Unchanged && slices.ContainsFunc(f.Objects, func(o observed.Object) bool { return o.Record() == "" })
}

// keepFixed writes the allocations that stay, before the objects go, unless another fix gives them up.
func (v view) keepFixed() Step {
	for _, f := range v.fixes() {
		if f.Claim == nil || f.Stay == GivenUp || v.isUnfounded(f) || len(v.objectsOf(f)) < len(f.Objects) {
			continue
		}
		c := v.w.Claim(f.Claim.Name())
		gives := func(p state.Part) bool { return slices.Contains(f.Keys, p.Key) && v.givesAllocation(c, p) }
		if slices.ContainsFunc(c.PartsOf(v.group), gives) {
			continue
		}
		on, r := OfClaim{Group: v.group, Parts: slices.Clone(c.Entries(v.group))}, Request{Why: string(f.Stay)}
		for i, p := range on.Parts {
			if f.isOf(c, p.Key) && f.Stay != Followed {
				on.Parts[i] = f.becomes(p)
			}
		}
		from, parts := v.followed(f, c)
		if f.Stay == Followed {
			on.Force, on.Parts = true, beside(c, v.group, parts)
		}
		s := allocate(c, on, r)
		if s.idle() && f.Stay == Followed && v.t.Settings.Waits && slices.Contains(c.Former, from) {
			s = do(Request{Verb: Put, On: OfClaim{Name: c.Name(), Claim: c, Group: from}, Why: "it holds nothing of it any more"})
		}
		if s = v.rewrite(c, s, on.Parts); !s.idle() {
			return s
		}
	}
	return Step{}
}

// followed returns the allocations of a claim as they are for the lease to which Akash's provider has moved them, and the deployment group that
// held them; none if it has not, or to several. What a command that has crashed has taken is left to it.
func (v view) followed(f Fix, c *state.Claim) (from lease.Group, parts []state.Part) {
	var to lease.ID
	for i, d := range f.Declares {
		live, was, p := v.w.live(d.Key).live, f.Claim.Part(f.Keys[i]), c.Part(f.Keys[i])
		if was != nil && p != nil && p.Lease.Group() == v.group {
			from, parts = was.Lease.Group(), append(parts, *p)
			continue
		}
		if live == nil || d.Seen == nil || live.GetUID() != d.Seen.GetUID() || p == nil || p.Run != "" || c.Kind == state.Wildcard && !p.Bound {
			return from, nil
		}
		whose, now := v.w.Snapshot.Ownership(live), *p
		if to = cmp.Or(to, whose.Lease); !whose.Takes(*p) || whose.Lease != to || to.Group() != v.group {
			return from, nil
		}
		now.From = ""
		from, now.From = p.Lease.Group(), v.formerOf(c, now)
		now.Service, now.Port = state.DeclaredBackend(live)
		now.Lease, now.HTTP, now.Definition, now.Applied, now.Expires = to, nil, "", true, ""
		parts = append(parts, now)
	}
	return from, parts
}

// goingFor returns the objects that go for a fix by now: all that stays of its claim has been written.
func (v view) goingFor(f Fix) []observed.Object {
	if v.isUnfounded(f) || f.Stay != GivenUp && !v.isAllocated(f) {
		return nil
	}
	return v.objectsOf(f)
}

// givesAllocation reports whether a fix gives up an allocation.
func (v view) givesAllocation(c *state.Claim, p state.Part) bool {
	return slices.ContainsFunc(v.fixes(), func(f Fix) bool { return f.Stay == GivenUp && f.isOf(c, p.Key) && !v.isUnfounded(f) })
}

// restsOnObjects reports whether entries of a claim are given up because of what objects, or namespaces, are there.
func (v view) restsOnObjects(c *state.Claim) bool {
	return v.fixes() == nil || slices.ContainsFunc(v.fixes(), func(f Fix) bool { return f.Claim != nil && f.Claim.Name() == c.Name() && (f.isRead() || f.Gone != "") })
}

// isAllocated reports whether allocations are given up, or as they stay.
func (v view) isAllocated(f Fix) bool {
	if f.Claim == nil {
		return true
	}
	c := v.w.Claim(f.Claim.Name())
	if c != nil && c.UID != f.Claim.UID { // somebody else has given it up
		return false
	}
	if f.Stay == Followed {
		from, parts := v.followed(f, c)
		return !slices.ContainsFunc(f.Keys, func(key string) bool { return v.own(c, key) == nil }) && parts != nil && (!v.t.Settings.Waits || !slices.Contains(c.Former, from))
	}
	return !slices.ContainsFunc(f.Keys, func(key string) bool {
		own := v.own(c, key)
		return (own != nil) != (f.Stay != GivenUp) || own != nil && !own.Same(f.becomes(*f.Claim.Part(key)))
	})
}

// isFixed reports whether a fix is done. Objects of allocations that are given up are gone by then.
func (v view) isFixed(f Fix) bool {
	return v.isAllocated(f) && (f.Rest == "" || !slices.ContainsFunc(f.Objects, func(o observed.Object) bool {
		now := v.now(f, o)
		return v.f.objects[o.UID()].deleted == 0 && now != nil && now.GetUID() == o.UID()
	}))
}

// fixed returns, in the order of the fixes, why each was not done; nil for one that was.
func (v view) fixed() (out []error) {
	for _, f := range v.fixes() {
		changed := func(o observed.Object) bool { return f.Rest == Unchanged && !SameRoute(v.now(f, o), o.Live) }
		switch i := slices.IndexFunc(f.Objects, changed); {
		case v.isFixed(f):
			out = append(out, nil)
		case v.refusal(f) != nil:
			out = append(out, v.refusal(f))
		case i >= 0:
			out = append(out, fmt.Errorf("%s was changed meanwhile; it stays, and its host is to be looked at again", f.Objects[i]))
		default:
			out = append(out, report.ErrChanged)
		}
	}
	return out
}

// given returns the claims of fixes as they were seen last, by name.
func (v view) given() map[string]*state.Claim {
	out := map[string]*state.Claim{}
	for _, f := range v.fixes() {
		if f.Claim != nil {
			out[f.Claim.Name()] = v.w.Claim(f.Claim.Name())
		}
	}
	return out
}
