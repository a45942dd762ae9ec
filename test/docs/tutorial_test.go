package docs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const tutorial = "docs/tutorial.md"

// The tutorial works from its first line to its last, which starts a cluster, selects it and ends it, for somebody who has
// no kubeconfig.
func TestTutorial(t *testing.T) {
	harness.NeedsLong(t)
	want := commands(t, tutorial)
	folder, err := os.MkdirTemp("", "tutorial")
	if err != nil {
		t.Fatal(err)
	}
	alone := []string{"KUBECONFIG=", "TESTBED_DIR=" + folder}
	defer func() {
		shell(t, "go run ./hack/testbed/cmd/testbed down", alone...)
		_ = os.RemoveAll(folder)
	}()
	verify(t, tutorial, want, terminal(t, session(want), alone...))
}

// starts are the commands of the tutorial that start its cluster, and that end it.
var starts = regexp.MustCompile(`^(make |eval |go run )`)

// Whoever skips the first lines, or goes on in another shell, sends nothing to the cluster that kubectl has selected there.
func TestTutorialSendsNothingElsewhere(t *testing.T) {
	var requests atomic.Int64
	production := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer production.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: production, clusters: [{name: production, cluster: {server: %q}}],
contexts: [{name: production, context: {cluster: production, user: me}}], users: [{name: me}]}`, production.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var skipped []command
	for _, c := range commands(t, tutorial) {
		if !starts.MatchString(c.text) {
			skipped = append(skipped, c)
		}
	}
	out := shell(t, session(skipped), "KUBECONFIG="+kubeconfig)
	if n := requests.Load(); n != 0 || len(skipped) < 10 || !strings.Contains(out, `context "envtest" does not exist`) {
		t.Errorf("%d commands sent %d requests:\n%s", len(skipped), n, out)
	}
	shell(t, "kubectl get namespaces", "KUBECONFIG="+kubeconfig)
	if requests.Load() == 0 {
		t.Error("no request would have been seen")
	}
}
