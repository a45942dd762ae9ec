package commands

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// explain answers what people ask of a provider: by whom a thing is held and since when, what is withheld, what serves, what is pending,
// and what a crashed command has left. What each rule says is in the tests of package diagnose.
func TestExplain(t *testing.T) {
	t.Parallel()
	domain, subnet, one := newDomain(), newNet(), leaseOf(newOwner(t), 1)
	config := configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+subnet+"0/29]}")
	explain := func(thing string, texts ...string) {
		t.Helper()
		mustRun(t, 0, "explain", thing, "--config", config).Prints(t, texts...)
	}
	do := func(args ...string) { t.Helper(); mustRun(t, 0, append(args, "--config", config)...) }
	two, group := leaseOf(one.Owner, 2), one.Group().String()
	shop, idle, wild := "shop."+domain, "idle."+domain, newDomain()
	do("apply", "-f", define(t, one, web("web", 80, shop), leased("game", "public", 7001), leased("chat", "public", 7002)))
	do("apply", "-f", define(t, two, web("next", 80, shop)))
	do("reserve", "--lease", one.String(), "--prune=false", idle, "--expires", "1h")
	do("reserve", "--lease", one.String(), "--prune=false", "*."+wild)
	explain("free."+domain, "free."+domain+" is free", "reserve free."+domain)
	explain("a."+wild, "*."+wild+" is held by "+group+" and covers it")
	explain(idle, idle+" is held by "+group, "Claimed since "+need(t, claims, ledger, idle).GetCreationTimestamp().UTC().Format("2006-01-02 15:04:05 UTC"),
		"field manager "+one.Group().FieldManager(), "Not routed", "no route serves it", "Lease "+one.String()+" holds it until "+claim(t, idle).Parts[0].Expires)
	explain(shop, shop+" is held by "+group+". Not answering: Service web does not exist", "Routed: ingress in namespace "+one.Namespace(), "Not answering: Service "+one.Namespace()+"/web", "does not exist")
	explain(two.Group().String(), "1 withheld", shop+": Withheld from lease "+two.String(), "held by deployment 1", "transfer "+shop+" --to "+two.String())

	// What the live objects say: a backend was changed by hand, and MetalLB takes an address away.
	change(t, ingresses, one.Namespace(), shop, backendPort(8081))
	explain(shop, "Not routed: ingress "+one.Namespace()+"/"+shop+" routes it to web:8081, the claim says web:80.")
	mustRun(t, 0, "state", "hosts", "-n", one.Namespace(), shop, "-o", "jsonpath={.hosts[0].state}").Prints(t, "Pending")
	pending := lease.IPServiceName("chat", 7002, lease.TCP)
	change(t, services, one.Namespace(), pending, func(o *object) {
		o.SetAnnotations(with(o.GetAnnotations(), "metallb.universe.tf/loadBalancerIPs", "192.0.2.1")) // which no pool has
	})
	grantsIn(t, one.Namespace(), pending, "")
	explain(group, "1 active, 1 of them not answering, 2 pending, 2 reserved", "7001/tcp is routed", "7002/tcp is pending", one.Namespace()+"/"+pending, "describe service "+pending)

	remove(t, claims, ledger, shop)
	explain(shop, shop+" has no claim, but objects use it", "ingress "+one.Namespace()+"/"+shop)
	explain(group, shop+": no claim; it remains of a former lease")

	marked := "marked." + newDomain()
	plant(t, state.HostWant{Host: marked}.Hold(leaseOf(newOwner(t), 1)), func(p *state.Part) { p.Run = "crashed" })
	explain(marked, "Run ", " of ann@laptop, begun ", ", has crashed (last renewed at ", "kubectl akash-net repair")

	if r := mustRun(t, 0, "explain", wild); strings.Contains(r.Stdout, "DNS") {
		t.Errorf("without records in the configuration: %s", r)
	}
}
