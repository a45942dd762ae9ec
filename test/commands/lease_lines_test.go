package commands

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

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
	owner := newOwner()
	for i := range n {
		ids, hosts = append(ids, leaseOf(owner, uint64(i+1))), append(hosts, "a."+newDomain())
		files = append(files, "-f", define(t, ids[i], web("web", 80, hosts[i])))
	}
	return ids, hosts, files
}

// A lease is reported as live as soon as the work on it has ended, while that on others goes on; the last line is the total. After an
// interrupt what was reported is Active and no problem, and what was under way is Claiming.
func TestLeasesAreReportedAsTheyEnd(t *testing.T) {
	for _, interrupts := range []bool{false, true} {
		t.Run(fmt.Sprintf("interrupted %t", interrupts), func(t *testing.T) {
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
				mustRun(t, 0, "state", "hosts", "-l", "akash.network/lease.id.dseq="+fmt.Sprint(i+1)+",akash.network/lease.id.owner="+ids[i].Owner).Prints(t, hosts[i], state)
			}
			problems := run(t.Context(), "state", "--problems").Stdout
			if strings.Contains(problems, hosts[0]) || strings.Contains(problems, hosts[1]) || !strings.Contains(problems, hosts[2]) {
				t.Errorf("problems:\n%s", problems)
			}
			mustRun(t, 0, append([]string{"apply"}, files...)...)
		})
	}
}

// What is said after an interrupt depends on whether the command has made the lease: only then it is to be released. Of another lease the
// definition that the ledger keeps is told, by which "repair LEASE" goes on; that repairs no other lease.
func TestInterruptSaysWhichDefinitionIsKept(t *testing.T) {
	for at, want := range map[string]string{
		"leases/":    "; the former definition is kept: kubectl akash-net repair ",
		"ingresses/": "; the new definition is kept, too: kubectl akash-net repair ",
	} {
		t.Run(at, func(t *testing.T) {
			id, a, b := leaseOf(newOwner(), 1), "a."+newDomain(), "b."+newDomain()
			mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, a)))
			p := startProxy(t, nil)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			p.before = func(request string) {
				if request == "PATCH "+at+b {
					interrupt()
				}
			}
			r := begin(ctx, p, "apply", "-f", define(t, id, web("web", 80, a, b)))
			r.end(t, 130)
			r.prints(t, &r.errOut, want+id.Group().String()+"\n")
			if strings.Contains(r.errOut.String(), "release") {
				t.Errorf("the lease was there before:\n%s", &r.errOut)
			}
			mustRun(t, 0, "repair", id.Group().String())
			after := mustRun(t, 0, "state", "hosts", "-l", "akash.network/lease.id.owner="+id.Owner).Stdout
			if strings.Contains(after, "Claiming") || strings.Contains(after, b) != (at == "ingresses/") {
				t.Errorf("after the repair:\n%s", after)
			}
			mustRun(t, 1, "repair", leaseOf(newOwner(), 1).Group().String()).Says(t, "holds nothing")
		})
	}
	ids, hosts, files := several(t, 1)
	p := startProxy(t, nil)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p.before = func(request string) {
		if request == "PATCH ingresses/"+hosts[0] {
			interrupt()
		}
	}
	r := begin(ctx, p, append([]string{"apply"}, files...)...)
	r.end(t, 130)
	r.prints(t, &r.errOut, "`kubectl akash-net release "+ids[0].Group().String()+"` undoes it.")
}
