package apply

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// choice selects what of a lease is released.
type choice struct {
	all    bool
	things map[string]bool
}

func newChoice(things []string) choice {
	c := choice{all: len(things) == 0, things: map[string]bool{}}
	for _, thing := range things {
		if a, err := netip.ParseAddr(thing); err == nil {
			thing = a.String()
		}
		c.things[strings.ToLower(thing)] = true
	}
	return c
}

// claim reports whether a claim is selected.
func (c choice) claim(claim *state.Claim) bool {
	return c.all || c.things[claim.Thing] || claim.Kind.HasPorts() && c.endpoint(claim)
}

// endpoint reports whether the claim's IP endpoint is selected: as "endpoint/NAME", by its name alone, or by its
// sharing key, as it is printed.
func (c choice) endpoint(claim *state.Claim) bool {
	if c.things[claim.SharingKey] || c.things["endpoint/"+claim.SharingKey] {
		return true
	}
	name, ok := strings.CutPrefix(claim.SharingKey, claim.Owner+"-ip-")
	return ok && (c.things[name] || c.things["endpoint/"+name])
}

// object reports whether an object serves what is selected. A ProviderLeasedIP does if its endpoint has a selected
// address.
func (c choice) object(o observed.Owned, s *observed.Snapshot) bool {
	if c.all {
		return true
	}
	if o.Kind == kinds.ProviderLeasedIP {
		return slices.ContainsFunc(s.ClaimsOfPort(o), c.claim)
	}
	if o.Kind == kinds.Service && slices.ContainsFunc(s.List(), func(claim *state.Claim) bool {
		return claim.Kind == state.Endpoint && c.claim(claim) && claim.SharingKey == state.ServiceObjectOf(o.Live).SharingKey
	}) {
		return true
	}
	if host := o.RecordOf(); host != "" {
		return c.things[host]
	}
	uses := append(state.HostUses(o.Live), state.AddressUses(o.Live)...)
	return slices.ContainsFunc(uses, func(u state.Use) bool {
		if !u.Address.IsValid() {
			return c.things[u.Host]
		}
		claim := s.Claim(state.AddressName(u.Address))
		return claim != nil && c.claim(claim)
	})
}

// grantedTo returns the selected addresses that MetalLB has chosen for endpoints of the deployment group, with the
// endpoints' claims. Such an address has no claim: only the endpoint can be released.
func (c choice) grantedTo(g lease.Group, s *observed.Snapshot) map[string]*state.Claim {
	granted := map[string]*state.Claim{}
	for thing := range c.things {
		a, err := netip.ParseAddr(thing)
		if claim := s.EndpointWith(a); err == nil && claim != nil && len(claim.PartsOf(g)) > 0 && !c.claim(claim) {
			granted[thing] = claim
		}
	}
	return granted
}
