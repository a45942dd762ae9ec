package guard_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// bobs is the object as bob would have it: his wallet in all places but its name.
func bobs(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	theirs := harness.Parse(t, strings.ReplaceAll(text(t, o), alice, bob))
	theirs.SetName(o.GetName())
	return theirs
}

// bare is what a person or a Git repository keeps of an object.
func bare(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	return o
}

func text(t *testing.T, o any) string {
	t.Helper()
	return string(encoded(t, o))
}

// force is a server-side apply that takes over what others manage.
func force(t *testing.T, r ref, o *unstructured.Unstructured, manager string) error {
	t.Helper()
	yes := true
	_, err := r.client().Patch(t.Context(), r.name, types.ApplyPatchType, []byte(text(t, bare(o))), metav1.PatchOptions{FieldManager: manager, Force: &yes})
	return err
}

// The ways in which people and programs write over what is not theirs.
var writers = map[string]func(t *testing.T, r ref, o *unstructured.Unstructured) error{
	"kubectl edit": func(t *testing.T, r ref, _ *unstructured.Unstructured) error {
		return kubectl(t, "", []string{"KUBE_EDITOR=sed -i -e '/^  name: /!s/" + alice + "/" + bob + "/g'"}, "-n", r.namespace, "edit", r.resource.Resource, r.name)
	},
	"kubectl patch": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		return kubectl(t, "", nil, "-n", r.namespace, "patch", r.resource.Resource, r.name, "--type=merge", "-p", text(t, bare(bobs(t, o))))
	},
	"kubectl replace": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		return kubectl(t, text(t, bare(bobs(t, o))), nil, "replace", "-f", "-")
	},
	"kubectl label": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		args := []string{"-n", r.namespace, "label", "--overwrite", r.resource.Resource, r.name}
		for key, value := range o.GetLabels() {
			if value == alice {
				args = append(args, key+"="+bob)
			}
		}
		return kubectl(t, "", nil, args...)
	},
	"kubectl apply, forced": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		return kubectl(t, text(t, bare(bobs(t, o))), nil, "apply", "--server-side", "--force-conflicts", "--field-manager="+bobLease.Group().FieldManager(), "-f", "-")
	},
	"kubectl apply, client-side": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		return kubectl(t, text(t, bare(bobs(t, o))), nil, "apply", "-f", "-")
	},
	"a GitOps controller": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		return force(t, r, bobs(t, o), "kustomize-controller")
	},
	"an Update": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		_, err := r.client().Update(t.Context(), bobs(t, o), metav1.UpdateOptions{FieldManager: "provider-services"})
		return err
	},
	"an Update with managed fields stripped": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		o = bobs(t, o)
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
		_, err := r.client().Update(t.Context(), o, metav1.UpdateOptions{})
		return err
	},
	"an Update with managed fields forged": func(t *testing.T, r ref, o *unstructured.Unstructured) error {
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].Manager, fields[i].Operation = bobLease.Group().FieldManager(), metav1.ManagedFieldsOperationApply
		}
		o = bobs(t, o)
		o.SetManagedFields(fields[:1])
		_, err := r.client().Update(t.Context(), o, metav1.UpdateOptions{})
		return err
	},
}

// written calls a function for each writer and object; in the short run for one object of each writer, drawn anew by the date.
func written(try func(name string, r ref)) {
	for i, name := range slices.Sorted(maps.Keys(writers)) {
		for n, r := range []ref{aliceClaim, aliceAddress, aliceHost, alicePort} {
			if harness.Long() || (i+n+today)%4 == 0 {
				try(name, r)
			}
		}
	}
}

func nobodyTakesWhatIsHeld(t *testing.T) {
	written(func(name string, r ref) {
		t.Run(r.resource.Resource+" "+r.name+"/"+name, func(t *testing.T) {
			t.Parallel()
			before := r.get(t)
			err := writers[name](t, r, before.DeepCopy())
			if err == nil || !strings.Contains(err.Error(), "is forbidden: ValidatingAdmissionPolicy") || !strings.Contains(err.Error(), "is held by "+alice) {
				t.Errorf("want a refusal that names %s, got %v", alice, err)
			}
			if after := r.get(t); after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("the object has changed: %v", after.Object)
			}
		})
	})
}

// Without the guard each of the writers has its way: the test above could fail.
func everybodyWrites(t *testing.T) {
	written(func(name string, r ref) {
		before := r.get(t)
		if err := writers[name](t, r, before.DeepCopy()); err != nil {
			t.Errorf("%s: %s: %v", r.name, name, err)
		}
		if after := r.get(t); after.GetResourceVersion() == before.GetResourceVersion() {
			t.Errorf("%s: %s has not changed", r.name, name)
		}
		r.restore(t, before)
	})
}
