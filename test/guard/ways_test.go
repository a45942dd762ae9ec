package guard_test

import (
	"cmp"
	"maps"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// way is one way of writing objects of a kind: a verb of the resource or of one of its subresources,
// in one of its versions.
type way struct {
	resource    schema.GroupVersionResource
	subresource []string
	verb        string
	patch       types.PatchType
}

func (w way) String() string {
	name := strings.Join(append([]string{w.verb, string(w.patch), w.resource.Version, w.resource.Resource}, w.subresource...), " ")
	return strings.ReplaceAll(name, "/", "-")
}

// waysTo are the ways in which the API server lets objects of a kind be written, by its discovery.
func waysTo(t *testing.T, kind schema.GroupResource) (writes, deletes []way) {
	t.Helper()
	_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(harness.Plane.Config).ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			parts := strings.Split(r.Name, "/")
			if gv.Group != kind.Group || parts[0] != kind.Resource {
				continue
			}
			for _, verb := range r.Verbs {
				w := way{resource: gv.WithResource(parts[0]), subresource: parts[1:], verb: verb}
				switch verb {
				case "get", "list", "watch":
				case "create", "update":
					writes = append(writes, w)
				case "patch":
					for _, w.patch = range []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyPatchType} {
						writes = append(writes, w)
					}
				case "delete", "deletecollection":
					deletes = append(deletes, w)
				default:
					t.Errorf("%s: a verb that no test knows", w)
				}
			}
		}
	}
	if len(writes) == 0 || len(deletes) == 0 {
		t.Errorf("discovery names %v and %v for %s", writes, deletes, kind)
	}
	return writes, deletes
}

// send writes, as a dry run, what was before as it is to be after, in this way.
func (w way) send(t *testing.T, r ref, before, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	client := harness.Objects.Resource(w.resource).Namespace(r.namespace)
	after = after.DeepCopy()
	after.SetAPIVersion(w.resource.GroupVersion().String())
	switch w.verb {
	case "create":
		return client.Create(t.Context(), bare(after), metav1.CreateOptions{DryRun: dryRun}, w.subresource...)
	case "update":
		return client.Update(t.Context(), after, metav1.UpdateOptions{DryRun: dryRun}, w.subresource...)
	}
	options := metav1.PatchOptions{DryRun: dryRun, FieldManager: "test"}
	var body []byte
	switch w.patch {
	case types.JSONPatchType:
		var steps []map[string]any
		for key, value := range after.Object {
			if key != "apiVersion" && key != "kind" {
				steps = append(steps, map[string]any{"op": "add", "path": "/" + key, "value": value})
			}
		}
		if after.Object["spec"] == nil && before.Object["spec"] != nil {
			steps = append(steps, map[string]any{"op": "remove", "path": "/spec"})
		}
		body = encoded(t, steps)
	case types.ApplyPatchType:
		yes := true
		options.Force = &yes
		body = encoded(t, bare(after))
	default:
		var err error
		if body, err = jsonpatch.CreateMergePatch(encoded(t, before.Object), encoded(t, after)); err != nil {
			t.Fatal(err)
		}
	}
	return client.Patch(t.Context(), after.GetName(), w.patch, body, options, w.subresource...)
}

// untouched is true where nothing has changed that a policy is about.
func untouched(before, after *unstructured.Unstructured) bool {
	judged := func(o *unstructured.Unstructured) []any {
		managers := map[string]bool{}
		for _, m := range o.GetManagedFields() {
			managers[m.Manager] = managers[m.Manager] || m.Operation == metav1.ManagedFieldsOperationApply && m.Manager != "test"
		}
		maps.DeleteFunc(managers, func(_ string, applies bool) bool { return !applies })
		return []any{o.Object["spec"], o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), o.GetFinalizers(), managers, o.GetName()}
	}
	return equality.Semantic.DeepEqual(judged(before), judged(after))
}

// changesObjects is true for a way by which an object that is there can be given an annotation: what
// else can be changed in this way the rules have to judge.
func (w way) changesObjects(t *testing.T, r ref) bool {
	before := r.get(t)
	after := before.DeepCopy()
	annotations := map[string]string{"example.com/harmless": "yes"}
	maps.Copy(annotations, after.GetAnnotations())
	after.SetAnnotations(annotations)
	got, err := w.send(t, r, before, after)
	return err == nil && got.GetAnnotations()["example.com/harmless"] == "yes"
}

// Each rule holds in every way in which the API server lets the kind be written: what discovery names of verbs, versions and subresources is
// tried with every breach; in the short run with every tenth, drawn anew by the date.
func noWayPastARule(t *testing.T) {
	breaches := map[schema.GroupResource][]write{}
	for _, b := range writes {
		if kind := b.like.resource.GroupResource(); b.Says != "" {
			breaches[kind] = append(breaches[kind], b)
		}
	}
	for kind, breaches := range breaches {
		ways, _ := waysTo(t, kind)
		for n, w := range ways {
			t.Run(w.String(), func(t *testing.T) {
				t.Parallel()
				for i, b := range breaches {
					if (harness.Long() || (i+n+harness.Today())%10 == 0) && w.passes(t, b) {
						t.Errorf("%s passes", b.Is)
					}
				}
			})
		}
	}
}

// passes tries a breach. A way that writes no such object, or takes no notice of what was sent, lets nothing pass.
func (w way) passes(t *testing.T, b write) bool {
	t.Helper()
	after, _ := b.object(t)
	if b.As != "" {
		if len(w.subresource) > 0 {
			return false // it is of an object that is there
		}
		_, err := w.send(t, b.like, &unstructured.Unstructured{Object: map[string]any{}}, after)
		if w.verb == "patch" && w.patch != types.ApplyPatchType {
			return err == nil // it makes nothing
		}
		return !refusedBy(err, b.policy()) && (w.verb == "create" || !apierrors.IsNotFound(err))
	}
	if w.verb == "create" && len(w.subresource) == 0 {
		return false // the object is there
	}
	before := b.like.get(t)
	got, err := w.send(t, b.like, before, after)
	switch {
	case refusedBy(err, b.policy()):
		return false
	case err == nil:
		return cmp.Or(got.GetName(), before.GetName()) == before.GetName() && !untouched(before, got)
	}
	return w.changesObjects(t, b.like)
}

// The strict guard refuses each delete that names no uid, by every verb that deletes: a person's, and Akash's own PurgeDeclaredIP (by label).
func noDeletePastTheStrictGuard(t *testing.T) {
	for _, r := range []ref{refs["claim"], refs["ProviderLeasedIP"]} {
		refused := func(how string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "'akash-net-strict-") || !strings.Contains(err.Error(), "is held by ") {
				t.Errorf("%s, %s: want a refusal, got %v", r.name, how, err)
			}
		}
		plain := metav1.DeleteOptions{DryRun: dryRun}
		_, deletes := waysTo(t, r.resource.GroupResource())
		for _, w := range deletes {
			client := harness.Objects.Resource(w.resource).Namespace(r.namespace)
			if w.verb == "delete" {
				refused(w.String(), client.Delete(t.Context(), r.name, plain, w.subresource...))
			} else {
				refused(w.String(), client.DeleteCollection(t.Context(), plain, metav1.ListOptions{}))
			}
		}
		if r.resource == leasedIPs { // claims do not have Akash's label
			refused("by label", r.client().DeleteCollection(t.Context(), plain, metav1.ListOptions{LabelSelector: "akash.network=true"}))
		}
		is := r.get(t)
		version, uid := is.GetResourceVersion(), is.GetUID()
		plain.Preconditions = &metav1.Preconditions{ResourceVersion: &version}
		refused("a resource version alone", r.client().Delete(t.Context(), r.name, plain))
		plain.Preconditions = &metav1.Preconditions{UID: &uid}
		if err := r.client().Delete(t.Context(), r.name, plain); err != nil {
			t.Errorf("%s, with its uid: %v", r.name, err)
		}
	}
	// Akash's provider deletes a host to make it for another owner.
	if err := refs["ProviderHost"].client().Delete(t.Context(), shop, metav1.DeleteOptions{DryRun: dryRun}); err != nil {
		t.Error(err)
	}
}

// kubectlWrites lets people write bob into what alice holds: with the guard they are told whose it is, and nothing has changed.
func kubectlWrites(guarded bool) func(*testing.T) {
	bobs := func(t *testing.T, r ref) string {
		o := bare(r.get(t))
		theirs := harness.Parse(t, strings.ReplaceAll(string(encoded(t, o)), alice, bob))
		theirs.SetName(o.GetName())
		return string(encoded(t, theirs))
	}
	return func(t *testing.T) {
		for i, name := range []string{"claim", "address", "ProviderHost", "ProviderLeasedIP"} {
			for j, args := range [][]string{
				{"edit"}, {"replace", "-f", "-"}, {"apply", "-f", "-"}, {"apply", "--server-side", "--force-conflicts", "--field-manager=" + managers["stranger"], "-f", "-"},
			} {
				if r := refs[name]; harness.Long() || (i+j+harness.Today())%4 == 0 {
					before := r.get(t)
					if args[0] == "edit" {
						args = []string{"-n", r.namespace, "edit", r.resource.Resource, r.name}
					}
					err := harness.Kubectl(t.Context(), bobs(t, r), []string{"KUBE_EDITOR=sed -i -e '/^  name: /!s/" + alice + "/" + bob + "/g'"}, args...)
					after := r.get(t)
					if changed := after.GetResourceVersion() != before.GetResourceVersion(); changed == guarded || (err == nil) == guarded {
						t.Errorf("%s %q: changed %t, %v", name, args, changed, err)
					}
					if guarded && (err == nil || !strings.Contains(err.Error(), "is forbidden: ValidatingAdmissionPolicy") || !strings.Contains(err.Error(), "is held by "+alice)) {
						t.Errorf("%s %q: want a refusal that names %s, got %v", name, args, alice, err)
					}
					if !guarded { // it is made again what it was
						before.SetResourceVersion(after.GetResourceVersion())
						harness.Update(t, "test", r.resource, before)
					}
				}
			}
		}
	}
}
