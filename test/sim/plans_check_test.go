package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// fatal is a test, of rapid or not.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checking compares what a plan of an input says with what apply does.
type checking struct {
	*situation
	fatal
	defs    []*lease.Definition
	planned plan.Plan
}

func (x *checking) fail(format string, args ...any) {
	x.Helper()
	x.Fatalf("%s\n%s", strings.Join(x.told, "\n"), fmt.Sprintf(format, args...))
}

// checkPlans: however many leases are worked on at a time, on the cluster and on files, a plan is the same. A dry run of the
// server, apply, and apply of the plan make its changes, and no others; a second plan has none. It returns the plan, and the
// cluster after an apply.
func (s *situation) checkPlans(t fatal, defs []*lease.Definition, concurrency int) (plan.Plan, *Server) {
	x := &checking{situation: s, fatal: t, defs: defs}
	before := s.server.state()
	want := x.plan(s.server, 1)
	if err := json.Unmarshal([]byte(want), &x.planned); err != nil {
		x.fail("the plan cannot be read: %v", err)
	}
	for _, l := range x.planned.Leases {
		s.tell("plan of %s: %q, refused: %q", l.Lease, ids(l.Changes), l.Refused)
	}
	for _, n := range []int{2, 16} {
		if diff := cmp.Diff(want, x.plan(s.server, n)); diff != "" {
			x.fail("the plan at %d differs: %s", n, diff)
		}
	}
	if diff := cmp.Diff(want, x.planOfFiles()); diff != "" {
		x.fail("the plan of files differs: %s", diff)
	}
	x.apply(s.server.copied(), command.DryRunServer, concurrency)
	if diff := cmp.Diff(before, s.server.state()); diff != "" {
		x.fail("a dry run has written: %s", diff)
	}
	first, second := s.server.copied(), s.server.copied()
	x.apply(first, "", concurrency)
	x.compareRefused("apply --plan", apply.New(connect(second), s.options(concurrency)).CarryOut(context.Background(), x.planned, defs))
	if diff := cmp.Diff(first.state(), second.state()); diff != "" {
		x.fail("apply and apply --plan (-apply +plan): %s", diff)
	}
	x.compareObjects(first)
	x.compareAgain(x.plan(first, concurrency))
	return x.planned, first
}

func asJSON(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (x *checking) plan(server *Server, concurrency int) string {
	p, err := apply.Plan(context.Background(), connect(server), x.options(concurrency), x.defs)
	if err != nil {
		x.fail("plan at %d: %v", concurrency, err)
	}
	return asJSON(p)
}

func (x *checking) planOfFiles() string {
	var ofFiles apply.Files
	for _, path := range slices.Sorted(maps.Keys(x.server.objects)) {
		ofFiles.Add(x.server.objects[path].object.DeepCopy(), nil)
	}
	files, err := ofFiles.Cluster()
	if err != nil {
		x.fail("files: %v", err)
	}
	p, err := apply.Plan(context.Background(), files, x.options(4), x.defs)
	if err != nil {
		x.fail("plan of files: %v", err)
	}
	return asJSON(p)
}

// apply applies the input, and compares the changes that it makes with those of the plan.
func (x *checking) apply(server *Server, mode string, concurrency int) {
	var mu sync.Mutex
	made := map[string][]plan.Change{}
	opts := x.options(concurrency)
	opts.DryRun = mode
	opts.Plan = func(id lease.ID, c plan.Change) {
		mu.Lock()
		defer mu.Unlock()
		var kept plan.Change
		if err := json.Unmarshal([]byte(asJSON(c)), &kept); err != nil {
			panic(err)
		}
		made[id.String()] = append(made[id.String()], kept)
	}
	what := "apply " + mode
	x.compareRefused(what, apply.New(connect(server), opts).Apply(context.Background(), x.defs))
	for _, l := range x.planned.Leases {
		if diff := cmp.Diff(plain(l.Changes), plain(made[l.Lease])); diff != "" && l.Refused == "" {
			x.fail("%s: lease %s makes %q\n(-plan +made):\n%s", what, l.Lease, ids(made[l.Lease]), diff)
		}
	}
}

// plain are changes in one order, each once, without what an apply gives objects that it makes, and without those of what
// leases share.
func plain(changes []plan.Change) []string {
	var out []string
	for _, c := range changes {
		if command.Shared(c) {
			continue
		}
		c.UID, c.ResourceVersion, c.Planned = "", "", false
		for _, o := range []map[string]any{c.Before, c.After} {
			if meta, ok := o["metadata"].(map[string]any); ok {
				for _, f := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
					delete(meta, f)
				}
			}
		}
		for i := range c.Fields {
			c.Fields[i].Owners = nil // the server says since when
		}
		out = append(out, asJSON(c))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func ids(changes []plan.Change) (out []string) {
	for _, c := range changes {
		out = append(out, string(c.Action)+" "+c.ID())
	}
	return out
}

// compareRefused compares the error of an apply with the leases that the plan refuses.
func (x *checking) compareRefused(what string, err error) {
	failed := report.Failures{err}
	_ = errors.As(err, &failed)
	refused := map[lease.ID]bool{}
	for _, e := range failed {
		var held *report.HeldError
		var exhausted *report.ExhaustedError
		switch {
		case errors.As(e, &held):
			refused[held.Lease] = true
		case errors.As(e, &exhausted):
			refused[exhausted.Lease] = true
		case e != nil:
			x.fail("%s: %v", what, e)
		}
	}
	for i, l := range x.planned.Leases {
		if refused[x.defs[i].Lease] != (l.Refused != "") {
			x.fail("%s: lease %s is refused: %v, in the plan %q", what, l.Lease, err, l.Refused)
		}
	}
}
