package observed

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// objectKey identifies an object by its kind's plural and its NAMESPACE/NAME.
type objectKey struct{ plural, name string }

func keyOf(kind kinds.Kind, namespace, name string) objectKey {
	return objectKey{kind.Plural, namespace + "/" + name}
}

// objectList is what a LIST of one kind has answered, by the keys of the objects.
type objectList []*listed.Object

// sortObjects sorts objects by their keys: the answer to a LIST is sorted already.
func sortObjects(list []*listed.Object) {
	byKey := func(a, b *listed.Object) int { return cmp.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(list, byKey) {
		slices.SortStableFunc(list, byKey)
	}
}

// find returns the object with a key, or nil.
func (l objectList) find(key string) *listed.Object {
	i, found := slices.BinarySearchFunc(l, key, func(o *listed.Object, key string) int { return cmp.Compare(o.Key, key) })
	if !found {
		return nil
	}
	return l[i]
}

// Find returns the live object with the rendered object's name, or nil.
func (s *Snapshot) Find(o render.Object) *unstructured.Unstructured {
	return s.At(o.Kind, o.Namespace, o.Name)
}

// At returns an object as it was read, or nil.
func (s *Snapshot) At(kind kinds.Kind, namespace, name string) *unstructured.Unstructured {
	key := keyOf(kind, namespace, name)
	o, again := s.again[key]
	if !again {
		o = s.lists[key.plural].find(key.name)
	}
	if o == nil {
		return nil
	}
	return o.Whole()
}

// Of returns the objects of a kind as they were read, by namespace and name.
func (s *Snapshot) Of(kind kinds.Kind) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		for o := range s.objects(kind) {
			if !yield(o.Look()) {
				return
			}
		}
	}
}

func (s *Snapshot) objects(kind kinds.Kind) iter.Seq[*listed.Object] {
	return func(yield func(*listed.Object) bool) {
		list := s.lists[kind.Plural]
		for _, o := range list {
			if now, again := s.again[objectKey{kind.Plural, o.Key}]; again {
				o = now
			}
			if !o.IsGone() && !yield(o) {
				return
			}
		}
		var made []*listed.Object // since the LIST
		for key, o := range s.again {
			if key.plural == kind.Plural && !o.IsGone() && list.find(key.name) == nil {
				made = append(made, o)
			}
		}
		sortObjects(made)
		for _, o := range made {
			if !yield(o) {
				return
			}
		}
	}
}

// HasRead reports whether the objects of a kind were listed.
func (s *Snapshot) HasRead(kind kinds.Kind) bool {
	_, read := s.lists[kind.Plural]
	return read
}

// Index has objects of leases by what they are asked for.
type Index[K comparable] map[K][]*indexed

// indexed is an object of a kind and a deployment group. What the snapshot says of it is found when somebody asks.
type indexed struct {
	in     *Snapshot
	kind   *kinds.Kind
	object *listed.Object
	group  lease.Group
	found  atomic.Pointer[Object]
}

func (one *indexed) is() Object {
	if one.found.Load() == nil {
		o := one.in.object(*one.kind, one.object.Whole(), one.group)
		one.found.CompareAndSwap(nil, &o)
	}
	return *one.found.Load()
}

// Of returns the objects of a key.
func (x Index[K]) Of(key K) []Object {
	out := make([]Object, len(x[key]))
	for i, one := range x[key] {
		out[i] = one.is()
	}
	return out
}

// said is what an object says by itself, whatever else there is.
type said struct {
	// uses are the hosts or the addresses that it uses.
	uses []state.Use
	// under are the claims that it depends on.
	under []string
	// whose is the ownership of an object of a lease in a namespace of a tenant.
	whose  state.Ownership
	tenant lease.ID
	// namespace is that of the object, name its name behind that.
	namespace, name string
	// running is true for a Service of a workload.
	running bool
}

// says returns what an object of a kind says by itself.
func (s *Snapshot) says(kind kinds.Kind, o *unstructured.Unstructured) *said {
	read := func() *said {
		out := &said{namespace: o.GetNamespace(), under: claimsUnder(Object{Kind: kind, Live: o})}
		out.name, out.tenant = out.namespace+"/"+o.GetName(), s.Tenants[out.namespace]
		out.whose = state.OwnershipOf(o, out.tenant)
		if kind == kinds.Service {
			out.uses, out.running = state.ServiceUses(o), state.IsWorkloadService(o)
		} else {
			out.uses = state.HostUses(o)
		}
		return out
	}
	if before := listed.Recall(s.Memory, o, read); before.tenant == s.Tenants[before.namespace] {
		return before
	}
	return read() // the namespace has got another lease since
}

// tell sorts objects by their keys, and returns what those say that had none: whoever reads the same again remembers their keys with it.
func (s *Snapshot) tell(kind kinds.Kind, list []*listed.Object) map[*listed.Object]*said {
	told := make(map[*listed.Object]*said)
	for _, object := range list {
		if object.Key == "" {
			told[object] = s.says(kind, object.Look())
			object.Key = told[object].name
		}
	}
	sortObjects(list)
	return told
}

// Index records who owns the objects, by the plurals of their kinds, and what they use.
func (s *Snapshot) Index(claims []*state.Claim, lists map[string][]*listed.Object) {
	var addressUses []state.Use
	order := slices.Concat(kinds.Records, kinds.OfLease) // that in which they are deleted
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(lists)), func(plural string) bool {
		return slices.ContainsFunc(order, func(k kinds.Kind) bool { return k.Plural == plural })
	})
	for _, plural := range rest {
		order = append(order, kinds.Kind{Plural: plural})
	}
	for _, kind := range order {
		list, read := lists[kind.Plural]
		if !read {
			continue
		}
		plural := kind.Plural
		if kind.Kind == "" && len(list) > 0 {
			kind = kinds.Of(list[0].Look().GetKind())
		}
		told := s.tell(kind, list)
		s.lists[plural] = list
		for _, object := range list {
			o, says := object.Look(), told[object]
			if says == nil {
				says = s.says(kind, o)
			}
			switch kind {
			case kinds.ProviderLeasedIP:
				port := state.PortObjectOf(o)
				s.Ports[o.GetName()] = port
				s.portsOf[port.SharingKey] = append(s.portsOf[port.SharingKey], port)
			case kinds.Service:
				for _, u := range says.uses {
					u = s.OfNamespace(u)
					addressUses = append(addressUses, u)
					s.AddressUses[u.Address] = append(s.AddressUses[u.Address], u)
				}
			default:
				for _, u := range s.hostUses(says, o) { // a DNS record has none: it gives no right to a host
					s.HostUses[u.Host] = append(s.HostUses[u.Host], s.OfNamespace(u))
				}
			}
			if !says.running && !slices.Contains(rest, kind.Plural) {
				s.indexOwned(&indexed{in: s, kind: &kind, object: object, group: says.whose.Lease.Group()}, says, o)
			}
		}
	}
	for _, uses := range s.HostUses { // of two uses the first is named
		slices.SortStableFunc(uses, func(a, b state.Use) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	s.Addresses = state.NewAddresses(claims, append(addressUses, s.NodeUses...))
}

// hostUses returns the hosts that an object uses. A route of somebody else that is attached to Gateways uses what their listeners serve.
func (s *Snapshot) hostUses(says *said, o *unstructured.Unstructured) []state.Use {
	if s.Gateways == nil || says.whose.Ours {
		return says.uses
	}
	return state.GatewayUses(o, s.Gateways, s.Labels[o.GetNamespace()])
}

// OfNamespace adds the lease of the object's namespace to a use whose own labels name none, or one of another owner.
func (s *Snapshot) OfNamespace(u state.Use) state.Use {
	if id, ok := s.Tenants[u.Namespace]; ok && (!u.HasLease || u.Lease.Owner != id.Owner) {
		u.Lease, u.HasLease, u.Labelled = id, true, false
	}
	return u
}

// indexOwned records an object of a lease that this program, or Akash's provider or an operator wrote.
func (s *Snapshot) indexOwned(one *indexed, says *said, o *unstructured.Unstructured) {
	whose, kind, group := says.whose, *one.kind, one.group
	serves, shared := slices.Contains(kinds.ServingKinds, kind), whose.Shared && whose.HasLease
	if shared {
		s.Shared[group] = append(s.Shared[group], one)
	}
	switch {
	case whose.Ours:
		s.Written[group] = append(s.Written[group], one)
	case shared && serves:
		s.Theirs[group] = append(s.Theirs[group], one)
	}
	if !whose.Ours && !shared || !serves && !slices.Contains(kinds.Records, kind) && !slices.Contains(kinds.ClaimLike, kind) {
		return
	}
	for _, name := range says.under {
		s.using[name] = append(s.using[name], one)
	}
	if host := (Object{Kind: kind, Live: o}).Record(); host != "" && whose.Ours {
		s.Records[host] = append(s.Records[host], one)
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
