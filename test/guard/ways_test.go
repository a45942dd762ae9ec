package guard_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// way is one way of writing objects of a kind: a verb of the resource or of one of its subresources,
// in one of its versions.
type way struct {
	resource    schema.GroupVersionResource
	subresource string
	verb        string
	patch       types.PatchType
}

func (w way) String() string {
	name := strings.Join([]string{w.verb, string(w.patch), w.resource.Version, w.resource.Resource, w.subresource}, " ")
	return strings.ReplaceAll(name, "/", "-")
}

var patchTypes = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyPatchType}

// guarded are the kinds that any policy looks at.
func guarded(t *testing.T) []schema.GroupResource {
	t.Helper()
	objects, err := manifests.Guard(config.Default(), true)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[schema.GroupResource]bool{}
	for _, o := range objects {
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &policy); err != nil {
			t.Fatal(err)
		}
		if policy.Spec.MatchConstraints == nil {
			continue // a binding
		}
		for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
			for _, resource := range rule.Resources {
				name, _, _ := strings.Cut(resource, "/")
				kinds[schema.GroupResource{Group: rule.APIGroups[0], Resource: name}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
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
			name, sub, _ := strings.Cut(r.Name, "/")
			if gv.Group != kind.Group || name != kind.Resource {
				continue
			}
			for _, verb := range r.Verbs {
				w := way{resource: gv.WithResource(name), subresource: sub, verb: verb}
				switch verb {
				case "get", "list", "watch":
				case "create", "update":
					writes = append(writes, w)
				case "patch":
					for _, w.patch = range patchTypes {
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
	return writes, deletes
}

// send writes, as a dry run, what was before as it is to be after, in this way.
func (w way) send(t *testing.T, r ref, before, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	client := harness.Objects.Resource(w.resource).Namespace(r.namespace)
	after = after.DeepCopy()
	after.SetAPIVersion(w.resource.GroupVersion().String())
	var sub []string
	if w.subresource != "" {
		sub = []string{w.subresource}
	}
	switch w.verb {
	case "create":
		after = bare(after)
		return client.Create(t.Context(), after, metav1.CreateOptions{DryRun: dryRun}, sub...)
	case "update":
		return client.Update(t.Context(), after, metav1.UpdateOptions{DryRun: dryRun}, sub...)
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
		if _, kept := after.Object["spec"]; !kept && before != nil && before.Object["spec"] != nil {
			steps = append(steps, map[string]any{"op": "remove", "path": "/spec"})
		}
		body = encoded(t, steps)
	case types.ApplyPatchType:
		yes := true
		options.Force = &yes
		body = encoded(t, bare(after))
	default:
		was := []byte("{}")
		if before != nil {
			was = encoded(t, before)
		}
		var err error
		if body, err = jsonpatch.CreateMergePatch(was, encoded(t, after)); err != nil {
			t.Fatal(err)
		}
	}
	return client.Patch(t.Context(), after.GetName(), w.patch, body, options, sub...)
}

func encoded(t *testing.T, o any) []byte {
	t.Helper()
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// untouched is true where nothing has changed that a policy is about.
func untouched(before, after *unstructured.Unstructured) bool {
	managers := map[string]bool{}
	for _, m := range after.GetManagedFields() {
		if m.Operation == metav1.ManagedFieldsOperationApply {
			managers[m.Manager] = true
		}
	}
	for _, m := range before.GetManagedFields() {
		if m.Operation == metav1.ManagedFieldsOperationApply && !managers[m.Manager] {
			return false
		}
	}
	return equality.Semantic.DeepEqual(before.Object["spec"], after.Object["spec"]) &&
		equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) &&
		equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) &&
		equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) &&
		equality.Semantic.DeepEqual(before.GetFinalizers(), after.GetFinalizers())
}

// changesObjects is true for a way by which an object that is there can be given an annotation: what
// else can be changed in this way the rules have to judge.
func (w way) changesObjects(t *testing.T, r ref) bool {
	before := r.get(t)
	after := before.DeepCopy()
	annotations := maps.Clone(after.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["example.com/harmless"] = "yes"
	after.SetAnnotations(annotations)
	got, err := w.send(t, r, before, after)
	return err == nil && got.GetAnnotations()["example.com/harmless"] == "yes"
}

// Each rule holds in every way in which the API server lets the kind be written: what discovery names of verbs, versions and subresources is
// tried with every breach; in the short run with every tenth, drawn anew by the date.
func noWayPastARule(t *testing.T) {
	all := breaches()
	for _, kind := range guarded(t) {
		writes, _ := waysTo(t, kind)
		if len(writes) == 0 {
			t.Errorf("discovery does not name %s", kind)
		}
		tried := 0
		for _, b := range all {
			if b.write.like.resource.GroupResource() == kind {
				tried++
			}
		}
		if tried == 0 {
			t.Errorf("no breach is of kind %s", kind)
		}
		for n, w := range writes {
			t.Run(w.String(), func(t *testing.T) {
				t.Parallel()
				for i, b := range all {
					switch {
					case b.write.like.resource.GroupResource() != kind || !harness.Long() && (i+n+today)%10 != 0:
					case b.write.name == "":
						changed(t, w, b)
					default:
						made(t, w, b)
					}
				}
			})
		}
	}
}

// changed tries a breach that changes an object.
func changed(t *testing.T, w way, b breach) {
	t.Helper()
	if w.verb == "create" && w.subresource == "" {
		return // the object is there
	}
	before := b.write.like.get(t)
	got, err := w.send(t, b.write.like, before, b.write.object(t))
	switch {
	case refusedBy(err, b.policy):
	case err == nil && (got.GetName() != before.GetName() || untouched(before, got)): // it takes no notice of what was sent
	case err != nil && !w.changesObjects(t, b.write.like):
	default:
		t.Errorf("%s: %s passes (%v)", b.policy, b.name, err)
	}
}

// made tries a breach that makes an object.
func made(t *testing.T, w way, b breach) {
	t.Helper()
	if w.subresource != "" {
		return // it is of an object that is there
	}
	_, err := w.send(t, b.write.like, nil, b.write.object(t))
	patched := w.verb == "patch" && w.patch != types.ApplyPatchType // makes nothing
	switch {
	case refusedBy(err, b.policy), patched && err != nil, w.verb == "update" && isNotFound(err):
	default:
		t.Errorf("%s: %s passes (%v)", b.policy, b.name, err)
	}
}

func isNotFound(err error) bool { return err != nil && ignoreNotFound(err) == nil }

// The strict guard refuses each delete that names no uid, by every verb that deletes: a person's, and Akash's own PurgeDeclaredIP (by label).
func noDeletePastTheStrictGuard(t *testing.T) {
	for _, r := range []ref{aliceClaim, alicePort} {
		_, deletes := waysTo(t, r.resource.GroupResource())
		if len(deletes) < 2 {
			t.Errorf("discovery names %v for %s", deletes, r.resource.Resource)
		}
		refused := func(how string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "'akash-net-strict-") || !strings.Contains(err.Error(), "is held by ") {
				t.Errorf("%s, %s: want a refusal, got %v", r.name, how, err)
			}
		}
		for _, w := range deletes {
			client := harness.Objects.Resource(w.resource).Namespace(r.namespace)
			switch options := (metav1.DeleteOptions{DryRun: dryRun}); {
			case w.subresource != "":
				refused(w.String(), client.Delete(t.Context(), r.name, options, w.subresource))
			case w.verb == "delete":
				refused(w.String(), client.Delete(t.Context(), r.name, options))
			default:
				refused(w.String(), client.DeleteCollection(t.Context(), options, metav1.ListOptions{}))
			}
		}
		if r == alicePort { // claims do not have Akash's label
			refused("by label", r.client().DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{LabelSelector: "akash.network=true"}))
		}
		is := r.get(t)
		version, uid := is.GetResourceVersion(), is.GetUID()
		refused("a resource version alone", r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{ResourceVersion: &version}}))
		if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
			t.Errorf("%s, with its uid: %v", r.name, err)
		}
	}
}
