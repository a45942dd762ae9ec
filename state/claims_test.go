package state

import (
	"net/netip"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

func bookHostClaim(host string, id lease.ID, run string) *Claim {
	part := HostWant{Host: host, Service: "web", Port: 80}.Hold(id).Parts[0]
	part.Run = run
	return &Claim{Kind: Host, Thing: host, Owner: id.Owner, Created: statetest.Minute(1), Parts: []Part{part}}
}

func bookAddressClaim(address, endpoint string, id lease.ID, ports ...PortWant) *Claim {
	key := lease.SharingKey(id.Owner, endpoint)
	hold := EndpointWant{SharingKey: key, Ports: ports}.Hold(id, netip.MustParseAddr(address))
	return &Claim{Kind: Address, Thing: address, Owner: id.Owner, SharingKey: key, Created: statetest.Minute(1), Parts: hold.Parts}
}

func bookHTTPS() PortWant {
	return PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web", Port: 8443}
}
