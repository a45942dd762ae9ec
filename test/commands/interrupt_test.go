package commands

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// An interrupt while the run waits for an address ends it, or the end of its terminal; it says how to go on, and the same
// command goes on.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	pool := fmt.Sprint("late-", harness.Number())
	id := leaseOf(newTenant(t), 1)
	r := record(t)
	r.config = configure(t, "ip: {mode: pool, pool: "+pool+"}")
	definition := defineParts(t, id, service("web", leasedPart("public", "TCP", 443)), endpoint("public"))
	waits := make(chan struct{})
	var once sync.Once
	r.hold(func(_ context.Context, q request) {
		if q.String() == "GET services/web-ip-443-tcp" {
			once.Do(func() { close(waits) })
		}
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := r.command(ctx, "apply", "-f", definition, "--timeout", "1h")
	end := start(cmd)
	arrives(t, "the run waits", waits)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	result := end().Exits(t, 129)
	result.Says(t, "Interrupted. Run the same command again to finish", "kubectl akash-net release")
	need(t, services, id.Namespace(), "web-ip-443-tcp")

	r.run(t, "apply", "-f", definition, "--timeout", "1ms").Exits(t, 5).Says(t, "timed out after 1ms", id.Namespace()+"/web-ip-443-tcp")
	makeOwnPool(t, pool, v4+"0/30")
	r.do(t, "apply", "-f", definition).Prints(t, "is live", v4)
}

// running is a command that a test looks at while it runs.
type running struct {
	out, errOut harness.Output
	ended       chan int
}

// begin begins a command as the operator, through a proxy.
func begin(ctx context.Context, p *proxy, args ...string) *running {
	r := &running{ended: make(chan int, 1)}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &r.out, ErrOut: &r.errOut}
	go func() {
		r.ended <- plugin.Main(ctx, append([]string{harness.Program, "--kubeconfig", p.kubeconfig}, args...), streams)
	}()
	return r
}

// prints waits until the command has printed a text.
func (r *running) prints(t *testing.T, out *harness.Output, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q is to be printed", text), func(context.Context) (bool, error) {
		return strings.Contains(out.String(), text), nil
	})
}

// end waits for the end of the command.
func (r *running) end(t *testing.T, code int) {
	t.Helper()
	if got := <-r.ended; got != code {
		t.Fatalf("exit code %d, want %d\n%s%s", got, code, &r.out, &r.errOut)
	}
}

// several are leases of one owner with a host each, and the flags that name their definitions.
func several(t *testing.T, n int) (ids []lease.ID, hosts, files []string) {
	t.Helper()
	owner := newOwner(t)
	for i := range n {
		ids, hosts = append(ids, leaseOf(owner, uint64(i+1))), append(hosts, "a."+newDomain())
		files = append(files, "-f", define(t, ids[i], web("web", 80, hosts[i])))
	}
	return ids, hosts, files
}

// A lease is reported as live as soon as the work on it has ended, while that on others goes on; the last line is the total. After an
// interrupt what was reported is Active and no problem, what was under way is Claiming, and the message says how it is undone.
func TestLeasesAreReportedAsTheyEnd(t *testing.T) {
	t.Parallel()
	for _, interrupts := range []bool{false, true} {
		t.Run(fmt.Sprintf("interrupted %t", interrupts), func(t *testing.T) {
			t.Parallel()
			ids, hosts, files := several(t, 3)
			p, release := startProxy(t, nil), make(chan struct{})
			p.before = func(request string) {
				if request == "PATCH ingresses/"+hosts[2] {
					<-release
				}
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			r := begin(ctx, p, append([]string{"apply"}, files...)...)
			for _, id := range ids[:2] {
				r.prints(t, &r.out, "lease "+id.Group().String()+" is live: 1 host, ")
			}
			if strings.Contains(r.out.String(), ids[2].Group().String()+" is") {
				t.Errorf("the third lease has no route yet:\n%s", &r.out)
			}
			if !interrupts {
				close(release)
				r.end(t, 0)
				r.prints(t, &r.errOut, "3 leases: 3 live, ")
				return
			}
			interrupt()
			close(release)
			r.end(t, 130)
			r.prints(t, &r.errOut, "3 leases: 2 live, 1 begun, ")
			for i, state := range []string{"Active", "Active", "Claiming"} {
				mustRun(t, 0, "state", "hosts", "-n", ids[i].Namespace()).Prints(t, hosts[i], state)
				mustRun(t, i/2, "state", "--problems", "-n", ids[i].Namespace())
			}
			mustRun(t, 0, append([]string{"apply"}, files...)...)
		})
	}
}
