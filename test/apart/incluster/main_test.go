// Package incluster_test shows what runs in the cluster: the manifests of the reconciler, as install and as kustomize apply them, its
// rights, and the image.
package incluster_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{Install: true, Then: harness.AkashServices}))
}

const (
	root = "../../.."
	// image is none that anybody runs here.
	image = "registry.invalid/akash-net:test"
)

// overlays are the folders that people apply with kustomize.
var overlays = []string{
	"manifests/reconciler", "manifests/examples/reconciler/from-cluster", "manifests/examples/reconciler/lease-files",
	"manifests/examples/reconciler/cronjob", "manifests/examples/reconciler/api-server-port", "manifests/examples/reconciler/in-place-of-operators",
}

// kustomize returns the objects that kustomize builds from a folder, by the kustomize in kubectl.
func kustomize(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	path, err := programs.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, "kustomize", filepath.Join(root, folder))
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errOut.String())
	}
	var all []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096); ; {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

// one returns the object of a kind.
func one(t *testing.T, all []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, o := range all {
		if o.GetKind() == kind {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d objects of kind %s", len(found), kind)
	}
	return found[0]
}
