// Package targets_test shows that a real API server takes every object of every target, by the
// CustomResourceDefinitions of the Gateway API, of OpenShift's Route and of Akash.
package targets_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/test/harness"
	"github.com/akash-net/kubectl-akash-net/test/routegen"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", map[bool]string{true: "400", false: "25"}[harness.Long()]); err != nil { // the command line may say otherwise
		panic(err)
	}
	os.Exit(harness.Main(m, harness.Setup{
		Pools: true, Gateways: true, Routes: true, Records: true, CRDs: []string{"testdata", filepath.Join("..", "..", "manifests", "crds")},
		Then: func(ctx context.Context) error {
			for _, name := range []string{"lease", "manifests", routegen.Lease.Namespace()} {
				namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
				if _, err := harness.Objects.Resource(kinds.Namespace.Resource()).Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			return nil
		},
	}))
}

// accept sends an object as the program does, and strictly: a field that the server does not know
// is an error.
func accept(ctx context.Context, kind kinds.Kind, namespace, name string, data []byte) error {
	force, strict := true, metav1.PatchOptions{FieldManager: lease.FieldManager, DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	strict.Force = &force
	_, err := harness.Objects.Resource(kind.Resource()).Namespace(namespace).Patch(ctx, name, types.ApplyPatchType, data, strict)
	return err
}

// Every object in the golden files of the features is accepted.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "render", "testdata", "routes", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	seen := map[kinds.Kind]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+section.Name, func(t *testing.T) {
				for document := range strings.SplitSeq(plain(section.Data), "\n---\n") {
					o := &unstructured.Unstructured{}
					if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil || o.Object == nil {
						continue // all are refused
					}
					kind := kindOf(t, o)
					seen[kind] = true
					data, err := o.MarshalJSON()
					if err != nil {
						t.Fatal(err)
					}
					if err := accept(t.Context(), kind, o.GetNamespace(), o.GetName(), data); err != nil {
						t.Errorf("%v\n%s", err, document)
					}
				}
			})
		}
	}
	for _, kind := range slices.Concat(kinds.RouteKinds, kinds.Filters, kinds.Policies) {
		if !seen[kind] {
			t.Errorf("no golden file has a %s", kind.Kind)
		}
	}
}

// plain is a section without the lines that are no YAML.
func plain(section []byte) string {
	var out strings.Builder
	for line := range strings.Lines(string(section)) {
		if !strings.HasPrefix(line, "warning: ") && !strings.HasPrefix(line, "refused: ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// Whatever definition passes, on whatever target: it is refused with a reason, or all its objects
// are accepted.
func TestGeneratedDefinitions(t *testing.T) {
	t.Parallel()
	made := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		def := routegen.Definition(r)
		if problems := lease.Check(def); problems.Failed() {
			r.Fatal(problems)
		}
		for _, target := range routegen.Targets() {
			objects, err := render.Lease(def, target.Config, nil)
			if _, ok := errors.AsType[lease.Problems](err); ok {
				continue
			} else if err != nil {
				r.Fatal(err)
			}
			for _, o := range objects {
				data, err := json.Marshal(o)
				if err != nil {
					r.Fatal(err)
				}
				if err := accept(t.Context(), o.Kind, o.Namespace, o.Name, data); err != nil {
					r.Fatalf("%s: %v\n%s", target.Name, err, data)
				}
				made[fmt.Sprint(target.Name, ": ", o.Kind.Kind)]++
			}
		}
	})
	for _, want := range []string{"ingress: Ingress", "route: Route", "httproute standard: HTTPRoute", "httproute nginx-gateway-fabric: ProxySettingsPolicy"} {
		if made[want] == 0 && harness.Long() {
			t.Errorf("nothing was made of %s: %v", want, made)
		}
	}
	t.Log(made)
}
