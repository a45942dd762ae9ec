package commands

import (
	"fmt"
	"testing"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// foreignService makes a Service of no lease in namespace default, with further metadata and spec.
func foreignService(t *testing.T, name, metadata, spec string) {
	t.Helper()
	create(t, services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: default%s}, spec: {%s, ports: [{port: 7001}]}}`, name, metadata, spec))
	removeLater(t, services, "default", name)
}

// A Service that uses a claimed address and is not the holder's is named, whichever way it uses it: by
// explain, among the problems, and where the holder's apply waits in vain.
func TestServiceThatUsesAClaimedAddress(t *testing.T) {
	t.Parallel()
	const balancer = "type: LoadBalancer, loadBalancerClass: example.com/other"
	for name, tt := range map[string]struct{ metadata, spec, takes string }{
		"external IPs":   {"", "externalIPs: [%s]", "has it in spec.externalIPs"},
		"the spec":       {"", balancer + ", loadBalancerIP: %s", "asks for it"},
		"the annotation": {", annotations: {metallb.io/loadBalancerIPs: %s}", balancer, "asks for it"},
		"the old prefix": {", annotations: {metallb.universe.tf/loadBalancerIPs: %s}", balancer, "asks for it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subnet, id := newNet(), leaseOf(newOwner(), 1)
			address, config := subnet+"3", configure(t, "ip: {ranges: ["+subnet+"0/29]}")
			mustRun(t, 0, "reserve", "--config", config, "--lease", id.String(), "--address", address)
			squatter := "squatter-" + id.Owner[len(id.Owner)-8:]
			in := func(text string) string {
				if text == "" || text == balancer {
					return text
				}
				return fmt.Sprintf(text, address)
			}
			foreignService(t, squatter, in(tt.metadata), in(tt.spec))
			mustRun(t, 0, "explain", "--config", config, address).Prints(t,
				"service default/"+squatter+" "+tt.takes+", for no lease: it is not the holder's.", "kubectl -n default edit service "+squatter)
			run(t.Context(), "state", "--problems", "--config", config).Prints(t, address, "AddressSquatted", "service default/"+squatter+" "+tt.takes)
			mustRun(t, 0, "release", "--config", config, id.Group().String())
		})
	}
}

// Where MetalLB does not grant an address because a Service of somebody else has it, apply says which.
func TestApplyNamesWhoHasTheAddress(t *testing.T) {
	t.Parallel()
	subnet, id := newNet(), leaseOf(newOwner(), 1)
	address, config := subnet+"3", configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	// The pool is there, and the Service has the address before the lease asks for it.
	other := leaseOf(newOwner(), 1)
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, other, leased("game", "public", 7001)))
	mustRun(t, 0, "reserve", "--config", config, "--lease", id.String(), "--address", address)
	squatter := "squatter-" + id.Owner[len(id.Owner)-8:]
	foreignService(t, squatter, ", annotations: {metallb.io/loadBalancerIPs: "+address+"}", "type: LoadBalancer")
	grantsIn(t, "default", squatter, address)
	mustRun(t, 5, "apply", "--config", config, "--timeout", "3s", "-f", define(t, id, leased("game", "public", 7001))).Says(t,
		"service default/"+squatter+" was granted "+address, "lease/"+id.Group().String()+" waiting for MetalLB to grant the addresses of service/game-ip-7001-tcp (since ")
	mustRun(t, 0, "release", "--config", config, id.Group().String())
	mustRun(t, 0, "release", "--config", config, other.Group().String())
}

// A host is held, and the object named, however a route of somebody else serves it.
func TestRoutesThatUseAHost(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(t *testing.T, host, domain string) (object string){
		"server-alias": func(t *testing.T, host, domain string) string {
			create(t, ingresses, `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: alias-`+domain+`, namespace: default,
annotations: {nginx.ingress.kubernetes.io/server-alias: "else.`+domain+`, `+host+`"}},
spec: {rules: [{host: main.`+domain+`, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: site, port: {number: 80}}}}]}}]}}`)
			removeLater(t, ingresses, "default", "alias-"+domain)
			return "ingress default/alias-" + domain
		},
		"a wildcard above": func(t *testing.T, host, domain string) string {
			create(t, ingresses, `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: all-`+domain+`, namespace: default},
spec: {rules: [{host: "*.`+domain+`", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: site, port: {number: 80}}}}]}}]}}`)
			removeLater(t, ingresses, "default", "all-"+domain)
			return "ingress default/all-" + domain
		},
		"a GRPCRoute": func(t *testing.T, host, domain string) string {
			create(t, kinds.GRPCRoute.Resource(), `{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: rpc-`+domain+`, namespace: default},
spec: {hostnames: [`+host+`], rules: [{backendRefs: [{name: site, port: 80}]}]}}`)
			removeLater(t, kinds.GRPCRoute.Resource(), "default", "rpc-"+domain)
			return "grpcroute default/rpc-" + domain
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			domain := newDomain()
			host, id := "shop."+domain, leaseOf(newOwner(), 1)
			object := make(t, host, domain)
			definition := define(t, id, web("web", 8080, host))
			mustRun(t, 4, "apply", "-f", definition).Says(t, host, object)
			mustRun(t, 4, "check", "-f", definition).Says(t, host, object)
			mustRun(t, 0, "explain", host).Prints(t, host+" has no claim, but objects use it", object)
			held(t, host)
		})
	}
}

// A wildcard route of the owner's own, and one whose wildcard the owner holds, keep the owner from nothing.
func TestOwnWildcardAbove(t *testing.T) {
	t.Parallel()
	domain, owner := newDomain(), newOwner()
	config := configure(t, "hosts: {wildcards: true}")
	one, two := leaseOf(owner, 1), leaseOf(owner, 2)
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, one, web("web", 8080, "'*."+domain+"'")))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, two, web("web", 8080, "shop."+domain)))
	held(t, "shop."+domain, "2 /")
	for _, id := range []lease.ID{two, one} {
		mustRun(t, 0, "release", "--config", config, id.Group().String())
	}
}
