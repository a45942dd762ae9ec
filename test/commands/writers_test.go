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

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

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

// managers are those who own fields of an object.
func managers(o *unstructured.Unstructured) string {
	var names []string
	for _, m := range o.GetManagedFields() {
		names = append(names, m.Manager)
	}
	return strings.Join(names, ",")
}

// A lease whose routes a pipeline has delivered is applied: the bytes are the same, so nothing is in
// the way, on each target.
func TestApplyBesideAPipeline(t *testing.T) {
	for _, target := range []string{"ingress", "httproute"} {
		host := "shop." + newDomain()
		id := leaseOf(newOwner(), 1)
		makeNamespace(t, id)
		def := define(t, id, web("web", 8080, host))
		deliver(t, asRendered, "-f", def, "--target", target)
		mustRun(t, 0, "apply", "-f", def, "--target", target)
		deliver(t, asRendered, "-f", def, "--target", target)
		mustRun(t, 0, "apply", "-f", def, "--target", target).Prints(t, "providerhost/"+host+" unchanged")
		mustRun(t, 0, "release", id.Group().String())
	}
}

// An apply that another manager's values stop leaves the objects that were there as they were: with
// their values, and without fields of its own. The error says whose values they are, and which.
func TestAFailedApplyKeepsNoFields(t *testing.T) {
	host := "shop." + newDomain()
	id := leaseOf(newOwner(), 1)
	makeNamespace(t, id)
	def := define(t, id, web("web", 8080, host))
	deliver(t, backendPort(8081), "-f", def)
	before := need(t, hosts, "lease", host)
	mustRun(t, 1, "apply", "-f", def).Says(t, "fields are managed by pipeline, with other values", ".spec.rules")
	if after := need(t, hosts, "lease", host); managers(after) != managers(before) || toText(t, after.Object["spec"]) != toText(t, before.Object["spec"]) {
		t.Errorf("the ProviderHost was %v by %s, and is %v by %s", before.Object["spec"], managers(before), after.Object["spec"], managers(after))
	}
	held(t, host)
}

// The same of objects that the lease had applied before: they have their former values.
func TestAFailedApplyRestoresValues(t *testing.T) {
	host := "shop." + newDomain()
	id := leaseOf(newOwner(), 1)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	before := need(t, hosts, "lease", host)
	change(t, ingresses, id.Namespace(), host, backendPort(8081))
	mustRun(t, 1, "apply", "-f", define(t, id, web("green", 8080, host))).Says(t, "fields are managed by somebody, with other values")
	after := need(t, hosts, "lease", host)
	if toText(t, after.Object["spec"]) != toText(t, before.Object["spec"]) || after.GetAnnotations()["net.akash.network/definition"] != before.GetAnnotations()["net.akash.network/definition"] {
		t.Errorf("the ProviderHost was %v, and is %v", before.Object, after.Object)
	}
	change(t, ingresses, id.Namespace(), host, backendPort(80))
	mustRun(t, 1, "apply", "-f", define(t, id, web("green", 8080, host)))
	held(t, host, "1 /")
}

// A list that another manager has applied as a whole, with more in it than is wanted, is not said to
// have other values.
func TestConflictWithoutOtherValues(t *testing.T) {
	host := "shop." + newDomain()
	id := leaseOf(newOwner(), 1)
	makeNamespace(t, id)
	def := define(t, id, web("web", 8080, host))
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
	net24 := newNet()
	cfg := configure(t, "ip: {ranges: ["+net24+"0/28]}")
	deliver(t, asRendered, "pools", "--config", cfg)
	ids := []lease.ID{leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)}
	defs := make([]string, len(ids))
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
	if pool := find(t, pools, "metallb-system", "akash-net-"+strings.ReplaceAll(net24, ".", "-")+"0-28"); pool == nil {
		t.Error("the pool went with one tenant's objects")
	}
	mustRun(t, 0, "apply", "-f", defs[1], "--config", cfg).Prints(t, "is live")
	for _, id := range ids {
		mustRun(t, 0, "release", id.Group().String())
	}
}
