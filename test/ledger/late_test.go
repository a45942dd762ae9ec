package ledger_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// as returns a definition whose service has another name.
func as(service string, d *lease.Definition) *lease.Definition {
	d.Services[0].Name = service
	d.Hash = lease.Sum(d)
	return d
}

// late runs a command that stands still before one of its requests while another command takes it for crashed. It
// returns how many requests, or writes, the command had, and its error.
func (w *world) late(t *testing.T, at int, writes bool, late func(*client) error, other func(*client) error) (int, error) {
	t.Helper()
	n, through := beforeRequest(at, writes, func() {
		if err := other(w.client(t, w.cfg).hasty()); err != nil {
			t.Error(err)
		}
	})
	c := w.client(t, w.cfg, through)
	c.opts.Concurrency = 1
	err := late(c)
	return *n, err
}

// A release looks again after it has given up the claims. What an apply that took it for crashed has made anew by then is
// not the release's to delete.
func TestReleaseLooksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "looks", config.TargetIngress)
	defer w.reset(t)
	def := definition(w.lease("a", 1), "public", w.host())
	apply := func(c *client) error { return c.apply(t.Context(), def) }
	for at, requests, lost := 0, 1, 0; at < requests; at += rounds(4, 1) {
		w.reset(t)
		if err := apply(w.client(t, w.cfg)); err != nil {
			t.Fatal(err)
		}
		n, err := w.late(t, at, false, func(c *client) error { return c.release(t.Context(), def.Lease) }, apply)
		if requests = max(requests, n); err == nil {
			if at+rounds(4, 1) >= requests && lost == 0 {
				t.Error("the release was never taken for crashed")
			}
			continue
		}
		lost++
		wantLost(t, err)
		if v := w.view(t); len(v.claims) != 2 || len(v.things) != 4 {
			t.Errorf("before request %d: of what was applied is left %q", at, v.text(t))
		}
	}
}

// An apply that was taken for crashed, and goes on, does not write over what the apply in its place has written.
func TestLateApplyWritesOverNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "over", config.TargetIngress)
	defer w.reset(t)
	old, want := as("old", definition(w.lease("a", 1), "", w.host())), as("new", definition(w.lease("a", 1), "", w.host()))
	for at, writes := 0, 1; at < writes; at++ {
		w.reset(t)
		if err := w.client(t, w.cfg).apply(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		var before []string
		n, err := w.late(t, at, true, func(c *client) error { return c.apply(t.Context(), old) }, func(c *client) error {
			err := c.apply(t.Context(), want)
			before = w.view(t).text(t)
			return err
		})
		if writes = max(writes, n+1); err == nil { // one that is stopped earlier may send fewer
			continue
		}
		wantLost(t, err)
		for _, s := range before {
			if !strings.HasPrefix(s, "claim") && !slices.Contains(w.view(t).text(t), s) {
				t.Errorf("before write %d: the late apply has written over %.80s…", at, s)
			}
		}
	}
}

// An apply that was taken for crashed takes nothing back on which the apply in its place relies, also no policy, which
// rests on no claim.
func TestLateApplyKeepsPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "policies", config.TargetHTTPRoute)
	defer w.reset(t)
	policies := kinds.BackendTLSPolicy.Resource()
	def := definition(w.lease("a", 1), "", w.host())
	def.Services[0].Expose[0].Routing = &lease.Routing{TLS: &lease.TLS{Termination: lease.Reencrypt}}
	def = as("web", def)
	for at, writes := 0, 1; at < writes; at++ {
		w.reset(t)
		for _, o := range w.list(t, policies) {
			if err := harness.Objects.Resource(policies).Namespace(o.GetNamespace()).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		apply := func(c *client) error { return c.apply(t.Context(), def) }
		n, err := w.late(t, at, true, apply, apply)
		if writes = max(writes, n+1); err == nil { // one that is stopped earlier may send fewer
			continue
		}
		wantLost(t, err)
		if got := w.list(t, policies); len(got) != 1 {
			t.Errorf("before write %d: there are %d policies", at, len(got))
		}
	}
}

// A transfer that was overtaken while it deleted the old routes takes back what it has written, as it says.
// One that learns first that it was taken for crashed writes nothing more: it asks before a write, once a second has passed.
func TestOvertakenTransferIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "back", config.TargetIngress)
	defer w.reset(t)
	stopped, overtaken := 0, 0
	for at, writes := 0, 1; at < writes; at++ {
		w.reset(t)
		if err := w.client(t, w.cfg).apply(t.Context(), definition(w.lease("a", 1), "", w.host())); err != nil {
			t.Fatal(err)
		}
		if err := w.client(t, w.cfg).applier().Transfer(t.Context(), w.lease("a", 2), []string{w.host()}, definition(w.lease("a", 2), "", w.host())); err != nil {
			t.Fatal(err)
		}
		n, err := w.late(t, at, true, func(c *client) error {
			return c.applier().Transfer(t.Context(), w.lease("a", 1), []string{w.host()}, nil)
		}, func(c *client) error { return c.release(t.Context(), w.lease("a", 1)) })
		if writes = max(writes, n+1); err == nil { // one that is stopped earlier may send fewer
			continue
		}
		stopped++
		if !strings.Contains(err.Error(), "was taken back") {
			wantLost(t, err)
			continue
		}
		overtaken++
		if left := w.view(t).text(t); len(left) > 0 {
			t.Errorf("before write %d: %v; left are %q", at, err, left)
		}
	}
	if stopped == 0 {
		t.Error("the transfer was never overtaken")
	}
	t.Logf("%d transfers were stopped, %d of them took back what they had written", stopped, overtaken)
}

// An apply of two leases waits for the release of one. What it found of that lease before is out of date, also if it had
// nothing to write for it.
func TestApplyWaitsForARelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "awaits", config.TargetIngress)
	defer w.reset(t)
	w.reset(t)
	one, two := definition(w.lease("a", 1), "", w.host()), definition(w.lease("a", 2), "second", "more."+w.host())
	if err := w.client(t, w.cfg).applier().Apply(t.Context(), []*lease.Definition{one, two}); err != nil {
		t.Fatal(err)
	}
	both := w.client(t, w.cfg)
	waits := make(chan struct{})
	told := both.opts.Report
	both.opts.Report = func(e report.Event) {
		if told(e); e.Action == report.Waiting {
			close(waits)
		}
	}
	var work sync.WaitGroup
	_, through := beforeRequest(1, true, func() {
		work.Go(func() {
			if err := both.applier().Apply(t.Context(), []*lease.Definition{as("new", definition(w.lease("a", 1), "", w.host())), two}); err != nil {
				t.Error(err)
			}
		})
		<-waits
	})
	if err := w.client(t, w.cfg, through).release(t.Context(), two.Lease); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	if v := w.view(t); len(v.claims) != 3 || len(v.things) != 6 {
		t.Errorf("both leases are applied, and there are %q", v.text(t))
	}
}

// A transfer takes a release of the former lease for crashed, and leaves that lease's routes until the new lease is
// applied: the release, which goes on, does not delete them.
func TestLateReleaseKeepsWhatATransferLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "leaves", config.TargetIngress)
	defer w.reset(t)
	for at, writes := 0, 1; at < writes; at++ {
		w.reset(t)
		if err := w.client(t, w.cfg).apply(t.Context(), definition(w.lease("a", 1), "", w.host())); err != nil {
			t.Fatal(err)
		}
		var before []string
		n, err := w.late(t, at, true, func(c *client) error { return c.release(t.Context(), w.lease("a", 1), w.host()) }, func(c *client) error {
			err := c.applier().Transfer(t.Context(), w.lease("a", 2), []string{w.host()}, nil)
			before = w.view(t).text(t)
			return err
		})
		if writes = max(writes, n+1); err == nil { // one that is stopped earlier may send fewer
			continue
		}
		wantLost(t, err)
		if now := w.view(t).text(t); !slices.Equal(now, before) {
			t.Errorf("before write %d: there were %q, and now are %q", at, before, now)
		}
	}
}

// A transfer takes an apply of the former lease for crashed, and leaves the routes that it has made until the new lease is applied:
// the apply, which goes on, does not take them back.
func TestLateApplyKeepsWhatATransferLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "keeps", config.TargetIngress)
	defer w.reset(t)
	left := 0
	for at, writes := 0, 1; at < writes; at++ {
		w.reset(t)
		var before []string
		n, err := w.late(t, at, true, func(c *client) error {
			return c.apply(t.Context(), definition(w.lease("a", 1), "", w.host()))
		}, func(c *client) error {
			err := c.applier().Transfer(t.Context(), w.lease("a", 2), []string{w.host()}, nil)
			before = w.view(t).text(t)
			return err
		})
		if writes = max(writes, n+1); err == nil { // one that is stopped earlier may send fewer
			continue
		}
		wantLost(t, err)
		now := w.view(t).text(t)
		for _, line := range before {
			if !slices.Contains(now, line) {
				t.Errorf("before write %d: %s is gone", at, line)
			}
		}
		left = max(left, len(before))
	}
	if left < 3 {
		t.Error("the apply was never stopped after it had made a route")
	}
}
