package sim

import (
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// both are two leases that are worked on side by side.
func both() (defs []*lease.Definition) {
	for dseq, host := range []string{"a.example.com", "b.example.com"} {
		defs = append(defs, (&invocation{id: leaseOf("a", uint64(dseq)+1), hosts: []string{host}}).definition())
	}
	return defs
}

// A fault of the program at any request of a command ends the work on one lease, and no more: nothing waits for ever for what
// was locked then (the bubble would find it), and the next command has all that was asked for.
func TestAFaultLocksNothing(t *testing.T) {
	t.Parallel()
	for n, ended := int32(1), false; !ended; n++ {
		synctest.Test(t, func(t *testing.T) {
			server := furnished(t)
			var sent atomic.Int32
			faulty := connected(t, func(r *http.Request) (*http.Response, error) {
				if sent.Add(1) == n {
					panic("broken")
				}
				return server.RoundTrip(r)
			})
			opts := command.Options{Config: settings(), Prune: true, Concurrency: 4}
			err := parallel.Guard(func() error { return apply.New(faulty, opts).Apply(t.Context(), both()) })
			if ended = sent.Load() < n; ended != (err == nil) {
				t.Errorf("a fault at request %d of %d: %v", n, sent.Load(), err)
			}
			opts.AssumeCrashed = true
			if err := apply.New(connected(t, server.RoundTrip), opts).Apply(t.Context(), both()); err != nil {
				t.Errorf("after a fault at request %d: %v", n, err)
			}
			w := &world{server: server}
			if has := slices.Concat(w.things(leaseOf("a", 1).Group(), false), w.things(leaseOf("a", 2).Group(), false)); !slices.Equal(has, []string{"a.example.com", "b.example.com"}) {
				t.Errorf("after a fault at request %d the leases hold %q", n, has)
			}
		})
	}
}

// A request that fails, whichever it is, makes repair and the search for problems fail by its name: nothing is said of what was
// not read.
func TestAnyRequestOfRepairMayFail(t *testing.T) {
	t.Parallel()
	for n, ended := int32(1), false; !ended; n++ {
		synctest.Test(t, func(t *testing.T) {
			server := furnished(t)
			if err := apply.New(connected(t, server.RoundTrip), command.Options{Config: settings(), Concurrency: 4}).Apply(t.Context(), both()); err != nil {
				t.Fatal(err)
			}
			var sent atomic.Int32
			refused := connected(t, func(r *http.Request) (*http.Response, error) {
				// Who may not see nodes, Akash's operators and Manifests is told of no problems with them.
				if base := path.Base(r.URL.Path); base != "nodes" && base != "deployments" && base != "manifests" && sent.Add(1) == n {
					return server.reply(r, http.StatusForbidden, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not allowed","reason":"Forbidden","code":403}`)), nil
				}
				return server.RoundTrip(r)
			})
			found, err := diagnosis.Problems(t.Context(), refused, settings(), 0, "")
			if ended = sent.Load() < n; !ended && (err == nil || len(found) > 0) {
				t.Errorf("request %d of %d was refused: %v, %v", n, sent.Load(), found, err)
			}
			sent.Store(0)
			err = repair.Repair(t.Context(), apply.New(refused, command.Options{Config: settings(), Concurrency: 4}), repair.Options{})
			if sent.Load() >= n && err == nil {
				t.Errorf("request %d of repair was refused, and nothing said so", n)
			}
		})
	}
}

// A fault as the announcement is renewed, or where it is told who is waited for, does not end the process, nor the command.
func TestAFaultBesideTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := furnished(t)
		announced := 0
		slow := connected(t, func(r *http.Request) (*http.Response, error) {
			switch {
			case strings.Contains(r.URL.Path, "/leases/run--") && r.Method == http.MethodPatch:
				if announced++; announced == 2 {
					panic("broken")
				}
			case r.Method == http.MethodPatch:
				time.Sleep(4 * time.Second) // in the bubble's time
			}
			return server.RoundTrip(r)
		})
		opts := command.Options{Config: settings(), Prune: true, Concurrency: 1}
		if err := apply.New(slow, opts).Apply(t.Context(), both()); err != nil || announced < 3 {
			t.Errorf("renewed %d times, %v", announced-1, err)
		}

		faulty := opts
		faulty.Report = func(e report.Event) {
			if e.Action == report.Waiting {
				panic("broken")
			}
		}
		done := make(chan error)
		go func() { done <- apply.New(slow, opts).Release(t.Context(), []lease.Group{leaseOf("a", 1).Group()}) }()
		time.Sleep(time.Second)
		err := parallel.Guard(func() error { return apply.New(connected(t, server.RoundTrip), faulty).Apply(t.Context(), both()) })
		if fault := (*parallel.FaultError)(nil); err != nil && !errors.As(err, &fault) {
			t.Errorf("want the fault or nothing, got %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
