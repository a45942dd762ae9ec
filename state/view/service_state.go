package view

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state"
)

// serviceState returns the state of an address that is claimed for a Service's port, and the reason. The state is "" if
// the Service is for the other family.
func serviceState(s *state.ServiceObject, a netip.Addr) (state, message string) {
	other := func(b netip.Addr) bool { return b.BitLen() == a.BitLen() && b != a }
	sameFamily := func(b netip.Addr) bool { return b.BitLen() == a.BitLen() }
	if slices.Contains(s.Granted, a) {
		return StateActive, ""
	}
	if len(s.Asked) > 0 && !slices.ContainsFunc(s.Asked, sameFamily) {
		return "", ""
	}
	if i := slices.IndexFunc(s.Granted, other); i >= 0 {
		return StatePending, fmt.Sprintf("MetalLB granted %s instead", s.Granted[i])
	}
	if i := slices.IndexFunc(s.Asked, other); i >= 0 && !slices.Contains(s.Asked, a) {
		return StatePending, fmt.Sprintf("service %s/%s asks for %s", s.Namespace, s.Name, s.Asked[i])
	}
	return StatePending, ""
}
