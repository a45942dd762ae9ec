package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// routed exposes hosts with what else is said of their routes.
func routedPart(port int, more string, hosts ...string) string {
	return fmt.Sprintf("{port: 8080, as: %d, global: true, hosts: [%s], %s}", port, strings.Join(quoted(hosts), ", "), more)
}

// routesOf are all objects of a lease's namespace that serve its hosts, as kind/name.
func routesOf(t *testing.T, id lease.ID) []string {
	t.Helper()
	names := []string{}
	for _, kind := range []kinds.Kind{kinds.Ingress, kinds.HTTPRoute, kinds.TLSRoute, kinds.Route, kinds.BackendTLSPolicy, kinds.SnippetsFilter, kinds.ClientSettingsPolicy, kinds.ProxySettingsPolicy} {
		list, err := harness.Objects.Resource(kind.Resource()).Namespace(id.Namespace()).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			names = append(names, kind.Singular+"/"+o.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// On each target all that a definition says of its routes is written, is not written again, follows
// what the definition says next, and goes with the lease.
func TestRoutesOfEachTarget(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config []string
		first  func(host string) []part
		want   func(host string) []string
		then   func(host string) []part
		left   func(host string) []string
	}{
		"ingress": {
			[]string{"target: ingress", "hosts: {wildcards: true}"},
			func(host string) []part {
				return []part{service("web", served(host, "'*."+host+"'"), routedPart(80, "path: /v1", host)),
					service("safe", routedPart(443, "tls: {termination: edge, insecure: Redirect, secretName: cert}, sticky: {cookie: c}", "safe."+host))}
			},
			func(host string) []string {
				return []string{"ingress/" + host, "ingress/" + lease.RouteName(host, "/v1"), "ingress/safe." + host, "ingress/wc--any." + host}
			},
			func(host string) []part { return []part{service("web", routedPart(80, "path: /v2", host))} },
			func(host string) []string { return []string{"ingress/" + lease.RouteName(host, "/v2")} },
		},
		"route": {
			[]string{"target: route"},
			func(host string) []part {
				return []part{service("web", routedPart(80, "weight: 90, alternateBackends: [{service: canary, weight: 10}], headers: {request: [{name: X-A, action: Set, value: b}], response: [{name: X-B, action: Delete}]}, labels: {shard: eu}", host), routedPart(80, "path: /v1, annotations: {haproxy.router.openshift.io/balance: leastconn}", host)),
					service("canary", "{port: 8080, as: 80}"),
					service("tls", routedPart(443, "tls: {termination: passthrough, insecure: Redirect}", "tls."+host))}
			},
			func(host string) []string {
				return []string{"route/" + host, "route/" + lease.RouteName(host, "/v1"), "route/tls." + host}
			},
			func(host string) []part { return []part{webPart(host)} },
			func(host string) []string { return []string{"route/" + host} },
		},
		"httproute on NGINX Gateway Fabric": {
			[]string{"target: httproute", "gateway: {implementation: nginx-gateway-fabric, name: none, namespace: default, listeners: {passthrough: [tls]}}"},
			func(host string) []part {
				return []part{service("web", routedPart(80, "path: /v1, http: {maxBodySize: 2097152, readTimeout: 30s}, weight: 90, alternateBackends: [{service: canary, weight: 10}]", host)),
					service("canary", "{port: 8080, as: 80}"),
					service("safe", routedPart(443, "tls: {termination: reencrypt, insecure: Redirect}", "safe."+host)),
					service("tls", routedPart(8443, "tls: {termination: passthrough}", "tls."+host))}
			},
			func(host string) []string {
				path, safe := lease.RouteName(host, "/v1"), "safe."+host
				return []string{"backendtlspolicy/safe", "clientsettingspolicy/" + path, "httproute/" + path, "httproute/" + lease.RedirectName(safe), "httproute/" + safe,
					"proxysettingspolicy/" + path, "proxysettingspolicy/" + safe, "snippetsfilter/" + path, "tlsroute/tls." + host}
			},
			func(host string) []part {
				return []part{service("tls", routedPart(8443, "tls: {termination: passthrough}", "tls."+host))}
			},
			func(host string) []string { return []string{"tlsroute/tls." + host} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, host := leaseOf(newTenant(t), 1), newHost("routes")
			r := record(t)
			r.config = configure(t, tc.config...)
			first := defineParts(t, id, tc.first(host)...)
			r.do(t, "apply", "-f", first)
			if got, want := routesOf(t, id), slices.Sorted(slices.Values(tc.want(host))); !slices.Equal(got, want) {
				t.Errorf("the routes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			r.sent()
			r.do(t, "apply", "-f", first).Prints(t, "unchanged")
			if writes := writesOf(r.sent()); len(writes) > 0 {
				t.Errorf("the second apply writes %v", writes)
			}
			r.do(t, "apply", "-f", defineParts(t, id, tc.then(host)...))
			if got, want := routesOf(t, id), tc.left(host); !slices.Equal(got, want) {
				t.Errorf("after the change the routes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			r.do(t, "release", id.Group().String())
			if got := append(routesOf(t, id), claimsOf(t, id.Owner)...); len(got) > 0 {
				t.Errorf("after the release there is %v", got)
			}
		})
	}
}

// Two deployments of an owner share a host by its paths; each path has its own withholder.
func TestPathsOfTwoDeployments(t *testing.T) {
	t.Parallel()
	owner, host := newTenant(t), newHost("shared")
	web, api := leaseOf(owner, 1), leaseOf(owner, 2)
	admin().do(t, "apply", "-f", defineParts(t, web, service("web", served(host))))
	admin().do(t, "apply", "-f", defineParts(t, api, service("api", routedPart(80, "path: /v1", host)), service("site", served(host)))).Prints(t,
		"host/"+host+" claimed", "host/"+host+" withheld (held by deployment "+web.Group().String()+")")
	admin().do(t, "state", "hosts", "-l", lease.LabelOwner+"="+owner).Prints(t, host+"/v1")
	need(t, ingresses, api.Namespace(), lease.RouteName(host, "/v1"))
	absent(t, ingresses, api.Namespace(), host)
	for _, id := range []lease.ID{web, api} {
		mustRun(t, 0, "state", "--problems", "-n", id.Namespace())
	}

	// Another owner gets no path of it.
	admin().run(t, "apply", "-f", defineParts(t, leaseOf(newTenant(t), 1), service("api", routedPart(80, "path: /v2", host)))).Exits(t, 4).Says(t, host)

	admin().do(t, "release", web.Group().String())
	if got := claimsOf(t, owner); !slices.Equal(got, []string{host}) {
		t.Errorf("the claims are %v", got)
	}
	admin().do(t, "apply", "-f", defineParts(t, api, service("api", routedPart(80, "path: /v1", host)), service("site", served(host)))).Prints(t, "ingress/"+host+" created")
	admin().do(t, "release", api.Group().String())
}
