// Package docs holds the documentation against the code: commands are run, documents are read, links are
// followed.
package docs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/plugin"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const program = harness.Program

// TestMain makes this test program the plugin when it is started by the plugin's name.
func TestMain(m *testing.M) {
	testscript.Main(onControlPlane{m}, map[string]func(){program: func() {
		streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
		os.Exit(plugin.Main(context.Background(), os.Args, streams))
	}})
}

// onControlPlane runs the tests of a package beside a control plane.
type onControlPlane struct{ *testing.M }

func (m onControlPlane) Run() int {
	return harness.Main(m.M, harness.Setup{Controllers: true, MetalLB: true})
}

// root is the repository's root, in which the commands of the documents are run.
func root(t *testing.T) string {
	t.Helper()
	dir, err := programs.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// environment is that of somebody who has the plugin and kubectl on the PATH and a kubeconfig.
func environment(t *testing.T) []string {
	t.Helper()
	kubectl, err := programs.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	caches, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	builds, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	path := filepath.Dir(self) + ":" + filepath.Dir(kubectl) + ":" + os.Getenv("PATH")
	return append(os.Environ(), "PATH="+path, "KUBECONFIG="+harness.Plane.Kubeconfig, "HOME="+t.TempDir(),
		"GOCACHE="+builds, "GOMODCACHE="+modules)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
