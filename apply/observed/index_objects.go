package observed

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// said is what an object says by itself, whatever else there is.
type said struct {
	// uses are the hosts or the addresses that it uses.
	uses []state.Use
	// under are the claims that it depends on.
	under []string
	// whose is the ownership of an object of a lease in a namespace of a tenant.
	whose  state.Ownership
	tenant lease.ID
	// running is true for a Service of a workload.
	running bool
}

// says returns what an object of a kind says by itself. While the objects are indexed, that of each is made once.
func (s *Snapshot) says(kind kinds.Kind, o *unstructured.Unstructured) *said {
	if s.told == nil {
		return s.tells(kind, o)
	}
	one, known := s.told[o]
	if !known {
		one = s.tells(kind, o)
		s.told[o] = one
	}
	return one
}

func (s *Snapshot) tells(kind kinds.Kind, o *unstructured.Unstructured) *said {
	tenant := s.Tenants[o.GetNamespace()]
	read := func() *said {
		out := &said{tenant: tenant, whose: state.OwnershipOf(o, tenant), under: claimsUnder(Owned{Kind: kind, Live: o})}
		if kind == kinds.Service {
			out.uses, out.running = state.ServiceUses(o), state.IsWorkloadService(o)
		} else {
			out.uses = state.HostUses(o)
		}
		return out
	}
	if before := cluster.Recall(s.memory, o, read); before.tenant == tenant {
		return before
	}
	return read() // the namespace has got another lease since
}

// Index records who owns the objects, and what they use.
func (s *Snapshot) Index(claims []*state.Claim, lists map[string][]*unstructured.Unstructured) {
	s.told = map[*unstructured.Unstructured]*said{}
	defer func() { s.told = nil }()
	var addressUses []state.Use
	for _, plural := range slices.Sorted(maps.Keys(lists)) { // sorted, as the objects are: of two uses the first is named
		list := newObjectList(lists[plural])
		s.lists[plural] = list
		var kind kinds.Kind
		if len(list.names) > 0 {
			kind = kinds.Of(lists[plural][0].GetKind())
		}
		for _, name := range list.names {
			o := list.byName[name]
			switch plural {
			case kinds.ProviderLeasedIP.Plural:
				port := state.PortObjectOf(o)
				s.Ports[o.GetName()] = port
				s.portsOf[port.SharingKey] = append(s.portsOf[port.SharingKey], port)
			case kinds.Service.Plural:
				for _, u := range s.says(kind, o).uses {
					u = s.OfNamespace(u)
					addressUses = append(addressUses, u)
					s.AddressUses[u.Address] = append(s.AddressUses[u.Address], u)
				}
			default:
				for _, u := range s.hostUses(kind, o) { // a DNS record has none: it gives no right to a host
					s.HostUses[u.Host] = append(s.HostUses[u.Host], s.OfNamespace(u))
				}
			}
		}
	}
	s.indexWritten()
	s.Addresses = state.NewAddresses(claims, append(addressUses, s.NodeUses...))
}

// hostUses returns the hosts that an object uses. A route of somebody else that is attached to Gateways uses what their listeners serve.
func (s *Snapshot) hostUses(kind kinds.Kind, o *unstructured.Unstructured) []state.Use {
	if says := s.says(kind, o); s.gateways == nil || says.whose.Ours {
		return says.uses
	}
	return state.GatewayUses(o, s.gateways)
}

// OfNamespace adds the lease of the object's namespace to a use whose own labels name none, or one of another owner.
func (s *Snapshot) OfNamespace(u state.Use) state.Use {
	if id, ok := s.Tenants[u.Namespace]; ok && (!u.HasLease || u.Lease.Owner != id.Owner) {
		u.Lease, u.HasLease, u.Labelled = id, true, false
	}
	return u
}

// indexWritten records the objects that this program wrote.
func (s *Snapshot) indexWritten() {
	for _, kind := range slices.Concat(kinds.Records, kinds.OfLease) {
		for o := range s.Of(kind) {
			says := s.says(kind, o)
			if says.running {
				continue
			}
			whose := says.whose
			mine := Owned{Kind: kind, Live: o, Group: whose.Lease.Group()}
			if whose.Shared && whose.HasLease {
				s.Shared[mine.Group] = append(s.Shared[mine.Group], mine)
			}
			if !whose.Ours {
				if whose.Shared && whose.HasLease && slices.Contains(kinds.ServingKinds, kind) {
					s.Theirs[mine.Group] = append(s.Theirs[mine.Group], mine)
				}
				continue
			}
			s.Written[mine.Group] = append(s.Written[mine.Group], mine)
			if !slices.Contains(kinds.ServingKinds, kind) && !slices.Contains(kinds.Records, kind) {
				continue
			}
			if host := mine.RecordOf(); host != "" {
				s.Records[host] = append(s.Records[host], mine)
			}
			for _, name := range says.under {
				s.Serving[name] = append(s.Serving[name], mine)
			}
		}
	}
}

// Find returns the live object with the rendered object's name, or nil.
func (s *Snapshot) Find(o render.Object) *unstructured.Unstructured {
	return s.At(o.Kind, o.Namespace, o.Name)
}
