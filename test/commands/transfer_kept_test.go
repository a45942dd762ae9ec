package commands

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// routed is a service with all that a note does not say: TLS, a path with weights, headers.
func routed(host string) string {
	return "{name: green, expose: [" +
		"{port: 8080, as: 80, global: true, hosts: [" + host + "], tls: {termination: edge, insecure: Redirect}}, " +
		"{port: 8080, as: 80, global: true, hosts: [" + host + "], path: /v2, weight: 90, alternateBackends: [{service: next, port: 80, weight: 10}], " +
		"headers: {response: [{name: X-Green, action: Set, value: yes-it-is}]}}]}"
}

// What a lease was applied with says how it serves what it gets by a transfer, with all options: an apply of the same has
// nothing to change. Whatever else the lease has is left as it is.
func TestTransferRoutesByTheKeptDefinition(t *testing.T) {
	t.Parallel()
	owner, domain, subnet := newOwner(), newDomain(), newNet()
	config := configure(t, "target: httproute", "gateway: {implementation: standard}", "ip: {ranges: ["+subnet+"0/29]}")
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	host, other := "shop."+domain, "other."+domain
	greenFile := define(t, green, routed(host), "{name: next, expose: [{port: 8080, as: 80}]}", web("other", 8080, other), leased("game", "public", 7001), leased("chat", "public", 7002))
	do := func(code int, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--config", config)...)
	}
	do(0, "apply", "--wait=false", "-f", define(t, blue, web("blue", 8080, host), leased("game", "public", 7001)))
	do(0, "reserve", "--lease", blue.String(), host+"/v2", host, "--prune=false")
	do(0, "apply", "--wait=false", "-f", greenFile).Prints(t, "host/"+host+" withheld", "host/"+host+"/v2 withheld", "7001/tcp withheld")
	remove(t, httpRoutes, green.Namespace(), other)

	do(0, "transfer", host, "public", "--to", green.String(), "--assume-serving")
	held(t, host, "2 /", "2 /v2")
	route := toText(t, need(t, httpRoutes, green.Namespace(), lease.RouteName(host, "/v2")).Object)
	for _, want := range []string{`"weight":90`, `"weight":10`, "X-Green"} {
		if !strings.Contains(route, want) {
			t.Errorf("the route has no %s: %s", want, route)
		}
	}
	if find(t, httpRoutes, green.Namespace(), other) != nil {
		t.Error("the transfer of one host has made the route of another")
	}
	for _, kind := range []string{host, lease.RouteName(host, "/v2")} {
		if find(t, httpRoutes, blue.Namespace(), kind) != nil {
			t.Errorf("the old route %s is still there", kind)
		}
	}
	out := do(1, "diff", "-f", greenFile).Prints(t, "httproute/"+other)
	if strings.Count(out.Stdout, " in namespace ") != 1 {
		t.Errorf("an apply of the definition has more to change than the lost route: %s", out)
	}
}

// A transfer writes nothing for what the lease holds already, and says nothing of it.
func TestTransferLeavesWhatItDoesNotMove(t *testing.T) {
	t.Parallel()
	owner, host := newOwner(), "shop."+newDomain()
	config := configure(t, "ip: {ranges: ["+newNet()+"0/29]}")
	blue, green, service := leaseOf(owner, 1), leaseOf(owner, 2), lease.IPServiceName("game", 7001, lease.TCP)
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, blue, web("blue", 8080, host)))
	mustRun(t, 0, "apply", "--wait=false", "--config", config, "-f", define(t, green, web("green", 8080, host), leased("game", "public", 7001)))
	remove(t, services, green.Namespace(), service)
	out := mustRun(t, 0, "transfer", host, "--to", green.String(), "--config", config).Prints(t, "ingress/"+host+" created")
	for _, kind := range []string{"providerleasedip/", "service/", "ipaddresspool/"} {
		if strings.Contains(out.Stdout, kind) {
			t.Errorf("the transfer of a host tells of a %s: %s", kind, out)
		}
	}
	if find(t, services, green.Namespace(), service) != nil {
		t.Error("the transfer of a host has made the Service of an address")
	}
}

// A lease gets back what it once served by its kept definition, though no note says that it asks for it. Of what the
// definition does not name nothing is known.
func TestTransferOfWhatIsNotNoted(t *testing.T) {
	t.Parallel()
	owner, domain := newOwner(), newDomain()
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	host, reserved := "shop."+domain, "reserved."+domain
	mustRun(t, 0, "apply", "-f", define(t, blue, web("blue", 8080, host)))
	mustRun(t, 0, "transfer", host, "--to", green.String()).Prints(t, "host/"+host+" left (its routes follow with the next apply")
	mustRun(t, 0, "apply", "-f", define(t, green, web("green", 8080, host)))
	mustRun(t, 0, "reserve", "--lease", green.String(), reserved, host, "--prune=false")

	mustRun(t, 0, "transfer", host, reserved, "--to", blue.String()).Prints(t, "ingress/"+host+" created", "ingress/"+host+" pruned", "host/"+reserved+" left (nothing serves it")
	need(t, ingresses, blue.Namespace(), host)
	if find(t, ingresses, green.Namespace(), host) != nil {
		t.Error("the old route is still there")
	}
	mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "-n", blue.Namespace())
}

// Routes that the target cannot express are refused before any claim moves.
func TestTransferOfRoutesThatCannotBe(t *testing.T) {
	t.Parallel()
	owner, host := newOwner(), newDomain()
	config := configure(t, "target: httproute", "gateway: {implementation: standard}")
	mustRun(t, 0, "apply", "--wait=false", "--config", config, "-f", define(t, leaseOf(owner, 1), web("blue", 8080, host)))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, leaseOf(owner, 2), strings.Replace(web("green", 8080, host), "hosts:", "http: {maxBodySize: 7777777}, hosts:", 1)))
	mustRun(t, 3, "transfer", host, "--to", leaseOf(owner, 2).String(), "--config", config).Says(t, "the Gateway API has no field for maxBodySize")
	held(t, host, "1 /")
	need(t, httpRoutes, leaseOf(owner, 1).Namespace(), host)
}
