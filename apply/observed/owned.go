package observed

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// ClaimsNear returns the names of the claims that an object may serve.
func (s *Snapshot) ClaimsNear(o Owned) []string {
	switch {
	case o.Kind == kinds.ProviderLeasedIP:
		var names []string
		for _, c := range s.ClaimsOfPort(o) {
			names = append(names, c.Name())
		}
		return names
	case slices.Contains(kinds.Filters, o.Kind) || slices.Contains(kinds.Policies, o.Kind):
		if host, _, _ := lease.ParseRouteName(o.Live.GetName()); s.Claim(state.HostName(host)) != nil {
			return []string{state.HostName(host)}
		}
		return s.ByClaim().former[o.Group] // one named after a Service stays until the last route is deleted
	}
	return claimsUnder(o)
}

// Owned is an object of a lease that this program wrote.
type Owned struct {
	Kind  kinds.Kind
	Live  *unstructured.Unstructured
	Group lease.Group
}

// RecordOf returns the host of a DNS record, or "" for any other object.
func (o Owned) RecordOf() string {
	if !slices.Contains(kinds.Records, o.Kind) {
		return ""
	}
	return view.RecordHost(o.Live)
}

// claimsUnder returns the names of the claims that a route, a Service, a declaration of Akash's or a DNS record depends on,
// each once.
func claimsUnder(o Owned) []string {
	if o.Kind == kinds.ProviderLeasedIP {
		return []string{state.EndpointName(state.PortObjectOf(o.Live).SharingKey)}
	}
	if host := o.RecordOf(); host != "" {
		return []string{state.HostName(host)}
	}
	var names []string
	uses := state.HostUses(o.Live)
	if o.Kind == kinds.Service {
		uses = state.AddressUses(o.Live)
		if key := state.ServiceObjectOf(o.Live).SharingKey; key != "" {
			names = append(names, state.EndpointName(key))
		}
	}
	for _, u := range uses {
		name := state.HostName(u.Host)
		if u.Address.IsValid() {
			name = state.AddressName(u.Address)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Under returns the names of the claims on which the objects that this program wrote for a deployment group depend, whether
// such claims exist or not.
func (s *Snapshot) Under(group lease.Group) (names []string) {
	for _, o := range s.Written[group] {
		names = append(names, claimsUnder(o)...)
	}
	return names
}

// ManagerOf returns the field manager for an object of a deployment group. Akash's claim-like objects are written by
// the claimant, so that a second claimant's write conflicts instead of overwriting.
func ManagerOf(kind kinds.Kind, group lease.Group) string {
	if slices.Contains(kinds.ClaimLike, kind) {
		return group.FieldManager()
	}
	return lease.FieldManager
}
