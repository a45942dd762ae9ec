// Package claimtest makes claims for tests of the packages above state.
package claimtest

import (
	"net/netip"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Service returns the ServiceObject of statetest.Service.
func Service(id lease.ID, name, endpoint, protocol string, port int64, asked string, granted ...string) state.ServiceObject {
	return state.ServiceObjectOf(statetest.Service(id, name, endpoint, protocol, port, asked, granted...))
}

// HostClaim returns a lease's claim on a host, with the mark of a run unless it is empty.
func HostClaim(host string, id lease.ID, run string) *state.Claim {
	part := state.HostWant{Host: host, Service: "web", Port: 80}.Hold(id).Parts[0]
	part.Run = run
	return &state.Claim{Kind: state.Host, Thing: host, Owner: id.Owner, Created: statetest.Minute(1), Parts: []state.Part{part}}
}

// AddressClaim returns a lease's claim on an address for an endpoint.
func AddressClaim(address, endpoint string, id lease.ID, ports ...state.PortWant) *state.Claim {
	key := lease.SharingKey(id.Owner, endpoint)
	hold := state.EndpointWant{SharingKey: key, Ports: ports}.Hold(id, netip.MustParseAddr(address))
	return &state.Claim{
		Kind: state.Address, Thing: address, Owner: id.Owner, SharingKey: key, Created: statetest.Minute(1), Parts: hold.Parts,
	}
}

// HTTPS returns the port 443 of a lease's service web.
func HTTPS() state.PortWant {
	return state.PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web", Port: 8443}
}
