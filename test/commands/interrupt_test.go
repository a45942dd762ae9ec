package commands

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// An interrupt while the run waits for an address ends it; it says how to go on, and the same
// command goes on.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	pool := fmt.Sprint("late-", harness.Number())
	id := leaseOf(newTenant(), 1)
	r := record(t)
	r.config = configure(t, "ip: {mode: pool, pool: "+pool+"}")
	definition := defineParts(t, id, service("web", leasedPart("public", "TCP", 443)), endpoint("public"))
	waits := make(chan struct{})
	var once sync.Once
	r.hold(func(_ context.Context, q request) {
		if q.String() == "WATCH services" {
			once.Do(func() { close(waits) })
		}
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := r.command(ctx, "apply", "-f", definition, "--timeout", "1h")
	end := start(cmd)
	arrives(t, "the run waits", waits)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	result := end().Exits(t, 130)
	result.Says(t, "Interrupted. Run the same command again to finish", "kubectl akash-net release")
	need(t, services, id.Namespace(), "web-ip-443-tcp")

	r.run(t, "apply", "-f", definition, "--timeout", "1ms").Exits(t, 5).Says(t, "timed out after 1ms", id.Namespace()+"/web-ip-443-tcp")
	makeOwnPool(t, pool, v4+"0/30")
	r.do(t, "apply", "-f", definition).Prints(t, "is live", v4)
}

// An interrupt before anything serves: the request under way ends, and what the run has taken is
// given back.
func TestInterruptedClaiming(t *testing.T) {
	for _, point := range []string{"leases/%s", "providerhosts/%s", "ingresses/%s"} {
		t.Run(strings.TrimSuffix(point, "/%s"), func(t *testing.T) {
			t.Parallel()
			id, host := leaseOf(newTenant(), 1), newHost("interrupted")
			definition := defineParts(t, id, webPart(host))
			r := record(t)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			text, carriedOut := "PATCH "+fmt.Sprintf(point, host), make(chan struct{})
			var once sync.Once
			r.hold(func(_ context.Context, q request) {
				if q.String() == text {
					interrupt()
				}
			}, func(_ context.Context, q request) {
				if q.String() == text {
					once.Do(func() { close(carriedOut) })
				}
			})
			var out, errOut bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
			code := plugin.Main(ctx, []string{harness.Program, "apply", "-f", definition, "--kubeconfig", r.kubeconfig}, streams)
			if code == 0 || !strings.Contains(errOut.String(), "Interrupted.") {
				t.Errorf("exit code %d\n%s%s", code, out.String(), errOut.String())
			}
			arrives(t, text+" is carried out", carriedOut)
			held, made := claimsOf(t, id.Owner), objectsOf(t, id)
			// Where an object has been made it may serve, and keeps its claim.
			if len(made) > 0 && !slices.Equal(held, []string{host}) || len(made) == 0 && len(held) > 0 || point == "leases/%s" && len(made)+len(held) > 0 {
				t.Errorf("after the interrupt the lease has %v and the claims %v\n%s%s", made, held, out.String(), errOut.String())
			}
			admin().do(t, "apply", "-f", definition).Prints(t, "is live")
			unmarked(t, id.Owner)
		})
	}
}

// A run that is killed, wherever it is, leaves what the same command finishes, and nothing that
// another tenant could take meanwhile.
func TestKilledRun(t *testing.T) {
	const atEnd = "DELETE " + announcement
	for name, point := range map[string]func(a, b string) (text string, nth int){
		"between claims":       func(_, b string) (string, int) { return "PATCH leases/" + b, 1 },
		"before ProviderHosts": func(a, _ string) (string, int) { return "PATCH providerhosts/" + a, 1 },
		"before Ingresses":     func(a, _ string) (string, int) { return "PATCH ingresses/" + a, 1 },
		"at its end":           func(string, string) (string, int) { return atEnd, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, a, b := leaseOf(newTenant(), 1), newHost("a"), newHost("b")
			definition := defineParts(t, id, webPart(a, b))
			text, nth := point(a, b)
			r := record(t)
			reached, killed, carriedOut := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var seen atomic.Int32
			r.hold(func(_ context.Context, q request) {
				if q.String() == text {
					if seen.Add(1) == int32(nth) {
						close(reached)
						await(t.Context(), t, killed)
					}
				}
			}, func(_ context.Context, q request) {
				if q.String() == text && seen.Load() == int32(nth) {
					close(carriedOut)
				}
			})
			cmd := r.command(t.Context(), "apply", "-f", definition)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait() // killed
			}()
			select {
			case <-reached:
			case <-ended:
				t.Fatalf("the run ended without %s", text)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			close(killed)
			arrives(t, text+" is carried out", carriedOut)
			shown := "Claiming"
			if text == atEnd { // that is carried out: nothing shows the crash, and nothing has to
				shown = "Active"
			}
			if crashed := shown == "Claiming"; marked(t, id.Owner) != crashed {
				t.Errorf("a mark shows the crash: want %v", crashed)
			}
			admin().do(t, "state", "hosts", "-l", "akash.network/lease.id.owner="+id.Owner).Prints(t, shown)
			admin().run(t, "apply", "-f", defineParts(t, leaseOf(newTenant(), 1), webPart(a))).Exits(t, 4).Says(t, id.Group().String())
			admin().do(t, "apply", "-f", definition, "--assume-crashed").Prints(t, "is live: 2 hosts")
			if diff := cmp.Diff([]string{a, b}, claimsOf(t, id.Owner)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if got := objectsOf(t, id); len(got) != 4 {
				t.Errorf("objects %v", got)
			}
			unmarked(t, id.Owner)
		})
	}
}
