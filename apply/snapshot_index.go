package apply

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

func (s *snapshot) index(claims []*state.Claim, lists map[string][]*unstructured.Unstructured) {
	var addressUses []state.Use
	for _, plural := range slices.Sorted(maps.Keys(lists)) { // what is printed of them has one order
		list := lists[plural]
		byName := make(map[string]*unstructured.Unstructured, len(list))
		for _, o := range list {
			byName[o.GetNamespace()+"/"+o.GetName()] = o
			if plural == kinds.ProviderLeasedIP.Plural {
				s.ports[o.GetName()] = state.PortObjectOf(o)
				continue
			}
			if plural == kinds.Service.Plural {
				for _, u := range state.ServiceUses(o) {
					addressUses = append(addressUses, u)
					s.addressUses[u.Address] = append(s.addressUses[u.Address], s.ofNamespace(u))
				}
				continue
			}
			for _, u := range state.HostUses(o) { // a DNS record uses none: it gives no right to a host
				s.hostUses[u.Host] = append(s.hostUses[u.Host], s.ofNamespace(u))
			}
		}
		s.live[plural] = byName
	}
	s.indexWritten()
	s.addresses = state.NewPicker(state.NewAddresses(claims, addressUses))
}

// ofNamespace is a use with the lease of its namespace, where its own labels name none.
func (s *snapshot) ofNamespace(u state.Use) state.Use {
	if id, ok := s.tenants[u.Namespace]; ok && !u.HasLease {
		u.Lease, u.HasLease = id, true
	}
	return u
}

// indexWritten finds what this program wrote.
func (s *snapshot) indexWritten() {
	for _, kind := range slices.Concat(kinds.Records, kinds.OfLease) {
		for _, name := range slices.Sorted(maps.Keys(s.live[kind.Plural])) {
			o := s.live[kind.Plural][name]
			whose := s.ownership(o)
			mine := owned{kind: kind, live: o, group: whose.Lease.Group()}
			if whose.Shared && whose.HasLease {
				s.shared[mine.group] = append(s.shared[mine.group], mine)
			}
			if !whose.Ours {
				if whose.Shared && whose.HasLease && slices.Contains(kinds.ServingKinds, kind) {
					s.theirs[mine.group] = append(s.theirs[mine.group], mine)
				}
				continue
			}
			s.written[mine.group] = append(s.written[mine.group], mine)
			if !slices.Contains(kinds.ServingKinds, kind) && !slices.Contains(kinds.Records, kind) {
				continue
			}
			if host := mine.recordOf(); host != "" {
				s.records[host] = append(s.records[host], mine)
			}
			for _, name := range claimsUnder(mine) {
				s.serving[name] = append(s.serving[name], mine)
			}
		}
	}
}

// find is the live object that stands under the rendered object's name, or nil.
func (s *snapshot) find(o render.Object) *unstructured.Unstructured {
	return s.live[o.Kind.Plural][o.Namespace+"/"+o.Name]
}
