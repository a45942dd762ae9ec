package observed

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/layered"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Index has objects of leases by what they are asked for.
type Index[K comparable] struct {
	in *Snapshot
	by layered.Lists[K, *indexed]
}

// indexed is an object of a kind and a deployment group.
type indexed struct {
	kind   *kinds.Kind
	object *listed.Object
	group  lease.Group
}

// compare compares objects by the order in which their kinds are deleted, and by their keys.
func (one *indexed) compare(other *indexed) int {
	return cmp.Or(cmp.Compare(rankOf(one.kind.Plural), rankOf(other.kind.Plural)), cmp.Compare(one.object.Key, other.object.Key))
}

// Of returns the objects of a key.
func (x Index[K]) Of(key K) []Object {
	all := x.by.At(key)
	out := make([]Object, len(all))
	for i, one := range all {
		out[i] = x.in.found.is(x.in, one)
	}
	return out
}

// Has reports whether there is an object of a key.
func (x Index[K]) Has(key K) bool { return x.by.Has(key) }

// Keys returns all keys, in no order.
func (x Index[K]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		for key := range x.by.All() {
			if !yield(key) {
				return
			}
		}
	}
}

// share returns the index as it is, for a snapshot that says what the objects are.
func (x *Index[K]) share() Index[K] { return Index[K]{by: x.by.Share()} }

// memo has what a snapshot says of indexed objects.
type memo map[*indexed]Object

// found is a memo for the work on many leases. What the snapshot says of an object is found when somebody asks.
type found struct {
	mu sync.RWMutex
	of memo
}

func (f *found) is(s *Snapshot, one *indexed) Object {
	f.mu.RLock()
	o, known := f.of[one]
	f.mu.RUnlock()
	if !known {
		o = s.object(*one.kind, one.object.Whole(), one.group)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.of[one] = o
	}
	return o
}

// Index adds objects by the plurals of their kinds: who owns them, and what they use. Whose the namespaces are has to be known.
func (s *Snapshot) Index(lists map[string][]*listed.Object) {
	for _, plural := range inOrder(lists) {
		objects := lists[plural]
		for _, o := range objects {
			if o.Key == "" {
				whole := o.Look()
				o.Key = whole.GetNamespace() + "/" + whole.GetName()
			}
		}
		sortObjects(objects)
		s.lists[plural] = list{sorted: objects}
		for _, o := range objects {
			s.index(plural, o, true)
		}
	}
}

// put puts an object in the place of the one with a key; nil for none.
func (s *Snapshot) put(plural, key string, now *listed.Object) {
	l := s.lists[plural]
	if was := l.find(key); was != nil {
		s.index(plural, was, false)
	}
	l.put(key, now)
	if s.lists[plural] = l; now != nil {
		s.index(plural, now, true)
	}
}

// index adds an object to what it is found by, or removes it.
func (s *Snapshot) index(plural string, object *listed.Object, there bool) {
	o := object.Look()
	kind := kindOf(plural, o)
	whose := s.Ownership(o)
	switch *kind {
	case kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o)
		s.ports.Set(o.GetName(), port, comparePorts, there)
		s.portsOf.Set(port.SharingKey, port, comparePorts, there)
	case kinds.Service:
		for _, u := range state.ServiceUses(o) {
			s.Addresses.Use(s.OfNamespace(u), there)
		}
	default:
		for _, u := range s.hostUses(whose, o) { // a DNS record has none: it gives no right to a host
			s.HostUses.Set(u.Host, s.OfNamespace(u), state.Use.Compare, there)
		}
	}
	if running := *kind == kinds.Service && state.IsWorkloadService(o); !running && ranks[plural] > 0 {
		s.indexOwned(&indexed{kind, object, whose.Lease.Group()}, whose, o, there)
	}
}

// comparePorts compares ProviderLeasedIPs by their keys.
func comparePorts(a, b state.PortObject) int {
	return cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
}

// hostUses returns the hosts that an object uses. A route of somebody else that is attached to Gateways uses what their listeners serve.
func (s *Snapshot) hostUses(whose state.Ownership, o *unstructured.Unstructured) []state.Use {
	if s.Gateways == nil || whose.Ours {
		return state.HostUses(o)
	}
	return state.GatewayUses(o, s.Gateways, s.namespaces.At(o.GetNamespace()).Labels)
}

// OfNamespace adds the lease of the object's namespace to a use whose own labels name none, or one of another owner.
func (s *Snapshot) OfNamespace(u state.Use) state.Use {
	if id, ok := s.Tenant(u.Namespace); ok && (!u.HasLease || u.Lease.Owner != id.Owner) {
		u.Lease, u.HasLease, u.Labelled = id, true, false
	}
	return u
}

// indexOwned adds an object of a lease that this program, or Akash's provider or an operator wrote, or removes it.
func (s *Snapshot) indexOwned(one *indexed, whose state.Ownership, o *unstructured.Unstructured, there bool) {
	kind, group := *one.kind, one.group
	of := func(x *Index[lease.Group]) { x.by.Set(group, one, (*indexed).compare, there) }
	shared := whose.Shared && whose.HasLease
	if shared {
		of(&s.Shared)
	}
	serves := slices.Contains(kinds.ServingKinds, kind)
	switch {
	case whose.Ours:
		of(&s.Written)
	case shared && serves:
		of(&s.Theirs)
	}
	if !whose.Ours && !shared || !serves && !slices.Contains(kinds.Records, kind) && !slices.Contains(kinds.ClaimLike, kind) {
		return
	}
	object := Object{Kind: kind, Live: o}
	for _, name := range claimsUnder(object) {
		s.using.by.Set(name, one, (*indexed).compare, there)
	}
	if host := object.Record(); host != "" && whose.Ours {
		s.Records.by.Set(host, one, (*indexed).compare, there)
	}
}

// WrittenByOthers returns how many objects of a deployment group a release leaves.
func (s *Snapshot) WrittenByOthers(group lease.Group) int { return s.byOthers()[group] }

// countOthers counts, for each deployment group, the objects that are labelled with it and that a release of it leaves.
func (s *Snapshot) countOthers() map[lease.Group]int {
	others := map[lease.Group]int{}
	for _, kind := range slices.Concat(kinds.Records, kinds.OfLease) {
		for o := range s.Of(kind) {
			whose := s.Ownership(o)
			if g := whose.Lease.Group(); whose.Labelled && (!whose.Ours || s.Stays(kind, o)) {
				others[g]++
			}
		}
	}
	return others
}
