package commands

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// accept reports of an HTTPRoute and its Gateway what their controller does once both serve.
func accept(t *testing.T, gateway, namespace, host string) {
	t.Helper()
	resolves(t, gateway, namespace, host)
	setStatus(t, gateways, "default", gateway, `{conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"},
		{type: Programmed, status: "True", reason: Programmed, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}`)
}

// resolves reports of an HTTPRoute that its Gateway has accepted it and found what it leads to.
func resolves(t *testing.T, gateway, namespace, host string) {
	t.Helper()
	report := strings.Replace(judgement(gateway, "True", "Accepted", ""), "observedGeneration: 1", "observedGeneration: 9", 1)
	report = strings.Replace(report, "conditions: [", `conditions: [{type: ResolvedRefs, status: "True", reason: ResolvedRefs, message: "", observedGeneration: 9, lastTransitionTime: "2026-11-21T10:00:00Z"},`, 1)
	setStatus(t, httpRoutes, namespace, host, report)
}

// What serves stays until a controller has said that its successor does, whichever command is to replace it.
func TestOldRouteStaysUntilTheNewOneServes(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(definition, group string) []string{
		"migrate": func(_, group string) []string { return []string{"migrate", "--to=httproute", "--overlap=0", group} },
		"apply":   func(definition, _ string) []string { return []string{"apply", "--target=httproute", "-f", definition} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, host, gateway := leaseOf(newTenant(t), 1), newHost("successor"), "successor-"+name
			judged := admin().with(makeGateway(t, gateway))
			definition := defineParts(t, id, webPart(host))
			admin().do(t, "apply", "-f", definition)
			args := command(definition, id.Group().String())
			where := "HTTPRoute " + id.Namespace() + "/" + host
			waits := func(u user, texts ...string) {
				t.Helper()
				u.run(t, append(args, "--timeout=1s")...).Exits(t, 5).Says(t, texts...)
				need(t, ingresses, id.Namespace(), host)
			}
			is := func(u user, state string) {
				t.Helper()
				u.do(t, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state}").Prints(t, state)
			}
			nowhere := admin().with(configure(t, nowhere))
			waits(nowhere, where+" waits for Gateway default/none, which does not exist", "--assume-serving")
			nowhere.do(t, append(args, "--wait=false")...).Prints(t, "ingress/"+host+" kept (it stays: "+where+" waits for Gateway default/none")
			is(admin(), "Active") // the Ingress serves it
			if r := admin().run(t, "state", "--problems", "-n", id.Namespace()); name == "migrate" {
				r.Prints(t, "MigrationUnderWay", host)
			}
			waits(judged, "Gateway default/"+gateway+" has not accepted "+where)
			resolves(t, gateway, id.Namespace(), host)
			waits(judged, "Gateway default/"+gateway+", which has accepted "+where+", is not programmed")
			accept(t, gateway, id.Namespace(), host)
			judged.do(t, args...)
			absent(t, ingresses, id.Namespace(), host)
			is(judged, "Active")
		})
	}
}

// On the Gateway API the same goes for the route of another lease: it serves until a controller has accepted that of the lease that the
// host was transferred to. Whoever waits for that goes on at once.
func TestRouteOfTheFormerLeaseStaysUntilTheNewOneServes(t *testing.T) {
	t.Parallel()
	tenant, host, gateway := newTenant(t), newHost("follows"), "follows"
	blue, green := leaseOf(tenant, 1), leaseOf(tenant, 2)
	user := admin().with(makeGateway(t, gateway))
	blueFile, greenFile := defineParts(t, blue, webPart(host)), defineParts(t, green, webPart(host))
	user.do(t, "apply", "--wait=false", "-f", blueFile)
	user.do(t, "apply", "--wait=false", "-f", greenFile).Prints(t, "host/"+host+" withheld")
	where := "HTTPRoute " + green.Namespace() + "/" + host
	user.run(t, "transfer", host, "--to", green.String(), "--timeout=1s").Exits(t, 5).
		Says(t, "Gateway default/"+gateway+" has not accepted "+where, "the next apply of the lease goes on", "--assume-serving")
	user.do(t, "apply", "--wait=false", "-f", blueFile).
		Prints(t, "host/"+host+" withheld", "httproute/"+host+" kept (it is kept for lease "+green.Group().String()+" until that is applied)")
	user.do(t, "apply", "-f", greenFile, "--wait=false").Prints(t, "httproute/"+host+" kept (it stays: Gateway default/"+gateway+" has not accepted "+where)
	need(t, httpRoutes, blue.Namespace(), host)
	is := func(state string) {
		t.Helper()
		user.do(t, "state", "hosts", "-n", green.Namespace(), "-o", "jsonpath={.hosts[0].state}[{.hosts[*].from}]").Prints(t, state)
		user.do(t, "state", "--problems", "--crashed-after=0s", "-n", green.Namespace())
	}
	is("Transferring[" + blue.Group().String() + "]")

	r := record(t)
	r.config = user.config
	looked := make(chan struct{})
	var once sync.Once
	r.hold(nil, func(_ context.Context, q request) {
		if strings.HasSuffix(q.String(), " httproutes/"+host) && q.method == http.MethodGet {
			once.Do(func() { close(looked) })
		}
	})
	end := start(r.command(t.Context(), "apply", "-f", greenFile))
	arrives(t, "it looks at the route", looked)
	accept(t, gateway, green.Namespace(), host)
	end().Exits(t, 0).Prints(t, "httproute/"+host+" pruned")
	absent(t, httpRoutes, blue.Namespace(), host)
	is("Active[]")
}
