package e2e

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
			definition := define(t, id, web(host))
			admin().do(t, "apply", "-f", definition)
			args := command(definition, id.Group().String())
			where := "HTTPRoute " + id.Namespace() + "/" + host

			nowhere := admin().with(configure(t, nowhere))
			nowhere.run(t, append(args, "--timeout=300ms")...).exits(t, 5).says(t, where+" waits for Gateway default/none, which does not exist", "--assume-serving")
			need(t, ingresses, id.Namespace(), host)
			nowhere.do(t, append(args, "--wait=false")...).prints(t, "ingress/"+host+" left (it stays: "+where+" waits for Gateway default/none")
			need(t, ingresses, id.Namespace(), host)
			admin().do(t, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state}").prints(t, "Active") // the Ingress serves it

			user.run(t, append(args, "--timeout=300ms")...).exits(t, 5).says(t, "Gateway default/"+gateway+" has not accepted "+where)
			report := strings.Replace(judgement(gateway, "True", "Accepted", ""), "observedGeneration: 1", "observedGeneration: 9", 1)
			report = strings.Replace(report, "conditions: [", `conditions: [{type: ResolvedRefs, status: "True", reason: ResolvedRefs, message: "", observedGeneration: 9, lastTransitionTime: "2026-11-21T10:00:00Z"},`, 1)
			setStatus(t, httpRoutes, id.Namespace(), host, report)
			user.run(t, append(args, "--timeout=300ms")...).exits(t, 5).says(t, "Gateway default/"+gateway+", which has accepted "+where+", is not programmed")
			need(t, ingresses, id.Namespace(), host)

			setStatus(t, gateways, "default", gateway, `{conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"},
				{type: Programmed, status: "True", reason: Programmed, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}`)
			user.do(t, args...)
			absent(t, ingresses, id.Namespace(), host)
			admin().do(t, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state}").prints(t, "Active")
			admin().do(t, "release", id.Group().String())
		})
	}
}

// Nothing is called live of which no controller has said so, and the old route goes only on somebody's word.
func TestAssumeServing(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("assumed")
	user := admin().with(configure(t, nowhere))
	definition := define(t, id, web(host))
	admin().do(t, "apply", "-f", definition)
	user.do(t, "apply", "--target=httproute", "--assume-serving", "-f", definition).prints(t, "ingress/"+host+" pruned", "is applied: 1 host")
	absent(t, ingresses, id.Namespace(), host)
	waits := "no controller has accepted HTTPRoute " + id.Namespace() + "/" + host
	user.do(t, "explain", host).prints(t, "Not live: "+waits)
	user.do(t, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state} {.hosts[0].message}").prints(t, "Pending "+waits)
	admin().do(t, "release", id.Group().String())
}
