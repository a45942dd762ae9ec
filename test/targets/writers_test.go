package targets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// goldenObjects are the objects of the golden files, by file and section; of those that differ in their
// metadata only, one.
func goldenObjects(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	out := map[string][]*unstructured.Unstructured{}
	seen := map[string]bool{}
	add := func(name, text string) {
		for document := range strings.SplitSeq(text, "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err == nil && o.Object != nil && !seen[specOf(t, o)] {
				seen[specOf(t, o)] = true
				out[name] = append(out[name], o)
			}
		}
	}
	folder := filepath.Join("..", "..", "render", "testdata")
	for _, pattern := range []string{"*.yaml", "routes/*.txtar"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no golden files %s (%v)", pattern, err)
		}
		for _, file := range files {
			if filepath.Ext(file) == ".yaml" {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				add(filepath.Base(file), string(text))
				continue
			}
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, section := range archive.Files {
				add(filepath.Base(file)+" "+section.Name, plain(section.Data))
			}
		}
	}
	return out
}

// specOf tells apart objects that differ in more than their metadata.
func specOf(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal([]any{o.GetKind(), o.Object["spec"], o.GetLabels()[lease.LabelManaged]})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kindOf is the kind of a golden object.
func kindOf(t *testing.T, o *unstructured.Unstructured) kinds.Kind {
	t.Helper()
	kind := kinds.Of(o.GetKind())
	if kind.GroupVersionKind != o.GroupVersionKind() {
		t.Fatalf("the kind of %s %s is not known here", o.GroupVersionKind(), o.GetName())
	}
	return kind
}

// writer sends an object as one of those who may write it.
type writer struct {
	name  string
	write func(context.Context, kinds.Kind, *unstructured.Unstructured) error
}

// applied is server-side apply without force, as this program and pipelines do it.
func applied(manager string) writer {
	return writer{manager, func(ctx context.Context, kind kinds.Kind, o *unstructured.Unstructured) error {
		body, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = harness.Objects.Resource(kind.Resource()).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager})
		return err
	}}
}

// kubectl is kubectl apply --server-side.
var kubectl = writer{"kubectl", func(ctx context.Context, _ kinds.Kind, o *unstructured.Unstructured) error {
	body, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	return harness.Kubectl(ctx, string(body), nil, "apply", "--server-side", "-f", "-")
}}

// operator writes a whole object by Create and Update, without what Akash's operators do not write: the
// annotation of ours, and what the API server fills in.
var operator = writer{"akash", func(ctx context.Context, kind kinds.Kind, o *unstructured.Unstructured) error {
	o = o.DeepCopy()
	annotations := o.GetAnnotations()
	delete(annotations, lease.AnnotationDefinition)
	o.SetAnnotations(annotations)
	if kind == kinds.HTTPRoute {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		for _, rule := range rules {
			refs, _ := rule.(map[string]any)["backendRefs"].([]any)
			for _, ref := range refs {
				for _, field := range []string{"group", "kind", "weight"} {
					delete(ref.(map[string]any), field)
				}
			}
		}
		if err := unstructured.SetNestedSlice(o.Object, rules, "spec", "rules"); err != nil {
			return err
		}
	}
	client := harness.Objects.Resource(kind.Resource()).Namespace(o.GetNamespace())
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, o, metav1.CreateOptions{FieldManager: "akash"})
		return err
	}
	if err != nil {
		return err
	}
	o.SetResourceVersion(live.GetResourceVersion())
	_, err = client.Update(ctx, o, metav1.UpdateOptions{FieldManager: "akash"})
	return err
}}

// Whoever else writes the same object, the next write of the same bytes is no conflict.
func TestWritersOfTheSameBytes(t *testing.T) {
	t.Parallel()
	ours := applied(lease.FieldManager)
	seen := map[kinds.Kind]bool{}
	for name, objects := range goldenObjects(t) {
		for _, o := range objects {
			kind := kindOf(t, o)
			tried := [][]writer{{ours, applied("pipeline"), ours}}
			if !seen[kind] { // a process for each write
				tried = append(tried, []writer{kubectl, ours, kubectl})
			}
			if kind == kinds.ProviderHost || o.GetLabels()[lease.LabelManaged] == "true" && !weighted(o) {
				tried = append(tried, []writer{operator, ours, operator, ours})
			}
			seen[kind] = true
			for _, order := range tried {
				if err := writeInTurn(t, kind, o, order); err != nil {
					t.Errorf("%s: %s %s: %v", name, kind.Kind, o.GetName(), err)
				}
			}
		}
	}
	if len(seen) != 16 {
		t.Errorf("the golden files have %d kinds", len(seen))
	}
}

// weighted is true for what Akash's operators never write: a route to several services.
func weighted(o *unstructured.Unstructured) bool {
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	for _, rule := range rules {
		if refs, _ := rule.(map[string]any)["backendRefs"].([]any); len(refs) > 1 {
			return true
		}
	}
	return false
}

func writeInTurn(t *testing.T, kind kinds.Kind, o *unstructured.Unstructured, order []writer) error {
	t.Helper()
	defer func() {
		err := harness.Objects.Resource(kind.Resource()).Namespace(o.GetNamespace()).Delete(context.WithoutCancel(t.Context()), o.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}()
	var before []string
	for _, w := range order {
		if err := w.write(t.Context(), kind, o); err != nil {
			return fmt.Errorf("written by %s, after %s: %w", w.name, strings.Join(before, ", "), err)
		}
		before = append(before, w.name)
	}
	return nil
}
