package commands

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// apply waits until all pods are ready, tells of each service how far it is, and what keeps it when the time is over.
func TestWait(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1").cache(disk, "")
	x.do(t, 5, "apply", "--timeout=2s").Says(t, "timed out after 2s", "service cache of namespace "+x.Namespace()+": 0 of 1 ready", "service web of namespace", "0 of 2 ready", "to continue waiting")
	web, cache := harness.Pods(t, x.Namespace(), "web", 2), harness.Pods(t, x.Namespace(), "cache", 1)
	harness.Waits(t, web[0], "CrashLoopBackOff", "back-off 10s restarting")
	harness.Unschedulable(t, cache[0], "0/1 nodes are available: 1 Insufficient cpu")
	end := harness.Start(harness.Command(t.Context(), harness.Plane.Kubeconfig, x.args(t, "apply", "--timeout=100s")...))
	short := x.do(t, 5, "apply", "--timeout=1s").Says(t, "CrashLoopBackOff", "Insufficient cpu")
	short.Prints(t, "deployment/web rolling (0 of 2 ready: pod "+web[0].Name+" is waiting: CrashLoopBackOff")
	harness.Runs(t, append(web, cache...)...)
	r := silent(t, end().Exits(t, 0)).Prints(t, "deployment/web ready (2 of 2)", "deployment/cache ready (1 of 1)", " is live: ")
	if strings.Index(r.Stdout, "ready (2 of 2)") > strings.Index(r.Stdout, "is live") {
		t.Errorf("it is live before it is ready: %s", r)
	}
	if again := x.do(t, 0, "apply", "--timeout=1m"); strings.Contains(again.Stdout, "ready") {
		t.Errorf("what runs is told again: %s", again)
	}
}
