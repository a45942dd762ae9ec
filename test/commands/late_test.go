package commands

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// user is somebody to whom a role of this program is bound, the one of all namespaces and the one of the ledger's.
func roleUser(t *testing.T, role string) (kubeconfig string) {
	t.Helper()
	name := fmt.Sprint("user-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"create", "clusterrolebinding", name, "--clusterrole=" + role, "--user=" + name},
		{"-n", "akash-net", "create", "rolebinding", name, "--role=" + role, "--user=" + name},
	} {
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	return kubeconfig
}

// An apply counts as crashed while its Manifest is on the way, and the lease is released. The apply deletes what it has made late, once
// it learns that. If it is killed before, that is shown to who may list Manifests, and a release ends it, also one by a selector. What
// Akash's provider runs is never shown.
func TestLateWorkload(t *testing.T) {
	t.Parallel()
	x := newDeployer().with("game", "image: 'game:1', expose: [{port: 7777, proto: udp, to: [{global: true}]}]", disk, 1) // it has no routes
	akashs := newDeployer().web("web:1")
	akashs.deployAsAkash(t)
	crashes := func(then func(*exec.Cmd)) harness.Result {
		var cmd *exec.Cmd
		var once, ended sync.Once
		started := make(chan struct{})
		isLate := func(r *http.Request) bool {
			return r.Method == http.MethodPatch && !r.URL.Query().Has("dryRun") && strings.HasSuffix(r.URL.Path, "/manifests/"+x.Namespace())
		}
		kubeconfig := harness.Kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
			p.Transport = passing{before: func(r *http.Request) {
				if isLate(r) {
					once.Do(func() { harness.Run(t.Context(), "release", "--assume-crashed", x.String()).Exits(t, 0) })
				}
			}, after: func(r *http.Request) {
				if isLate(r) {
					ended.Do(func() { <-started; then(cmd) })
				}
			}, next: p.Transport}
		}))
		cmd = harness.Command(t.Context(), kubeconfig, x.args(t, "apply", "--wait=false")...)
		end := harness.Start(cmd)
		close(started)
		return end()
	}
	r := silent(t, crashes(func(*exec.Cmd) {
		if x.objects(t)["manifest/NS"] == nil {
			t.Error("nothing came late")
		}
	})).Exits(t, 1).Prints(t, "manifest/"+x.Namespace()+" deleted (taken back)")
	// Whether the deployment was written, too, depends on how long the release took: a command whose turn has run out writes nothing more.
	if got := strings.Contains(r.Stdout, "deployment/game deleted (taken back)"); got != strings.Contains(r.Stdout, "deployment/game created") {
		t.Errorf("the apply has taken the deployment back: %v\n%s", got, r.Stdout)
	}
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("an apply that lives leaves %q of what came late", got)
	}
	crashes(func(cmd *exec.Cmd) { _ = cmd.Process.Kill() })
	if x.objects(t)["manifest/NS"] == nil {
		t.Fatal("nothing came late")
	}

	viewer, operator := roleUser(t, "akash-net-viewer"), roleUser(t, "akash-net-operator")
	stray := func(kubeconfig string, of *tenant) bool {
		t.Helper()
		var r harness.Result
		harness.Eventually(t, "the roles are bound", func(ctx contextT) (bool, error) {
			r = harness.RunAs(ctx, kubeconfig, "state", "--problems", "--crashed-after", "0s", "-o", "name")
			return r.Stderr == "", nil
		})
		return strings.Contains(r.Stdout, "problem/StrayWorkload/"+of.Group().String()+"\n")
	}
	if !stray(operator, x) || stray(viewer, x) || stray(operator, akashs) {
		t.Errorf("an operator sees it: %v; a viewer: %v; Akash's: %v", stray(operator, x), stray(viewer, x), stray(operator, akashs))
	}
	harness.Run(t.Context(), "release", "-l", lease.LabelOwner+"="+x.Owner).Exits(t, 0).Prints(t, "manifest/"+x.Namespace()+" deleted")
	if got := names(x.objects(t)); len(got) > 0 || stray(operator, x) {
		t.Errorf("left are %q", got)
	}
}
