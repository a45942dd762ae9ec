package commands

import (
	"context"
	"net/http"
	"net/http/httputil"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// killer stands before the API server and kills a command when it has sent its nth write: before the server gets it, or
// after.
type killer struct {
	kubeconfig string
	nth        atomic.Int64
	after      atomic.Bool
	writes     atomic.Int64
	kill       atomic.Pointer[func()]
}

func newKiller(t *testing.T) *killer {
	k := &killer{}
	k.kubeconfig = harness.Kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
		next := p.Transport
		p.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			due := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events.k8s.io/") && k.writes.Add(1) == k.nth.Load()
			if due && !k.after.Load() {
				(*k.kill.Load())()
				return nil, context.Canceled
			}
			answer, err := next.RoundTrip(r)
			if due {
				(*k.kill.Load())()
			}
			return answer, err
		})
	}))
	return k
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// run runs a command that is killed at its nth write. It is false where the command had fewer writes.
func (k *killer) run(t *testing.T, nth int64, after bool, args []string) (killed bool) {
	t.Helper()
	k.nth.Store(nth)
	k.after.Store(after)
	k.writes.Store(0)
	cmd := harness.Command(t.Context(), k.kubeconfig, args...)
	kill := func() { killed = true; killProcess(cmd) }
	k.kill.Store(&kill)
	r := harness.Finish(cmd)
	if !killed && r.Code != 0 {
		t.Fatalf("before write %d: %s", nth, r)
	}
	return killed
}

func killProcess(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it is to be gone, however
}

// A command that is killed at any of its writes leaves a lease that the same command finishes: an apply of a new lease, of
// a changed one with a service that becomes stateful, the adoption of Akash's, and a release. What an order has reserved is the bid's
// still after a release, or given up, but never the lease's.
func TestKilled(t *testing.T) {
	t.Parallel()
	none := func(*testing.T, *tenant) {}
	apply := []string{"apply", "--wait=false", "--assume-crashed", "--concurrency=1"}
	for name, tt := range map[string]struct {
		before, then func(*testing.T, *tenant)
		// command is killed; a release ends what another has begun where it says so.
		command  []string
		released bool
		want     []string
	}{
		"new": {none, none, apply, false, all},
		"changed": {func(t *testing.T, x *tenant) { x.apply(t) }, func(_ *testing.T, x *tenant) { x.without("watch").web("web:2").cache(persistent, mounted) }, apply, false,
			[]string{"deployment/web", "manifest/NS", "networkpolicy/akash-deployment-restrictions", "secret/docker-creds-web", "service/cache", "service/web", "statefulset/cache"}},
		"adopted":  {func(t *testing.T, x *tenant) { x.deployAsAkash(t) }, none, append(slices.Clone(apply), "--adopt"), false, all},
		"released": {func(t *testing.T, x *tenant) { x.apply(t) }, none, nil, true, nil},
		"reserved": {func(t *testing.T, x *tenant) {
			harness.Node(t, harness.NewHost("node"), nil, harness.Amounts("16", "64Gi"))
			harness.Run(t.Context(), "order", "reserve", x.Order().String(), "-f", x.sdl(t), "--expires", "5m").Exits(t, 0)
		}, none, apply, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, after := newKiller(t), drawnToday(t).IntN(2) == 0
			dies(t, 16, func(nth int32) bool {
				x := newDeployer(t).web("web:1").cache(disk, "").watch()
				tt.before(t, x)
				tt.then(t, x)
				release := []string{"release", x.String(), "--assume-crashed", "--concurrency=1"}
				command := release
				if tt.command != nil {
					command = x.args(t, tt.command[0], tt.command[1:]...)
				}
				killed := k.run(t, int64(nth), after, command)
				if tt.released { // it may have been killed when all was done
					command = append(release, "--ignore-not-found")
				}
				silent(t, harness.Run(t.Context(), command...).Exits(t, 0))
				if diff := cmp.Diff(tt.want, names(x.objects(t))); diff != "" {
					t.Fatalf("killed at write %d (-want +got):\n%s", nth, diff)
				}
				if !tt.released {
					if r := harness.Run(t.Context(), append(command, "-o", "name")...).Exits(t, 0); strings.Contains(r.Stdout, "configured") {
						t.Fatalf("killed at write %d: a third run changes something: %s", nth, r)
					}
					return killed
				}
				if held := harness.List(t, cluster.Leases, "net.akash.network/owner="+x.Owner); len(held) > 0 && name == "released" {
					t.Fatalf("killed at write %d: %d claims are left", nth, len(held))
				}
				orders := `jsonpath={range .orders[?(@.owner=="` + x.Owner + `")]}{.state}{end}`
				if r := harness.Run(t.Context(), "state", "orders", "-o", orders).Exits(t, 0); strings.Contains(r.Stdout, "Leased") {
					t.Errorf("killed at write %d: the lease still holds: %s", nth, r)
				}
				harness.Run(t.Context(), "order", "release", x.Order().String(), "--ignore-not-found").Exits(t, 0)
				return killed
			})
		})
	}
}
