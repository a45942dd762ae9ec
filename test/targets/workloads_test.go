package targets_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/harness"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

var running = []kinds.Kind{
	kinds.Namespace, kinds.Manifest, kinds.NetworkPolicy, kinds.ServiceAccount, kinds.Role, kinds.RoleBinding, kinds.Secret,
	kinds.Deployment, kinds.StatefulSet, kinds.Service,
}

// Every object in the golden files of workloads can be created, as it is printed: with ports that are repeated.
func TestGoldenWorkloads(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "render", "workload", "testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			if section.Name != "objects.yaml" {
				continue
			}
			for document := range strings.SplitSeq(string(section.Data), "\n---\n") {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
					t.Fatal(err)
				}
				seen[o.GetKind()] = true
				if err := create(t, o); err != nil && !apierrors.IsAlreadyExists(err) {
					t.Errorf("%s: %v\n%s", file, err, document)
				}
			}
		}
	}
	for _, kind := range running {
		if !seen[kind.Kind] {
			t.Errorf("no golden file has a %s", kind.Kind)
		}
	}
}

func create(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	for _, kind := range running {
		if kind.Kind == o.GetKind() {
			_, err := harness.Objects.Resource(kind.Resource()).Namespace(o.GetNamespace()).Create(t.Context(), o,
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			return err
		}
	}
	t.Fatalf("%s is no kind of a workload", o.GetKind())
	return nil
}

// Whatever lease passes: all that it runs is accepted, by server-side apply.
func TestGeneratedWorkloads(t *testing.T) {
	t.Parallel()
	made := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		def, params := workgen.Definition(r)
		rendered, err := workload.Lease(def, workgen.Config(r), workload.Options{Scheduler: params, Secrets: true, Unique: true})
		if err != nil {
			r.Fatal(err)
		}
		for _, o := range rendered.Objects {
			data, err := json.Marshal(o)
			if err != nil {
				r.Fatal(err)
			}
			if err := accept(t.Context(), o.Kind, o.Namespace, o.Name, data); err != nil {
				r.Fatalf("%v\n%s", err, data)
			}
			made[o.Kind.Kind]++
		}
	})
	for _, kind := range running {
		if made[kind.Kind] == 0 && harness.Long() {
			t.Errorf("no %s was made: %v", kind.Kind, made)
		}
	}
	t.Log(made)
}
