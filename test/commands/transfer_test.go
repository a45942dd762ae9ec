package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// blueGreen are two deployments of an owner of which the first serves a host, and the second has
// asked for it with options of its own.
type blueGreen struct {
	host, config string
	blue, green  lease.ID
	greenFile    string
	// hands is the transfer; no controller is here that would report on routes.
	hands  []string
	routes schema.GroupVersionResource
}

func newBlueGreen(t *testing.T, target string) blueGreen {
	t.Helper()
	owner := newOwner(t)
	b := blueGreen{
		host: "shop." + newDomain(), config: configure(t, "target: "+target),
		blue: leaseOf(owner, 1), green: leaseOf(owner, 2), routes: ingresses,
	}
	if target == "httproute" {
		b.routes = httpRoutes
	}
	b.hands = []string{"transfer", b.host, "--to", b.green.String(), "--config", b.config, "--assume-serving"}
	b.greenFile = define(t, b.green, "{name: green, expose: [{port: 9090, as: 80, global: true, hosts: ["+b.host+"], http: {maxBodySize: 7777777}}]}")
	mustRun(t, 0, "apply", "--config", b.config, "-f", define(t, b.blue, web("blue", 8080, b.host)))
	mustRun(t, 0, "apply", "--config", b.config, "-f", b.greenFile).Prints(t, "host/"+b.host+" withheld")
	return b
}

// isGreen fails the test unless the host is the second deployment's in every respect.
func (b blueGreen) isGreen(t *testing.T) {
	t.Helper()
	held(t, b.host, "2 /")
	c := claim(t, b.host)
	if c.Marked() {
		t.Error("the claim carries the mark of a run")
	}
	if c.Parts[0].Service != "green" || c.Parts[0].Port != 80 {
		t.Errorf("the claim names %s:%d", c.Parts[0].Service, c.Parts[0].Port)
	}
	route := need(t, b.routes, b.green.Namespace(), b.host)
	if text := toText(t, route.Object); !strings.Contains(text, "7777777") || !strings.Contains(text, `"green"`) {
		t.Errorf("the route does not have the options that were asked for: %s", text)
	}
	if find(t, b.routes, b.blue.Namespace(), b.host) != nil {
		t.Error("the old route is still there")
	}
	if dseq := need(t, hosts, "lease", b.host).GetLabels()[lease.LabelDSeq]; dseq != "2" {
		t.Errorf("the ProviderHost is deployment %s's", dseq)
	}
	for manager, fields := range ours(t, b.host) {
		if manager != b.green.Group().FieldManager() {
			t.Errorf("%s owns %s", manager, fields)
		}
	}
}

// ends gives up all that the two deployments hold.
func (b blueGreen) ends(t *testing.T) {
	t.Helper()
	mustRun(t, 0, "release", b.green.Group().String(), b.blue.Group().String(), "--config", b.config)
	held(t, b.host)
	if problems := run(t.Context(), "state", "--problems", "--crashed-after", "0s", "-o", "json").Stdout; strings.Contains(problems, b.blue.Owner) || strings.Contains(problems, b.host) {
		t.Errorf("problems are left: %s", problems)
	}
}

// What serves moves to the deployment that has asked for it, with the options that it has asked for: the claim first, then the new
// route, the old one last. A dry run moves nothing, and the former deployment does not get it back.
func TestBlueGreen(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"ingress", "httproute"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			b := newBlueGreen(t, target)
			was := claim(t, b.host)
			mustRun(t, 0, "explain", "--config", b.config, b.host).
				Prints(t, b.host+" is held by "+b.blue.Group().String(), "Withheld from lease "+b.green.String(), "transfer "+b.host+" --to "+b.green.String())
			for _, mode := range []string{"client", "server"} {
				mustRun(t, 0, append(b.hands, "--dry-run="+mode)...)
				if now := claim(t, b.host); now.ResourceVersion != was.ResourceVersion {
					t.Errorf("--dry-run=%s changed the claim", mode)
				}
			}

			p := startProxy(t, nil)
			runAs(t.Context(), p.kubeconfig, b.hands...).Exits(t, 0)
			route := b.routes.Resource + "/" + b.host
			if diff := cmp.Diff([]string{"PATCH " + route, "DELETE " + route}, p.sent(b.routes.Resource)); diff != "" {
				t.Errorf("writes of routes (-want +got):\n%s", diff)
			}
			all := slices.DeleteFunc(p.sent("leases", b.routes.Resource), func(write string) bool { return strings.Contains(write, "leases/run--") })
			if all[0] != "PATCH leases/"+b.host || claim(t, b.host).UID != was.UID {
				t.Errorf("the claim did not change hands first, or was let go: %q", all)
			}
			b.isGreen(t)

			mustRun(t, 0, "apply", "--config", b.config, "-f", define(t, b.blue, web("blue", 8080, b.host))).Prints(t, "host/"+b.host+" withheld")
			held(t, b.host, "2 /")
			need(t, b.routes, b.green.Namespace(), b.host)
			absent(t, b.routes, b.blue.Namespace(), b.host)
		})
	}
}

// An address goes by its endpoint's name, with MetalLB's grant, and no other endpoint of the lease.
func TestTransferOfAddress(t *testing.T) {
	t.Parallel()
	subnet, owner := newNet(), newOwner(t)
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	do := func(args ...string) result { t.Helper(); return mustRun(t, 0, append(args, "--config", config)...) }
	do("apply", "-f", define(t, blue, leased("game", "public", 7001), leased("chat", "second", 7002)))
	do("apply", "-f", define(t, green, leased("next", "public", 7001))).Prints(t, "7001/tcp withheld")
	do("transfer", "public", "--to", green.String())
	held(t, claimOf(subnet+"0"), "2 7001/tcp")
	held(t, claimOf(subnet+"1"), "1 7002/tcp")
	grants(t, green, lease.IPServiceName("next", 7001, lease.TCP), subnet+"0")
	absent(t, services, blue.Namespace(), lease.IPServiceName("game", 7001, lease.TCP))
	need(t, services, blue.Namespace(), lease.IPServiceName("chat", 7002, lease.TCP))
	do("transfer", "public", "--to", green.String()).Prints(t, "address/"+subnet+"0 skipped (the lease holds it already)")
}

// routed is a service with all that a note does not say: TLS, a path with weights, headers.
func routed(host string) string {
	return "{name: green, expose: [" +
		"{port: 8080, as: 80, global: true, hosts: [" + host + "], tls: {termination: edge, insecure: Redirect}}, " +
		"{port: 8080, as: 80, global: true, hosts: [" + host + "], path: /v2, weight: 90, alternateBackends: [{service: next, port: 80, weight: 10}], " +
		"headers: {response: [{name: X-Green, action: Set, value: yes-it-is}]}}]}"
}

// What a lease was applied with says how it serves what it gets by a transfer, with all options: an apply of the same has
// nothing to change. Whatever else the lease has is left as it is. Routes that the target cannot express are refused before any claim moves.
func TestTransferRoutesByTheKeptDefinition(t *testing.T) {
	t.Parallel()
	owner, domain := newOwner(t), newDomain()
	config := configure(t, "target: httproute", "gateway: {implementation: standard}", "ip: {ranges: ["+newNet()+"0/29]}")
	blue, green, third := leaseOf(owner, 1), leaseOf(owner, 2), leaseOf(owner, 3)
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
	absent(t, httpRoutes, green.Namespace(), other) // the transfer of one host makes no route of another
	absent(t, httpRoutes, blue.Namespace(), host)
	absent(t, httpRoutes, blue.Namespace(), lease.RouteName(host, "/v2"))
	out := do(1, "diff", "-f", greenFile).Prints(t, "httproute/"+other)
	if strings.Count(out.Stdout, " in namespace ") != 1 {
		t.Errorf("an apply of the definition has more to change than the lost route: %s", out)
	}

	do(0, "apply", "-f", define(t, third, strings.Replace(web("third", 8080, host), "hosts:", "http: {maxBodySize: 7777777}, hosts:", 1)))
	do(3, "transfer", host, "--to", third.String()).Says(t, "the Gateway API has no field for maxBodySize")
	held(t, host, "2 /", "2 /v2")
}

// A transfer that waits for its routes is no problem: what serves stays until the new lease's own does, whatever the former lease does
// meanwhile. What is handed back is served by its own routes again.
func TestTransferThatWaitsForItsRoutes(t *testing.T) {
	t.Parallel()
	owner, host, service := newOwner(t), "shop."+newDomain(), lease.IPServiceName("game", 7001, lease.TCP)
	config := configure(t, "ip: {ranges: ["+newNet()+"0/29]}")
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	blueFile := define(t, blue, web("blue", 8080, host), leased("game", "public", 7001))
	greenFile := define(t, green, web("green", 8080, host), leased("game", "public", 7001))
	do := func(args ...string) result { t.Helper(); return mustRun(t, 0, append(args, "--config", config)...) }
	do("apply", "-f", blueFile)
	transfer := func(to lease.ID, text string) {
		t.Helper()
		do("transfer", host, "public", "--to", to.String()).Prints(t, text)
		need(t, ingresses, blue.Namespace(), host)
		need(t, services, blue.Namespace(), service)
		do("state", "--problems", "--crashed-after", "0s", "-n", green.Namespace())
		do("state", "--problems", "--crashed-after", "0s", "-n", blue.Namespace())
	}
	transfer(green, "host/"+host+" unconfirmed (its routes follow with the next apply of the lease; until then the old ones serve)")
	transfer(blue, "")
	do("explain", host).Prints(t, "Routed: ingress")
	transfer(green, "host/"+host+" unconfirmed (its routes follow")
	do("explain", host).
		Prints(t, "Transferring: it was handed to lease "+green.String()+"; the ingress of deployment "+blue.Group().String()+" serves it until that lease is applied")
	do("state", "hosts", "ips", "-n", green.Namespace(), "-o", "jsonpath={.hosts[*].state} {.hosts[*].from} {.ips[*].state}").
		Prints(t, "Transferring "+blue.Group().String()+" Transferring")

	kept := "ingress/" + host + " kept (it is kept for lease " + green.Group().String() + " until that is applied)"
	do("apply", "-f", blueFile).Prints(t, "host/"+host+" withheld", kept)
	do("release", blue.Group().String()).Prints(t, kept)
	need(t, ingresses, blue.Namespace(), host)

	do("apply", "--prune=false", "-f", greenFile) // it takes over what was handed to it, also where it removes nothing
	need(t, ingresses, green.Namespace(), host)
	need(t, services, green.Namespace(), service)
	absent(t, ingresses, blue.Namespace(), host)
	absent(t, services, blue.Namespace(), service)
	held(t, host, "2 /")
	do("apply", "-f", greenFile).Prints(t, "unchanged")
}
