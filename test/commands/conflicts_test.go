package commands

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// setByHand merges a patch into an object, as a field manager does with Update.
func setByHand(t *testing.T, resource schema.GroupVersionResource, namespace, name, manager, patch string) {
	t.Helper()
	if _, err := harness.Objects.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}); err != nil {
		t.Fatal(err)
	}
}

// setClass sets the class of an Ingress.
func setClass(t *testing.T, namespace, host, manager, class string) {
	t.Helper()
	setByHand(t, ingresses, namespace, host, manager, `{"spec":{"ingressClassName":"`+class+`"}}`)
}

// hasClass fails the test unless an Ingress has a class.
func hasClass(t *testing.T, namespace, host, want string) {
	t.Helper()
	if class, _, _ := unstructured.NestedString(need(t, ingresses, namespace, host).Object, "spec", "ingressClassName"); class != want {
		t.Fatalf("the class of %s is %q, want %q", host, class, want)
	}
}

// A conflict names both values and the manager, and nothing is changed for the lease. --force-conflicts takes back what kubectl users have
// set, says what that overwrites, and changes nothing of a lease if another manager is in the way.
func TestForceConflicts(t *testing.T) {
	t.Parallel()
	id, domain := leaseOf(newOwner(t), 1), newDomain()
	one, two, ns, group := "a."+domain, "b."+domain, id.Namespace(), id.Group().String()
	definition := define(t, id, web("web", 8080, one, two))
	apply := func(code int, more ...string) result {
		t.Helper()
		return mustRun(t, code, append([]string{"apply", "-f", definition}, more...)...)
	}
	const force = "--force-conflicts"
	apply(0)
	setClass(t, ns, one, "helm", "haproxy")
	mustRun(t, 1, "apply", "-f", define(t, id, web("web", 8080, one, two, "c."+domain))).
		Says(t, ".spec.ingressClassName: \"haproxy\", set by helm since ", "; the lease wants \"akash-ingress-class\"", "Nothing is forced")
	held(t, "c."+domain)
	unmarked(t, id.Owner)
	setClass(t, ns, two, "kubectl-edit", "traefik")
	for _, dry := range []string{"none", "client", "server"} {
		if r := apply(1, force, "--dry-run="+dry).Says(t, "fields are managed by helm"); strings.Contains(r.Stdout, "is applied") || strings.Contains(r.Stderr, "To take these fields back") {
			t.Errorf("what helm has set is forced: %s", r)
		}
	}
	hasClass(t, ns, one, "haproxy")
	hasClass(t, ns, two, "traefik")

	setClass(t, ns, one, "helm", "akash-ingress-class")
	for _, dry := range []string{"none", "client", "server"} {
		apply(1, "--dry-run="+dry).Says(t, "ingress/"+two, "To take these fields back: kubectl akash-net apply -f FILE --force-conflicts")
	}
	apply(0, force, "--dry-run=client").Prints(t, "ingress/"+two+" configured (dry run)", "traefik   owned by kubectl-edit", "1 update")
	apply(0, force, "--dry-run=server").Prints(t, "ingress/"+two+" configured (taken back: .spec.ingressClassName: \"traefik\", set by kubectl-edit since ")
	hasClass(t, ns, two, "traefik")

	plan := file(t, mustRun(t, 1, "diff", "-o", "json", "-f", definition).Prints(t, `"byHand": true`).Stdout)
	setClass(t, ns, two, "kubectl-edit", "contour")
	mustRun(t, 1, "apply", "--plan", plan, force).Says(t, "the plan is out of date: ingress/"+ns+"/"+two)
	hasClass(t, ns, two, "contour")
	const drift = ".spec.ingressClassName: \"contour\", set by kubectl-edit since "
	for _, of := range []string{two, group} {
		mustRun(t, 0, "explain", of).Prints(t, "ingress/"+two+" in namespace "+ns+" is not as the lease wants it: "+drift, "-> kubectl akash-net diff "+group)
	}
	mustRun(t, 1, "state", "--problems", "-o", "name", "-n", ns).Prints(t, "problem/Drift/ingress/"+two+"\n")
	mustRun(t, 1, "state", "--problems", "-o", "yaml", "-n", ns).Prints(t, "problem: Drift\n", drift, "put it back: apply the definition that the ledger keeps")
	for _, subject := range []string{"hosts", "leases"} {
		mustRun(t, 0, "state", subject, "-n", ns).Says(t, "Note: kubectl users have set fields of objects of lease "+id.String(), "kubectl akash-net explain "+group)
	}
	apply(0, force).Prints(t, "ingress/"+two+" configured (taken back: .spec.ingressClassName: \"contour\", set by kubectl-edit since ")
	hasClass(t, ns, two, "akash-ingress-class")
	apply(0, force).Prints(t, "unchanged")
	mustRun(t, 0, "state", "--problems", "-n", ns)
	if r := mustRun(t, 0, "state", "-n", ns); strings.Contains(r.Stderr, "kubectl users") {
		t.Errorf("kubectl users own no fields any more: %s", r)
	}

	// A field that somebody has removed has no owner, and is drift by the kept definition: the lease wants it.
	setByHand(t, ingresses, ns, one, "kubectl-patch", `{"spec":{"ingressClassName":null}}`)
	const gone = ".spec.ingressClassName is not set; the lease wants \"akash-ingress-class\""
	mustRun(t, 0, "explain", one).Prints(t, "ingress/"+one+" in namespace "+ns+" is not as the lease wants it: "+gone+".")
	if r := mustRun(t, 0, "explain", two); strings.Contains(r.Stdout, "is not as the lease wants it") {
		t.Errorf("another host is as it should be: %s", r)
	}
	r := mustRun(t, 1, "state", "--problems", "-o", "yaml", "-n", ns).Prints(t, "problem: Drift\n", gone, "put it back: apply the definition that the ledger keeps")
	if strings.Count(r.Stdout, "problem: ") != 1 {
		t.Errorf("there is one problem: %s", r)
	}
	apply(0)
	hasClass(t, ns, one, "akash-ingress-class")

	// An object with the labels of another lease is not forced.
	change(t, ingresses, ns, two, func(o *object) { o.SetLabels(with(o.GetLabels(), lease.LabelDSeq, "99")) })
	setClass(t, ns, two, "kubectl-edit", "traefik")
	apply(1, force)
	hasClass(t, ns, two, "traefik")
}

// resourceOf is the resource of a rendered kind.
func resourceOf(t *testing.T, o *unstructured.Unstructured) schema.GroupVersionResource {
	t.Helper()
	for _, k := range []kinds.Kind{
		kinds.ProviderHost, kinds.Ingress, kinds.HTTPRoute, kinds.ProviderLeasedIP, kinds.Service, kinds.IPAddressPool, kinds.L2Advertisement, kinds.BGPAdvertisement,
	} {
		if k.GroupVersionKind == o.GroupVersionKind() {
			return k.Resource()
		}
	}
	t.Fatalf("%s is not known here", o.GroupVersionKind())
	return schema.GroupVersionResource{}
}

// rendered are the objects that render prints.
func rendered(t *testing.T, args ...string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for document := range strings.SplitSeq(mustRun(t, 0, append([]string{"render"}, args...)...).Stdout, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if o.Object != nil {
			objects = append(objects, o)
		}
	}
	return objects
}

// deliver applies what render prints as a pipeline does, after edit has changed it.
func deliver(t *testing.T, edit func(*unstructured.Unstructured), args ...string) {
	t.Helper()
	force := true
	for _, o := range rendered(t, args...) {
		edit(o)
		body, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		_, err = harness.Objects.Resource(resourceOf(t, o)).Namespace(o.GetNamespace()).Patch(t.Context(), o.GetName(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: "pipeline", Force: &force})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func asRendered(*unstructured.Unstructured) {}

// backendPort makes the route of a host lead to another port.
func backendPort(port int64) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if o.GetKind() != kinds.Ingress.Kind {
			return
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		paths, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "http", "paths")
		_ = unstructured.SetNestedField(paths[0].(map[string]any), port, "backend", "service", "port", "number")
		_ = unstructured.SetNestedSlice(rules[0].(map[string]any), paths, "http", "paths")
		_ = unstructured.SetNestedSlice(o.Object, runtime.DeepCopyJSONValue(rules).([]any), "spec", "rules")
	}
}

// managersOf are those who own fields of an object.
func managersOf(o *unstructured.Unstructured) string {
	var names []string
	for _, m := range o.GetManagedFields() {
		names = append(names, m.Manager)
	}
	return strings.Join(names, ",")
}

// A lease whose routes a pipeline has delivered is applied: the bytes are the same, so nothing is in
// the way, on each target.
func TestApplyBesideAPipeline(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"ingress", "httproute"} {
		host, id := "shop."+newDomain(), leaseOf(newOwner(t), 1)
		makeNamespace(t, id)
		def := define(t, id, web("web", 8080, host))
		deliver(t, asRendered, "-f", def, "--target", target)
		mustRun(t, 0, "apply", "-f", def, "--target", target)
		deliver(t, asRendered, "-f", def, "--target", target)
		mustRun(t, 0, "apply", "-f", def, "--target", target).Prints(t, "providerhost/"+host+" unchanged")
	}
}

// An apply that another manager's values stop leaves the objects that were there as they were: with their values, and without fields of its
// own, also what the lease had applied before. The error says whose values they are, and which; a list with more in it than is wanted is not
// said to have other values.
func TestAFailedApplyKeepsNoFields(t *testing.T) {
	t.Parallel()
	host, id := "shop."+newDomain(), leaseOf(newOwner(t), 1)
	makeNamespace(t, id)
	def := define(t, id, web("web", 8080, host))
	stops := func(def string, says ...string) {
		t.Helper()
		before := need(t, hosts, "lease", host)
		mustRun(t, 1, "apply", "-f", def).Says(t, says...)
		after := need(t, hosts, "lease", host)
		if managersOf(after) != managersOf(before) || toText(t, after.Object["spec"]) != toText(t, before.Object["spec"]) ||
			after.GetAnnotations()[lease.AnnotationDefinition] != before.GetAnnotations()[lease.AnnotationDefinition] {
			t.Errorf("the ProviderHost was %v by %s, and is %v by %s", before.Object, managersOf(before), after.Object, managersOf(after))
		}
	}
	deliver(t, backendPort(8081), "-f", def)
	stops(def, "fields are managed by pipeline, with other values", ".spec.rules")
	held(t, host)
	deliver(t, asRendered, "-f", def)
	mustRun(t, 0, "apply", "-f", def)
	change(t, ingresses, id.Namespace(), host, backendPort(8081))
	stops(define(t, id, web("green", 8080, host)), "fields are managed by ", "set by somebody", ", with other values")
	held(t, host, "1 /")

	host, id = "shop."+newDomain(), leaseOf(newOwner(t), 1)
	makeNamespace(t, id)
	def = define(t, id, web("web", 8080, host))
	deliver(t, func(o *unstructured.Unstructured) {
		if rules, ok, _ := unstructured.NestedSlice(o.Object, "spec", "rules"); ok {
			rules[0].(map[string]any)["timeouts"] = map[string]any{"request": "10s"}
			_ = unstructured.SetNestedSlice(o.Object, rules, "spec", "rules")
		}
	}, "-f", def, "--target", "httproute")
	r := mustRun(t, 1, "apply", "-f", def, "--target", "httproute").Says(t, "fields are managed by pipeline", ".spec.rules", "more beside them")
	if strings.Contains(r.Stderr, "other values") {
		t.Errorf("no value differs: %s", r)
	}
}

// Two tenants whose objects pipelines deliver share a pool. When all that is rendered for one of them is
// deleted, as a pipeline does that prunes, the other keeps its address.
func TestPruningATenantLeavesThePool(t *testing.T) {
	t.Parallel()
	net24, ids, defs := newNet(), []lease.ID{leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1)}, []string{"", ""}
	cfg := configure(t, "ip: {ranges: ["+net24+"0/28]}")
	deliver(t, asRendered, "pools", "--config", cfg)
	for i, id := range ids {
		makeNamespace(t, id)
		defs[i] = define(t, id, leased("web", "public", 443))
		mustRun(t, 0, "reserve", "-f", defs[i], "--config", cfg)
		deliver(t, asRendered, "-f", defs[i], "--config", cfg, "--ledger", "cluster")
		mustRun(t, 0, "apply", "-f", defs[i], "--config", cfg) // waits until the address is granted
	}
	for _, o := range rendered(t, "-f", defs[0], "--config", cfg, "--ledger", "cluster") {
		remove(t, resourceOf(t, o), o.GetNamespace(), o.GetName())
	}
	need(t, pools, metalLB, rangePool(net24, "0-28"))
	mustRun(t, 0, "apply", "-f", defs[1], "--config", cfg).Prints(t, "is live")
}
