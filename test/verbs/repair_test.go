package verbs

import "testing"

// Two ports of an address that nobody claims are both claimed again.
func TestRepairClaimsAllPorts(t *testing.T) {
	config := configure(t, "ip: {ranges: ["+newNet()+"0/29]}")
	id := leaseOf(newOwner(), 1)
	net(t, 0, "apply", "--config", config, "-f", define(t, id, leased("game", "public", 7001), leased("chat", "public", 7002)))
	address := addressOf(t, id.Owner)
	remove(t, claims, ledger, claimOf(address))
	run(t.Context(), "repair", "--crashed-after", "0s", "--config", config)
	held(t, claimOf(address), "1 7001/tcp", "1 7002/tcp")
}

// The route that a transfer has left goes with the new lease's apply, also when the old lease has
// another path of the host by then.
func TestLeftRouteGoesBesideAnotherPath(t *testing.T) {
	t.Parallel()
	host, owner := "shop."+newDomain(), newOwner()
	old, next := leaseOf(owner, 1), leaseOf(owner, 2)
	net(t, 0, "apply", "-f", define(t, old, web("web", 8080, host)))
	net(t, 0, "transfer", host, "--to", next.String())
	net(t, 0, "reserve", "--lease", old.String(), host+"/v1", "--prune=false")
	need(t, ingresses, old.Namespace(), host) // it serves until the new lease is applied
	net(t, 0, "apply", "-f", define(t, next, web("web", 8080, host)))
	need(t, ingresses, next.Namespace(), host)
	if find(t, ingresses, old.Namespace(), host) != nil {
		t.Error("two routes serve the host")
	}
	held(t, host, "1 /v1", "2 /")
}
