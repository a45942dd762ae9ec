package commands

import (
	"strings"
	"testing"
)

// What serves stays until a controller has said that its successor does, whichever command is to replace it.
func TestOldRouteStaysUntilTheNewOneServes(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(definition, group string) []string{
		"migrate": func(_, group string) []string { return []string{"migrate", "--to=httproute", "--overlap=0", group} },
		"apply":   func(definition, _ string) []string { return []string{"apply", "--target=httproute", "-f", definition} },
	} {
		t.Run(name, func(t *testing.T) {
			id, host := leaseOf(newTenant(), 1), newHost("successor")
			gateway := "successor-" + name
			user := admin().with(makeGateway(t, gateway))
			definition := defineParts(t, id, webPart(host))
			admin().do(t, "apply", "-f", definition)
			args := command(definition, id.Group().String())
			where := "HTTPRoute " + id.Namespace() + "/" + host

			nowhere := admin().with(configure(t, nowhere))
			nowhere.run(t, append(args, "--timeout=300ms")...).Exits(t, 5).Says(t, where+" waits for Gateway default/none, which does not exist", "--assume-serving")
			need(t, ingresses, id.Namespace(), host)
			nowhere.do(t, append(args, "--wait=false")...).Prints(t, "ingress/"+host+" left (it stays: "+where+" waits for Gateway default/none")
			need(t, ingresses, id.Namespace(), host)
			admin().do(t, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state}").Prints(t, "Active") // the Ingress serves it

			user.run(t, append(args, "--timeout=300ms")...).Exits(t, 5).Says(t, "Gateway default/"+gateway+" has not accepted "+where)
			report := strings.Replace(judgement(gateway, "True", "Accepted", ""), "observedGeneration: 1", "observedGeneration: 9", 1)
			report = strings.Replace(report, "conditions: [", `conditions: [{type: ResolvedRefs, status: "True", reason: ResolvedRefs, message: "", observedGeneration: 9, lastTransitionTime: "2026-11-21T10:00:00Z"},`, 1)
			setStatus(t, httpRoutes, id.Namespace(), host, report)
			user.run(t, append(args, "--timeout=300ms")...).Exits(t, 5).Says(t, "Gateway default/"+gateway+", which has accepted "+where+", is not programmed")
			need(t, ingresses, id.Namespace(), host)

			setStatus(t, gateways, "default", gateway, `{conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"},
				{type: Programmed, status: "True", reason: Programmed, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}`)
			user.do(t, args...)
			absent(t, ingresses, id.Namespace(), host)
			admin().do(t, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state}").Prints(t, "Active")
			admin().do(t, "release", id.Group().String())
		})
	}
}

// accept reports of an HTTPRoute and its Gateway what their controller does once both serve.
func accept(t *testing.T, gateway, namespace, host string) {
	t.Helper()
	report := strings.Replace(judgement(gateway, "True", "Accepted", ""), "observedGeneration: 1", "observedGeneration: 9", 1)
	report = strings.Replace(report, "conditions: [", `conditions: [{type: ResolvedRefs, status: "True", reason: ResolvedRefs, message: "", observedGeneration: 9, lastTransitionTime: "2026-11-21T10:00:00Z"},`, 1)
	setStatus(t, httpRoutes, namespace, host, report)
	setStatus(t, gateways, "default", gateway, `{conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"},
		{type: Programmed, status: "True", reason: Programmed, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}`)
}

// On the Gateway API the same goes for the route of another lease: it serves until a controller has accepted
// that of the lease that the host was transferred to.
func TestRouteOfTheFormerLeaseStaysUntilTheNewOneServes(t *testing.T) {
	t.Parallel()
	for name, withFile := range map[string]bool{"transfer": false, "transfer-f": true, "apply": false} {
		t.Run(name, func(t *testing.T) {
			tenant, host, gateway := newTenant(), newHost("follows"), "follows-"+name
			blue, green := leaseOf(tenant, 1), leaseOf(tenant, 2)
			user := admin().with(makeGateway(t, gateway))
			blueFile, greenFile := defineParts(t, blue, webPart(host)), defineParts(t, green, webPart(host))
			transfer := []string{"transfer", host, "--to", green.String()}
			first, next := transfer, []string{"apply", "-f", greenFile}
			user.do(t, "apply", "--wait=false", "-f", blueFile)
			switch {
			case withFile:
				first = append(transfer, "-f", greenFile)
				next = first
			case name == "apply":
				user.do(t, transfer...).Prints(t, "until then the old ones serve")
				first = next
			default:
				user.do(t, "apply", "--wait=false", "-f", greenFile).Prints(t, "host/"+host+" withheld")
			}
			serves := func(state string) {
				t.Helper()
				need(t, httpRoutes, blue.Namespace(), host)
				need(t, httpRoutes, green.Namespace(), host)
				user.do(t, "state", "hosts", "-n", green.Namespace(), "-o", "jsonpath={.hosts[0].state} {.hosts[0].from}").Prints(t, state)
				user.do(t, "state", "--problems", "--crashed-after=0s", "-n", green.Namespace())
				user.do(t, "state", "--problems", "--crashed-after=0s", "-n", blue.Namespace())
			}

			where := "HTTPRoute " + green.Namespace() + "/" + host
			goesOn := "the same command goes on"
			if name == "transfer" {
				goesOn = "the next apply of the lease goes on"
			}
			user.run(t, append(first, "--timeout=300ms")...).Exits(t, 5).Says(t, "Gateway default/"+gateway+" has not accepted "+where, goesOn, "--assume-serving")
			serves("Transferring " + blue.Group().String())
			user.do(t, "apply", "--wait=false", "-f", blueFile).Prints(t, "host/"+host+" withheld", "httproute/"+host+" left (it is kept for lease "+green.Group().String()+" until that is applied)")
			user.do(t, append(next, "--wait=false")...).Prints(t, "httproute/"+host+" left (it stays: Gateway default/"+gateway+" has not accepted "+where)
			serves("Transferring " + blue.Group().String())

			accept(t, gateway, green.Namespace(), host)
			user.do(t, next...).Prints(t, "httproute/"+host+" pruned")
			absent(t, httpRoutes, blue.Namespace(), host)
			user.do(t, "state", "hosts", "-n", green.Namespace(), "-o", "jsonpath={.hosts[0].state}[{.hosts[*].from}]").Prints(t, "Active[]")
			user.do(t, "state", "--problems", "--crashed-after=0s", "-n", green.Namespace())
			user.do(t, "release", green.Group().String())
		})
	}
}

// Where a controller says at once that the new route serves, or somebody does, one command is enough.
func TestTransferWhereTheNewRouteServes(t *testing.T) {
	t.Parallel()
	tenant, host := newTenant(), newHost("handed")
	blue, green := leaseOf(tenant, 1), leaseOf(tenant, 2)
	user := admin().with(configure(t, nowhere, "target: httproute"))
	user.do(t, "apply", "-f", defineParts(t, blue, webPart(host)))
	user.do(t, "transfer", host, "--to", green.String(), "-f", defineParts(t, green, webPart(host)), "--assume-serving").Prints(t, "httproute/"+host+" pruned")
	absent(t, httpRoutes, blue.Namespace(), host)

	judged := admin().with(makeGateway(t, "judged"))
	judged.do(t, "apply", "--wait=false", "-f", defineParts(t, blue, webPart(host))).Prints(t, "host/"+host+" withheld")
	end := start(judged.command(t.Context(), "transfer", host, "--to", blue.String()))
	eventually(t, "the new route is there", present(t, httpRoutes, blue.Namespace(), host))
	accept(t, "judged", blue.Namespace(), host)
	end().Exits(t, 0).Prints(t, "httproute/"+host+" accepted", "httproute/"+host+" pruned")
	absent(t, httpRoutes, green.Namespace(), host)
	need(t, httpRoutes, blue.Namespace(), host)
	judged.do(t, "release", blue.Group().String())
}

// Nothing is called live of which no controller has said so, and the old route goes only on somebody's word.
func TestAssumeServing(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("assumed")
	user := admin().with(configure(t, nowhere))
	definition := defineParts(t, id, webPart(host))
	admin().do(t, "apply", "-f", definition)
	user.do(t, "apply", "--target=httproute", "--assume-serving", "-f", definition).Prints(t, "ingress/"+host+" pruned", "is applied: 1 host")
	absent(t, ingresses, id.Namespace(), host)
	waits := "no controller has accepted HTTPRoute " + id.Namespace() + "/" + host
	user.do(t, "explain", host).Prints(t, "Not live: "+waits)
	user.do(t, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state} {.hosts[0].message}").Prints(t, "Pending "+waits)
	admin().do(t, "release", id.Group().String())
}
