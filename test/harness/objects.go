package harness

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// Find returns an object, or nil if there is none.
func Find(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := Objects.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Need returns an object that must exist.
func Need(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := Find(t, resource, namespace, name)
	if o == nil {
		t.Fatalf("there is no %s %s/%s", resource.Resource, namespace, name)
	}
	return o
}

// List returns the objects of a resource that match a label selector, sorted by name.
func List(t *testing.T, resource schema.GroupVersionResource, selector string) []unstructured.Unstructured {
	t.Helper()
	found, err := Objects.Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(found.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found.Items
}

// Create creates an object from YAML or JSON, as a field manager without server-side apply does.
func Create(t *testing.T, manager string, resource schema.GroupVersionResource, text string) *unstructured.Unstructured {
	t.Helper()
	o := Parse(t, text)
	made, err := Objects.Resource(resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Update updates an object as a field manager without server-side apply does.
func Update(t *testing.T, manager string, resource schema.GroupVersionResource, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := Objects.Resource(resource).Namespace(o.GetNamespace()).Update(t.Context(), o, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		t.Fatal(err)
	}
}

// Edit reads an object, changes it, and updates it. After a conflict with a controller it tries again.
func Edit(t *testing.T, manager string, resource schema.GroupVersionResource, namespace, name string, edit func(*unstructured.Unstructured)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o := Need(t, resource, namespace, name)
		edit(o)
		_, err := Objects.Resource(resource).Namespace(namespace).Update(t.Context(), o, metav1.UpdateOptions{FieldManager: manager})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Remove deletes an object that must exist.
func Remove(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := Objects.Resource(resource).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until check returns true; what names the wait in the failure.
func Eventually(t *testing.T, what string, check func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, Deadline, true, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// ServerTime returns the API server's time.
func ServerTime(t *testing.T) time.Time {
	t.Helper()
	o, err := Objects.Resource(cluster.Namespaces).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "clock-"},
	}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	return o.GetCreationTimestamp().Time
}

// Parse parses an object from YAML or JSON.
func Parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o, err := ParseObject(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// ParseObject is Parse for callers without a test.
func ParseObject(text string) (*unstructured.Unstructured, error) {
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	return o, o.UnmarshalJSON(body)
}
