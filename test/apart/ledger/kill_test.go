package ledger_test

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A process that is killed (SIGKILL) while it claims leaves claims that name its lease; the same
// command finishes the work, and no mark stays.
func TestKilledProcess(t *testing.T) {
	id := leaseOf("killed", 1)
	var hosts []string
	for n := range 200 {
		hosts = append(hosts, fmt.Sprintf("h%03d.killed.example.com", n))
	}
	command := func(more ...string) *exec.Cmd {
		return harness.Command(t.Context(), harness.Plane.Kubeconfig, slices.Concat([]string{"reserve", "--lease", id.String()}, more, hosts)...)
	}
	first := command()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(list(t, leases, "killed")) < 5; {
		if time.Now().After(end) {
			t.Fatal("the process claims nothing")
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err == nil {
		t.Fatal("the process had ended before it was killed")
	}
	left := list(t, leases, "killed")
	if len(left) == len(hosts) {
		t.Error("the process was killed too late to show anything")
	}
	if !slices.ContainsFunc(written(t, "killed"), runMark.MatchString) {
		t.Error("no mark shows the crash")
	}
	if out, err := command("--assume-crashed").CombinedOutput(); err != nil {
		t.Fatalf("one more run: %v\n%s", err, out)
	}
	now := written(t, "killed")
	if len(now) != len(hosts) || slices.ContainsFunc(now, runMark.MatchString) {
		t.Errorf("after one more run there are %d claims of %d, or marks: %.500s", len(now), len(hosts), now)
	}
	if still := announced(t, "killed"); len(still) > 0 {
		t.Errorf("after one more run there is still announced: %q", still)
	}
	t.Logf("killed after %d claims of %d", len(left), len(hosts))
}
