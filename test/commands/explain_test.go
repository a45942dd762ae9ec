package commands

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// explain answers what people ask of a provider.
func TestExplain(t *testing.T) {
	t.Parallel()
	t.Run("held, by whom and since when", func(t *testing.T) {
		host, id := "held."+newDomain(), leaseOf(newOwner(), 1)
		mustRun(t, 0, "reserve", "--lease", id.String(), host)
		since := need(t, claims, ledger, host).GetCreationTimestamp().UTC().Format("2006-01-02 15:04:05 UTC")
		mustRun(t, 0, "explain", host).Prints(t, host+" is held by "+id.Group().String(), "Claimed since "+since, "field manager "+id.Group().FieldManager(), "Not live", "no route serves it")
	})
	t.Run("free", func(t *testing.T) {
		host := "free." + newDomain()
		mustRun(t, 0, "explain", host).Prints(t, host+" is free", "reserve "+host)
	})
	t.Run("withheld, and by whom", func(t *testing.T) {
		host, owner := "shared."+newDomain(), newOwner()
		one, two := leaseOf(owner, 1), leaseOf(owner, 2)
		mustRun(t, 0, "apply", "-f", define(t, one, web("web", 80, host)))
		mustRun(t, 0, "apply", "-f", define(t, two, web("next", 80, host)))
		mustRun(t, 0, "explain", two.Group().String()).Prints(t, "1 withheld", host+": Withheld from lease "+two.String(), "held by deployment 1", "transfer "+host+" --to "+two.String())
		mustRun(t, 0, "explain", host).Prints(t, "Live: ingress in namespace "+one.Namespace())
	})
	t.Run("a backend that is missing", func(t *testing.T) {
		host, id := "empty."+newDomain(), leaseOf(newOwner(), 1)
		mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)))
		mustRun(t, 0, "explain", host).Prints(t, "Not answering: Service "+id.Namespace()+"/web", "does not exist")
	})
	t.Run("a hold that ends, and one that has ended", func(t *testing.T) {
		domain, id := newDomain(), leaseOf(newOwner(), 1)
		mustRun(t, 0, "reserve", "--lease", id.String(), "soon."+domain, "--expires", "1h")
		mustRun(t, 0, "explain", "soon."+domain).Prints(t, "Lease "+id.String()+" holds it until "+claim(t, "soon."+domain).Parts[0].Expires)
		passed := before(t, time.Minute)
		plant(t, state.HostWant{Host: "late." + domain}.Hold(id), func(p *state.Part) { p.Expires = passed })
		mustRun(t, 0, "explain", "late."+domain).Prints(t, "ended at "+passed, "whoever comes next may take it")
	})
	t.Run("a leftover without a claim", func(t *testing.T) {
		host, id := "left."+newDomain(), leaseOf(newOwner(), 1)
		mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)))
		remove(t, claims, ledger, host)
		mustRun(t, 0, "explain", host).Prints(t, host+" has no claim, but objects use it", "ingress "+id.Namespace()+"/"+host)
		mustRun(t, 0, "explain", id.Group().String()).Prints(t, host+": no claim; it is left over")
		mustRun(t, 0, "release", id.String())
	})
	t.Run("a run that has not ended", func(t *testing.T) {
		host, id := "marked."+newDomain(), leaseOf(newOwner(), 1)
		plant(t, state.HostWant{Host: host}.Hold(id), func(p *state.Part) { p.Run = "crashed" })
		mustRun(t, 0, "explain", host).Prints(t, "Run ", " of ann@laptop, begun ", ", has crashed (last renewed at ", "kubectl akash-net repair")
		mustRun(t, 0, "release", id.String())
	})
	t.Run("a wildcard above", func(t *testing.T) {
		domain, id := newDomain(), leaseOf(newOwner(), 1)
		mustRun(t, 0, "reserve", "--config", configure(t, "hosts: {wildcards: true}"), "--lease", id.String(), "*."+domain)
		mustRun(t, 0, "explain", "a."+domain).Prints(t, "*."+domain+" is held by "+id.Group().String()+" and covers it")
	})
	t.Run("one pending address among several", func(t *testing.T) {
		subnet, id := newNet(), leaseOf(newOwner(), 1)
		config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
		mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, leased("game", "public", 7001), leased("chat", "public", 7002)))
		grants(t, id, lease.IPServiceName("game", 7001, lease.TCP), subnet+"0")
		grants(t, id, lease.IPServiceName("chat", 7002, lease.TCP), subnet+"0")
		// MetalLB takes the address away from one: it asks for one that no pool has.
		change(t, services, id.Namespace(), lease.IPServiceName("chat", 7002, lease.TCP), func(o *object) {
			o.SetAnnotations(with(o.GetAnnotations(), "metallb.universe.tf/loadBalancerIPs", "192.0.2.1"))
		})
		pending := lease.IPServiceName("chat", 7002, lease.TCP)
		eventuallyPending(t, id, pending)
		mustRun(t, 0, "explain", "--config", config, id.Group().String()).
			Prints(t, "1 active, 1 pending", "7001/tcp is live", "7002/tcp is pending", id.Namespace()+"/"+pending, "describe service "+pending)
		mustRun(t, 0, "release", "--config", config, id.String())
	})
}
