package commands

import (
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// passing does something before each request is passed on.
type passing struct {
	before, after func(r *http.Request) // after may be nil
	next          http.RoundTripper
}

func (p passing) RoundTrip(r *http.Request) (*http.Response, error) {
	p.before(r)
	if p.after != nil {
		defer p.after(r)
	}
	return p.next.RoundTrip(r)
}

// until starts a command, and does something once it sends the first request of a method for a resource.
func (x *tenant) until(t *testing.T, method, resource string, do func(cmd *exec.Cmd), args ...string) (end func() harness.Result) {
	t.Helper()
	var cmd *exec.Cmd
	var once sync.Once
	started := make(chan struct{})
	kubeconfig := harness.Kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(r *httputil.ReverseProxy) {
		r.Transport = passing{before: func(r *http.Request) {
			if r.Method == method && strings.Contains(r.URL.Path, "/"+x.Namespace()+"/"+resource) {
				once.Do(func() {
					<-started
					do(cmd)
				})
			}
		}, next: r.Transport}
	}))
	cmd = harness.Command(t.Context(), kubeconfig, args...)
	end = harness.Start(cmd)
	close(started)
	return end
}

// An interrupt ends apply, whether it writes or waits: it says how to go on, and the same command finishes the work.
func TestInterruptedApply(t *testing.T) {
	t.Parallel()
	for _, at := range [][2]string{
		{http.MethodPatch, "secrets"}, {http.MethodPatch, "deployments"}, {http.MethodPatch, "services"}, {http.MethodGet, "pods"},
	} {
		t.Run(at[0]+" "+at[1], func(t *testing.T) {
			t.Parallel()
			x := newDeployer().web("web:1").cache(disk, "")
			interrupt := func(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) }
			r := silent(t, x.until(t, at[0], at[1], interrupt, x.args(t, "apply", "--timeout=1h")...)().Exits(t, 130))
			r.Says(t, "Interrupted.")
			if strings.Contains(r.Stderr, "goroutine") {
				t.Errorf("it ended with a trace: %s", r)
			}
			again := x.apply(t)
			if strings.Contains(again.Stderr, "another command is at work") {
				t.Errorf("it waited: %s", again)
			}
			x.do(t, 0, "diff")
			harness.Run(t.Context(), "release", x.String()).Exits(t, 0)
			if left := names(x.objects(t)); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// A second interrupt ends it at once, although a request under way has no answer.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	x := newDeployer().web("web:1")
	answer := make(chan struct{})
	defer close(answer)
	first := make(chan *exec.Cmd, 1)
	end := x.until(t, http.MethodPatch, "deployments", func(cmd *exec.Cmd) {
		first <- cmd
		<-answer
	}, x.args(t, "apply", "--wait=false")...)
	cmd := <-first
	done := make(chan harness.Result, 1)
	go func() { done <- end() }()
	var r harness.Result
	harness.Eventually(t, "an interrupt more ends it", func(contextT) (bool, error) {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case r = <-done:
			return true, nil
		default:
			return false, nil
		}
	})
	if r.Code == 0 {
		t.Errorf("want it to be ended: %s", r)
	}
}
