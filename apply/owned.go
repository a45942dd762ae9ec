package apply

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// claimsNear are the names of the claims that an object may stand for.
func (s *snapshot) claimsNear(o owned) []string {
	switch {
	case o.kind == kinds.ProviderLeasedIP:
		var names []string
		for _, c := range s.claimsOfPort(o) {
			names = append(names, c.Name())
		}
		return names
	case slices.Contains(kinds.Filters, o.kind) || slices.Contains(kinds.Policies, o.kind):
		if host, _, _ := lease.ParseRouteName(o.live.GetName()); s.claims[state.HostName(host)] != nil {
			return []string{state.HostName(host)}
		}
		return s.byClaim().former[o.group] // one that is named after a Service goes with the last route
	}
	return claimsUnder(o)
}

// madeFrom is the kind of which an operator makes objects of another.
func madeFrom(kind kinds.Kind) kinds.Kind {
	if kind == kinds.Service {
		return kinds.ProviderLeasedIP
	}
	return kinds.ProviderHost
}

// servesPart is true for a route of the path of a host, and for a Service of the port of an endpoint, that
// a part stands for.
func (o owned) servesPart(c *state.Claim, p state.Part) bool {
	if o.kind == kinds.Service {
		port := state.ServiceObjectOf(o.live)
		return port.SharingKey == c.SharingKey && state.PortKey(port.Protocol, port.Port) == p.Key
	}
	return slices.ContainsFunc(state.HostUses(o.live), func(u state.Use) bool {
		return state.HostName(u.Host) == c.Name() && state.RouteKey(u.Path) == p.Key
	})
}

// owned is an object of a lease that this program wrote.
type owned struct {
	kind  kinds.Kind
	live  *unstructured.Unstructured
	group lease.Group
}

// recordOf is the host of a DNS record, and empty for any other object.
func (o owned) recordOf() string {
	if !slices.Contains(kinds.Records, o.kind) {
		return ""
	}
	return view.RecordHost(o.live)
}

// claimsUnder are the names of the claims that a route, a Service or a DNS record rests on, each
// once.
func claimsUnder(o owned) []string {
	if host := o.recordOf(); host != "" {
		return []string{state.HostName(host)}
	}
	var names []string
	uses := state.HostUses(o.live)
	if o.kind == kinds.Service {
		uses = state.AddressUses(o.live)
	}
	if o.kind == kinds.Service {
		if key := state.ServiceObjectOf(o.live).SharingKey; key != "" {
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

// managerOf is the field manager of an object of a deployment group: Akash's claim-like objects are
// written by the claimant, so that a second claimant's write is a conflict and not a silent overwrite.
func managerOf(kind kinds.Kind, group lease.Group) string {
	if slices.Contains(kinds.ClaimLike, kind) {
		return group.FieldManager()
	}
	return lease.FieldManager
}
