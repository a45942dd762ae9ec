package commands

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
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
			id, host := leaseOf(newTenant(), 1), newHost("migrate")
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

// What NGINX Gateway Fabric reads beside an HTTPRoute comes and goes with it.
func TestMigrateWithPolicies(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("migrate")
	fabric := "gateway: {implementation: nginx-gateway-fabric, name: none, namespace: default}"
	admin().with(configure(t, fabric)).do(t, "apply", "-f", defineParts(t, id, service("web",
		routedPart(80, "http: {maxBodySize: 2097152, readTimeout: 30s, nextTries: 5}, tls: {termination: reencrypt, insecure: Redirect}, sticky: {cookie: c}", host))))
	was := need(t, ingresses, id.Namespace(), host)
	user := admin().with(configure(t, fabric))
	user.do(t, migrate("httproute", id)...).Prints(t, "httproute/"+host+" lacks sticky: NGINX Gateway Fabric has sticky sessions by cookie only with NGINX Plus")
	want := []string{"backendtlspolicy/web", "clientsettingspolicy/" + host, "httproute/" + host, "httproute/" + lease.RedirectName(host), "proxysettingspolicy/" + host, "snippetsfilter/" + host}
	if got := routesOf(t, id); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("the routes are %v", got)
	}
	user.do(t, migrate("ingress", id)...)
	if got := routesOf(t, id); !slices.Equal(got, []string{"ingress/" + host}) {
		t.Errorf("back, the routes are %v", got)
	}
	if diff := cmp.Diff(was.Object["spec"], need(t, ingresses, id.Namespace(), host).Object["spec"]); diff != "" {
		t.Errorf("the Ingress (-before +after):\n%s", diff)
	}
}

// A dry run tells what would be done, and what would be lost, and writes nothing.
func TestMigrateDryRun(t *testing.T) {
	host, id := newHost("migrate"), leaseOf(newTenant(), 1)
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	ingress := need(t, ingresses, id.Namespace(), host)
	ingress.SetAnnotations(map[string]string{"nginx.ingress.kubernetes.io/limit-rps": "5", lease.AnnotationDefinition: ingress.GetAnnotations()[lease.AnnotationDefinition]})
	update(t, "administrator", ingresses, ingress)
	before := fingerprints(t)
	user := admin().with(configure(t, nowhere))
	for mode, suffix := range map[string]string{"client": " (dry run)", "server": " (server dry run)"} {
		user.do(t, migrate("httproute", id, "--dry-run="+mode)...).Prints(t, "httproute/"+host+" lacks nginx.ingress.kubernetes.io/limit-rps"+suffix,
			"httproute/"+host+" created"+suffix, "ingress/"+host+" deleted"+suffix)
	}
	user.do(t, "migrate", "--to=httproute", "-l", lease.LabelOwner+"="+id.Owner, "--dry-run=client", "-o", "events").Prints(t, `"action":"lacks"`, `"message":"nginx.ingress.kubernetes.io/limit-rps"`)
	user.run(t, "migrate", "--to=httproute", "--all").Exits(t, 1).Says(t, "Migrate ", "nothing was migrated; -y answers the question")
	if diff := cmp.Diff(before, fingerprints(t)); diff != "" {
		t.Errorf("the dry runs changed the cluster (-before +after):\n%s", diff)
	}
}

// A route that Akash's provider wrote moves too, and comes back as this program writes it.
func TestMigrateAkashsRoute(t *testing.T) {
	t.Parallel()
	host, id := newHost("migrate"), leaseOf(newTenant(), 1)
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
}

// Where Akash's provider has made the new route already, it stays as it is, and the old one goes; but only where both lead to the same.
func TestMigrateFindsAkashsNewRoute(t *testing.T) {
	t.Parallel()
	host, id := newHost("migrate"), leaseOf(newTenant(), 1)
	deployHost(t, id, host)
	akashs := func(hosts, backend string) *unstructured.Unstructured {
		return createAs(t, providerServices, httpRoutes, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {name: %s, namespace: %s, labels: %s, annotations: {nginx.org/proxy-buffer-size: 32k}},
		spec: {parentRefs: [{name: none, namespace: default}], hostnames: [%s], rules: [{backendRefs: [%s]}]}}`, host, id.Namespace(), labelsOf(id), hosts, backend))
	}
	for _, tt := range []struct{ hosts, backend, says string }{
		{host, "{name: api, port: 80}", "leads " + host + " to api:80"},
		{host, "{name: web, port: 8080}", "leads " + host + " to web:8080"},
		{host, "{name: web, port: 80}, {name: api, port: 80}", "leads " + host + " to api:80, web:80"},
		{host + ", www." + host, "{name: web, port: 80}", "it does not have exactly one host"},
		{"www." + host, "{name: web, port: 80}", "it is not named"},
	} {
		akashs(tt.hosts, tt.backend)
		admin().with(configure(t, nowhere)).run(t, migrate("httproute", id)...).Exits(t, 1).Prints(t, "ingress/"+host+" left (it leads "+host+" to web:80, and httproute ",
			tt.says, "kubectl -n "+id.Namespace()+" delete httproute "+host)
		need(t, ingresses, id.Namespace(), host)
		remove(t, httpRoutes, id.Namespace(), host)
	}
	was := akashs(host, "{name: web, port: 80}")
	admin().run(t, "state", "--problems").Exits(t, 1).Prints(t, "MigrationUnderWay", host)
	admin().with(configure(t, nowhere)).do(t, migrate("httproute", id)...).Prints(t, "httproute/"+host+" unchanged (it is there already)", "ingress/"+host+" deleted")
	absent(t, ingresses, id.Namespace(), host)
	if now := need(t, httpRoutes, id.Namespace(), host); now.GetResourceVersion() != was.GetResourceVersion() {
		t.Errorf("the provider's HTTPRoute is %v", now.Object)
	}
}

// What a later definition says of the new route is not undone by the old one.
func TestMigrateKeepsWhatIsNewer(t *testing.T) {
	t.Parallel()
	host, id := newHost("migrate"), leaseOf(newTenant(), 1)
	admin().do(t, "apply", "-f", defineParts(t, id, service("web", routedPart(80, "http: {readTimeout: 10s}", host))))
	user := admin().with(configure(t, nowhere, "target: httproute"))
	user.do(t, "apply", "--prune=false", "-f", defineParts(t, id, service("web", routedPart(80, "http: {readTimeout: 20s}", host))))
	user.do(t, migrate("httproute", id)...).Prints(t, "ingress/"+host+" deleted")
	if got := need(t, httpRoutes, id.Namespace(), host).GetAnnotations()["nginx.org/proxy-read-timeout"]; got != "20" {
		t.Errorf("the read timeout is %s", got)
	}
}

// As long as the Gateway has not accepted the new route, the old one stays; so it does when the Gateway
// does not find the backend.
func TestMigrateWaitsForTheGateway(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("migrate")
	user := admin().with(makeGateway(t, "migrating"))
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	user.run(t, migrate("httproute", id, "--timeout=300ms")...).Exits(t, 5).Says(t, "httproute "+id.Namespace()+"/"+host+" to be accepted by a router")
	need(t, ingresses, id.Namespace(), host)
	admin().run(t, "state", "--problems").Exits(t, 1).Prints(t, "MigrationUnderWay", host)

	setStatus(t, httpRoutes, id.Namespace(), host, strings.Replace(judgement("migrating", "True", "Accepted", ""), "conditions: [",
		`conditions: [{type: ResolvedRefs, status: "False", reason: BackendNotFound, message: "no service web", observedGeneration: 1, lastTransitionTime: "2026-11-21T10:00:00Z"},`, 1))
	user.run(t, migrate("httproute", id, "--timeout=300ms")...).Exits(t, 5).Says(t, "no service web")
	need(t, ingresses, id.Namespace(), host)

	setStatus(t, httpRoutes, id.Namespace(), host, judgement("migrating", "True", "Accepted", ""))
	user.do(t, migrate("httproute", id, "--keep-old")...).Prints(t, "is prepared: 1 host, unchanged")
	need(t, ingresses, id.Namespace(), host)
	user.do(t, migrate("httproute", id)...).Prints(t, "ingress/"+host+" deleted")
	absent(t, ingresses, id.Namespace(), host)
	user.do(t, "release", id.Group().String())
}

// A host that another owner holds by now is not routed anew.
func TestMigrateLeavesOthersHosts(t *testing.T) {
	t.Parallel()
	host, id, other := newHost("migrate"), leaseOf(newTenant(), 1), leaseOf(newTenant(), 2)
	user := admin().with(configure(t, nowhere))
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	ingress := need(t, ingresses, id.Namespace(), host)
	admin().do(t, "release", id.Group().String())
	admin().do(t, "reserve", host, "--lease", other.String())
	ingress.SetResourceVersion("") // a route that was left behind
	ingress.SetUID("")
	ingress.SetManagedFields(nil)
	body, err := ingress.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	createAs(t, "akash-net", ingresses, string(body))
	user.run(t, migrate("httproute", id)...).Exits(t, 4).Says(t, host+" is held by another lease", other.Group().String(), "Nothing was changed")
	need(t, ingresses, id.Namespace(), host)
	absent(t, httpRoutes, id.Namespace(), host)
}

// releaseAt releases a lease when a request of a recorder's command comes, which goes on when the release has announced
// itself and listed who else has. What it returns waits for the end of the release.
func releaseAt(t *testing.T, r *recorder, text string, id lease.ID) (end func() result) {
	t.Helper()
	other := record(t)
	other.config = r.config
	announced, ended := make(chan struct{}), make(chan result, 1)
	var once, first sync.Once
	var sent atomic.Bool
	other.hold(nil, func(_ context.Context, q request) {
		if q.String() == "PATCH announcement" {
			sent.Store(true)
		}
		if sent.Load() && q.String() == "LIST leases" && strings.Contains(q.query.Get("labelSelector"), state.LabelOwner+" in ("+state.OwnerRun) {
			first.Do(func() { close(announced) })
		}
	})
	r.hold(func(ctx context.Context, q request) {
		if q.String() == text {
			once.Do(func() {
				go func() { ended <- other.execute(t.Context(), nil, "release", id.Group().String()) }()
				await(ctx, t, announced)
			})
		}
	}, nil)
	return func() result {
		t.Helper()
		select {
		case out := <-ended:
			return out
		case <-time.After(deadline):
			t.Fatalf("the release did not begin at %s, or does not end", text)
			return result{}
		}
	}
}

// A lease that is released while its route moves has none in the end: the release waits for the migration's turn.
func TestMigrateOfReleased(t *testing.T) {
	t.Parallel()
	host, id := newHost("migrate"), leaseOf(newTenant(), 1)
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	r := record(t)
	r.config = configure(t, nowhere)
	released := releaseAt(t, r, "PATCH httproutes/"+host, id)
	r.run(t, migrate("httproute", id)...).Prints(t, "httproute/"+host+" created")
	released().Exits(t, 0).Prints(t, "httproute/"+host+" deleted").Says(t, "waiting (another command is at work on it")
	if got := append(routesOf(t, id), claimsOf(t, id.Owner)...); len(got) > 0 {
		t.Errorf("there is %v", got)
	}
}

// What the new kind cannot say of who reaches what stays, with the reason; the lease's other routes move.
func TestMigrateLeavesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("migrate")
	user := admin().with(configure(t, nowhere))
	user.do(t, "apply", "-f", defineParts(t, id, webPart(host), service("tls", routedPart(443, "tls: {termination: passthrough}", "tls."+host))))
	user.run(t, migrate("httproute", id)...).Exits(t, 1).Prints(t, "ingress/tls."+host+" left (the provider's configuration names no listener", "ingress/"+host+" deleted").
		Says(t, "1 of its routes stay as they are: ingress/tls."+host)
	if got := routesOf(t, id); !slices.Equal(got, slices.Sorted(slices.Values([]string{"httproute/" + host, "ingress/tls." + host}))) {
		t.Errorf("the routes are %v", got)
	}
}

// Requests without TLS find what they found: ingress-nginx redirects them where there is TLS, so the Gateway does.
func TestMigrateKeepsTheRedirect(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("migrate")
	user := admin().with(configure(t, nowhere))
	user.do(t, "apply", "-f", defineParts(t, id, service("web", routedPart(443, "tls: {termination: edge, secretName: own}", host)),
		service("open", routedPart(443, "tls: {termination: edge, insecure: Allow}", "open."+host))))
	user.do(t, migrate("httproute", id)...).Prints(t, "httproute/"+lease.RedirectName(host)+" created", "ingress/"+host+" deleted", "ingress/open."+host+" deleted")
	for name, want := range map[string]string{host: "https-wildcard https-custom", lease.RedirectName(host): "http", "open." + host: ""} {
		var sections []string
		parents, _, _ := unstructured.NestedSlice(need(t, httpRoutes, id.Namespace(), name).Object, "spec", "parentRefs")
		for _, p := range parents {
			if section, _, _ := unstructured.NestedString(p.(map[string]any), "sectionName"); section != "" {
				sections = append(sections, section)
			}
		}
		if got := strings.Join(sections, " "); got != want {
			t.Errorf("%s attaches to the listeners %q, want %q", name, got, want)
		}
	}
}

// A route stays, with the reason, if its setting decides who reaches what, whichever controller reads it, or if another
// controller or Gateway serves it. A setting that is false does not.
func TestMigrateLeavesWhatDecides(t *testing.T) {
	t.Parallel()
	user := admin().with(configure(t, "gateway: {name: akash-gateway, namespace: akash-gateway}"))
	for change, left := range map[string]string{
		"nginx.ingress.kubernetes.io/canary=false": "", "nginx.ingress.kubernetes.io/use-regex=0": "",
		"nginx.ingress.kubernetes.io/canary=true": "nginx.ingress.kubernetes.io/canary: true decides",
		"nginx.org/basic-auth-secret=users":       "nginx.org/basic-auth-secret: users may decide",
		"haproxy.org/allow-list=10.0.0.0/8":       "haproxy.org/allow-list: 10.0.0.0/8 may decide",
		"konghq.com/plugins=key-auth":             "konghq.com/plugins: key-auth may decide",
		"class=internal":                          `it is of the IngressClass "internal"`,
	} {
		host, id := newHost("migrate"), leaseOf(newTenant(), 1)
		_, ingress := deployHost(t, id, host)
		key, value, _ := strings.Cut(change, "=")
		if key == "class" {
			_ = unstructured.SetNestedField(ingress.Object, value, "spec", "ingressClassName")
		} else {
			annotations := ingress.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
			ingress.SetAnnotations(annotations)
		}
		update(t, "administrator", ingresses, ingress)
		if left == "" {
			user.do(t, migrate("httproute", id)...).Prints(t, "ingress/"+host+" deleted")
			continue
		}
		user.run(t, migrate("httproute", id)...).Exits(t, 1).Prints(t, "ingress/"+host+" left ("+left)
		absent(t, httpRoutes, id.Namespace(), host)
		need(t, ingresses, id.Namespace(), host)
	}
	for parent, left := range map[string]string{
		"{name: internal-gateway, namespace: internal}":                          "it is attached to the Gateway internal/internal-gateway",
		"{kind: Service, group: '', name: web}":                                  "it is attached to the Service ",
		"{name: akash-gateway, namespace: akash-gateway, port: 8443}":            "it is attached only to port 8443",
		"{name: akash-gateway, namespace: akash-gateway, sectionName: internal}": `it attaches to the listener "internal"`,
	} {
		host, id := newHost("migrate"), leaseOf(newTenant(), 1)
		deployHost(t, id, host)
		remove(t, ingresses, id.Namespace(), host)
		createAs(t, providerServices, httpRoutes, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
			metadata: {name: %s, namespace: %s, labels: %s}, spec: {parentRefs: [%s], hostnames: [%s],
			rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: web, port: 80}]}]}}`, host, id.Namespace(), labelsOf(id), parent, host))
		user.run(t, migrate("ingress", id)...).Exits(t, 1).Prints(t, "httproute/"+host+" left ("+left)
		absent(t, ingresses, id.Namespace(), host)
		need(t, httpRoutes, id.Namespace(), host)
	}
}
