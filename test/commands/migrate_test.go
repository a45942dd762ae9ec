package commands

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// nowhere is of a configuration whose Gateway nobody serves, so that no router is waited for.
const nowhere = "gateway: {name: none, namespace: default}"

// migrate is the command that moves a lease's routes, without letting two of them stand for a while, and
// without a controller's word where there is no controller.
func migrate(to string, id lease.ID, more ...string) []string {
	return append([]string{"migrate", "--to=" + to, "--overlap=0", "--assume-serving", id.Group().String()}, more...)
}

// same fails the test where two states of an object differ in what somebody wrote.
func same(t *testing.T, was, is *unstructured.Unstructured) {
	t.Helper()
	annotations := is.GetAnnotations()
	delete(annotations, lease.AnnotationTaken) // a run that has taken over the mark of one that was killed leaves it
	is.SetAnnotations(annotations)
	for _, diff := range []string{
		cmp.Diff(was.Object["spec"], is.Object["spec"]), cmp.Diff(was.GetAnnotations(), is.GetAnnotations()), cmp.Diff(was.GetLabels(), is.GetLabels()),
	} {
		if diff != "" {
			t.Errorf("%s %s (-before +after):\n%s", was.GetKind(), was.GetName(), diff)
		}
	}
}

// makeService makes what Akash's provider makes of a workload's port.
func makeService(t *testing.T, id lease.ID, name string) {
	t.Helper()
	createAs(t, providerServices, services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s},
		spec: {ports: [{name: 0-80, port: 80, targetPort: 8080}], selector: {akash.network/manifest-service: %s}}}`, name, id.Namespace(), name))
}

// A route goes to another kind and back. There it is what apply writes, back it is what it was; claims
// and ProviderHosts are not touched, and to do it again writes nothing.
func TestMigrateThereAndBack(t *testing.T) {
	for _, to := range []string{"httproute", "route"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			kind := map[string]kinds.Kind{"httproute": kinds.HTTPRoute, "route": kinds.Route}[to]
			id, host := leaseOf(newTenant(t), 1), newHost("migrate")
			path := lease.RouteName(host, "/v1")
			definition := defineParts(t, id, service("web", routedPart(80, "http: {readTimeout: 30s}", host), routedPart(80, "path: /v1, labels: {shard: eu}", host)))
			admin().do(t, "apply", "-f", definition)
			makeService(t, id, "web")
			wasRoot, wasPath := need(t, ingresses, id.Namespace(), host), need(t, ingresses, id.Namespace(), path)
			claim, providerHost := need(t, claims, ledger, host), need(t, hosts, manifests, host)
			r := record(t)
			r.config = configure(t, nowhere)
			r.do(t, migrate(to, id)...).Prints(t, to+"/"+host+" created", "ingress/"+host+" deleted", "is migrated: 1 host").
				Says(t, `configuration says "target: ingress"`, `Write "target: `+to+`" there`)
			if got, want := routesOf(t, id), []string{to + "/" + path, to + "/" + host}; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("the routes are %v", got)
			}
			now := need(t, kind.Resource(), id.Namespace(), host)
			admin().with(configure(t, nowhere, "target: "+to)).do(t, "apply", "-f", definition).Prints(t, "unchanged")
			if need(t, kind.Resource(), id.Namespace(), host).GetResourceVersion() != now.GetResourceVersion() {
				t.Error("apply writes the migrated route again")
			}
			r.sent()
			r.do(t, migrate(to, id)...).Prints(t, "is migrated: 1 host, unchanged")
			if writes := writesOf(r.sent()); len(writes) > 0 {
				t.Errorf("the second migration writes %v", writes)
			}

			r.do(t, migrate("ingress", id)...).Prints(t, "ingress/"+host+" created", to+"/"+host+" deleted")
			if got := routesOf(t, id); !slices.Equal(got, slices.Sorted(slices.Values([]string{"ingress/" + path, "ingress/" + host}))) {
				t.Errorf("back, the routes are %v", got)
			}
			same(t, wasRoot, need(t, ingresses, id.Namespace(), host))
			same(t, wasPath, need(t, ingresses, id.Namespace(), path))
			back := need(t, claims, ledger, host)
			back.SetResourceVersion(claim.GetResourceVersion()) // the run has left marks, which say nothing any more
			unmark(claim)
			unmark(back)
			back.SetManagedFields(claim.GetManagedFields())
			if diff := cmp.Diff(claim.Object, back.Object) + cmp.Diff(providerHost.Object, need(t, hosts, manifests, host).Object); diff != "" {
				t.Errorf("claim and ProviderHost (-before +after):\n%s", diff)
			}
			admin().do(t, "apply", "-f", definition).Prints(t, "unchanged")
		})
	}
}

// unmark takes the marks of commands off the values of a claim's parts.
func unmark(claim *unstructured.Unstructured) {
	annotations := claim.GetAnnotations()
	for name, value := range annotations {
		annotations[name] = regexp.MustCompile(`"run":"[^"]*",?`).ReplaceAllString(value, "")
	}
	claim.SetAnnotations(annotations)
}

// A dry run tells what would be done, and what would be lost, and writes nothing.
func TestMigrateDryRun(t *testing.T) {
	t.Parallel()
	host, id := newHost("migrate"), leaseOf(newTenant(t), 1)
	admin().do(t, "apply", "-f", defineParts(t, id, service("web", routedPart(80, "sticky: {cookie: shop}", host))))
	r := record(t)
	r.config = configure(t, nowhere)
	for mode, suffix := range map[string]string{"client": " (dry run)", "server": " (server dry run)"} {
		r.do(t, migrate("httproute", id, "--dry-run="+mode)...).Prints(t, "httproute/"+host+" lacks sticky: NGINX Gateway Fabric has sticky sessions by cookie only with NGINX Plus: use the target ingress or route"+suffix,
			"httproute/"+host+" created"+suffix, "ingress/"+host+" deleted"+suffix)
	}
	r.do(t, "migrate", "--to=httproute", "-l", lease.LabelOwner+"="+id.Owner, "--dry-run=client", "-o", "events").Prints(t, `"action":"lacks"`, `"message":"sticky: `)
	r.run(t, "migrate", "--to=httproute", "--all").Exits(t, 1).Says(t, "Migrate ", "nothing was migrated; -y answers the question")
	for _, q := range r.sent() {
		if q.writes() && q.query.Get("dryRun") == "" && !q.announces() {
			t.Errorf("it writes: %s", q)
		}
	}
	need(t, ingresses, id.Namespace(), host)
}

// A route that Akash's provider wrote moves too, and comes back as this program writes it. Where the provider has made the new route
// already, it stays as it is, and the old one goes; but only where both lead to the same.
func TestMigrateAkashsRoute(t *testing.T) {
	t.Parallel()
	host, id := newHost("migrate"), leaseOf(newTenant(t), 1)
	providerHost, ingress := deployHost(t, id, host)
	user := admin().with(configure(t, nowhere))
	user.run(t, migrate("httproute", id, "--operators=on")...).Exits(t, 1).Says(t, "--ingress-mode", "--ingress-mode")
	user.do(t, migrate("httproute", id)...).Prints(t, "httproute/"+host+" created", "ingress/"+host+" deleted")
	absent(t, ingresses, id.Namespace(), host)
	now := need(t, httpRoutes, id.Namespace(), host)
	if a := now.GetAnnotations(); a["nginx.org/client-max-body-size"] != "1048576" || a["nginx.org/proxy-read-timeout"] != "60" || now.GetLabels()[lease.LabelManaged] != "true" {
		t.Errorf("the HTTPRoute is %v", now.Object)
	}
	if diff := cmp.Diff(providerHost.Object, need(t, hosts, manifests, host).Object); diff != "" {
		t.Errorf("the ProviderHost (-before +after):\n%s", diff)
	}
	user.do(t, migrate("ingress", id)...)
	if diff := cmp.Diff(ingress.Object["spec"], need(t, ingresses, id.Namespace(), host).Object["spec"]); diff != "" {
		t.Errorf("the Ingress (-before +after):\n%s", diff)
	}

	akashs := func(backend string) *unstructured.Unstructured {
		return createAs(t, providerServices, httpRoutes, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {name: %s, namespace: %s, labels: %s, annotations: {nginx.org/proxy-buffer-size: 32k}},
		spec: {parentRefs: [{name: none, namespace: default}], hostnames: [%s], rules: [{backendRefs: [{name: %s, port: 80}]}]}}`, host, id.Namespace(), labelsOf(id), host, backend))
	}
	akashs("api")
	user.run(t, migrate("httproute", id)...).Exits(t, 1).Prints(t, "ingress/"+host+" kept (it leads "+host+" to web:80, and httproute ",
		"leads "+host+" to api:80", "kubectl -n "+id.Namespace()+" delete httproute "+host)
	remove(t, httpRoutes, id.Namespace(), host)
	was := akashs("web")
	user.do(t, migrate("httproute", id)...).Prints(t, "httproute/"+host+" unchanged (it is there already)", "ingress/"+host+" deleted")
	if now := need(t, httpRoutes, id.Namespace(), host); now.GetResourceVersion() != was.GetResourceVersion() {
		t.Errorf("the provider's HTTPRoute is %v", now.Object)
	}
}

// What the new kind cannot say, and what a setting decides, stays, with the reason; the lease's other routes move.
func TestMigrateLeavesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(t), 1), newHost("migrate")
	user := admin().with(configure(t, nowhere))
	user.do(t, "apply", "-f", defineParts(t, id, webPart(host, "canary."+host), service("tls", routedPart(443, "tls: {termination: passthrough}", "tls."+host))))
	o := need(t, ingresses, id.Namespace(), "canary."+host)
	o.SetAnnotations(with(o.GetAnnotations(), "nginx.ingress.kubernetes.io/canary", "true"))
	update(t, "administrator", ingresses, o)
	user.run(t, migrate("httproute", id)...).Exits(t, 1).Prints(t, "ingress/tls."+host+" kept (the provider's configuration names no listener",
		"ingress/canary."+host+" kept (administrator has set its annotation nginx.ingress.kubernetes.io/canary: true, which may decide who reaches what", "ingress/"+host+" deleted").Says(t, "2 of its routes stay as they are: ")
	if got := routesOf(t, id); !slices.Equal(got, slices.Sorted(slices.Values([]string{"httproute/" + host, "ingress/canary." + host, "ingress/tls." + host}))) {
		t.Errorf("the routes are %v", got)
	}
}

// A run that is killed before any of its writes leaves the host with a route, and the same command finishes the work: with what NGINX
// Gateway Fabric reads beside an HTTPRoute, which comes and goes with it.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{"ingress": "httproute", "httproute": "ingress"} {
		t.Run("to "+to, func(t *testing.T) {
			t.Parallel()
			fabric := "gateway: {implementation: nginx-gateway-fabric, name: none, namespace: default}"
			dies(t, 9, func(nth int32) bool {
				id, host := leaseOf(newTenant(t), 1), newHost("migrate")
				admin().with(configure(t, fabric, "target: "+from)).do(t, "apply", "-f", defineParts(t, id, service("web",
					routedPart(80, "http: {maxBodySize: 2097152, readTimeout: 30s, nextTries: 5}, tls: {termination: reencrypt, insecure: Redirect}", host))))
				r := record(t)
				r.config = configure(t, fabric)
				died := killAt(t, r, nth, migrate(to, id, "--concurrency=1"))
				if find(t, ingresses, id.Namespace(), host) == nil && find(t, httpRoutes, id.Namespace(), host) == nil {
					t.Errorf("killed at write %d, the host has no route", nth)
				}
				r.do(t, migrate(to, id, "--assume-crashed")...)
				want := []string{"ingress/" + host}
				if to == "httproute" {
					want = []string{"backendtlspolicy/web", "clientsettingspolicy/" + host, "httproute/" + host, "httproute/" + lease.RedirectName(host), "proxysettingspolicy/" + host, "snippetsfilter/" + host}
				}
				if got := routesOf(t, id); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
					t.Errorf("killed at write %d, and run again, the routes are %v", nth, got)
				}
				return died
			})
		})
	}
}
