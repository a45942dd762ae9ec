// Package live waits for what the objects of a lease lead to, once they are written and the claims are final: what Akash's
// operators create, routers that accept routes, addresses that are granted, DNS records, workloads that are rolled out.
package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Lease is a lease whose objects are written: what they lead to is waited for.
type Lease struct {
	X *executor.Executor
	// Definition has the HTTP options of the routes; nil if none are known.
	Definition *lease.Definition
	// Desired are the objects of the lease, Records its DNS records that the run has handled.
	Desired, Records []render.Object
	// Claims are the claims on which the run relies; one of them may be nil.
	Claims []*state.Claim
	// Work is what the lease runs; nil if the command leaves that alone.
	Work *workloads.Work
}

// each asks what each object lacks, until it lacks nothing.
func each(objects []render.Object, lacks func(context.Context, render.Object) (string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) (all []string, _ error) {
		var lacking []render.Object
		for _, o := range objects {
			text, err := lacks(ctx, o)
			if err != nil {
				return nil, err
			}
			if text != "" {
				lacking, all = append(lacking, o), append(all, text)
			}
		}
		objects = lacking
		return all, nil
	}
}

// namesOf returns what people call objects.
func namesOf(objects []render.Object) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.Kind.Singular + "/" + o.Name
	}
	return strings.Join(names, ", ")
}

// Operators waits until Akash's operators have created what was left to them, as the claims say. Existence is not enough:
// if an operator is down, the former route remains.
func (l *Lease) Operators(ctx context.Context) error {
	s := l.X.Snapshot
	agrees := func(o render.Object, live *unstructured.Unstructured) bool {
		return s.Agrees(l.Definition, l.X.Request.Lease, o, live)
	}
	waiting := slices.DeleteFunc(slices.Clone(l.Desired), func(o render.Object) bool {
		return !s.Operators.Theirs(o) || agrees(o, s.TheirRoute(o)) && !l.X.Changed()
	})
	if len(waiting) == 0 {
		return nil
	}
	return l.X.Await(ctx, "Akash's operator to create what belongs to "+namesOf(waiting), each(waiting, func(ctx context.Context, o render.Object) (string, error) {
		live, err := l.getTheirs(ctx, o)
		if err != nil || !agrees(o, live) {
			return observed.WaitingFor(o) + s.OtherProtocol(l.X.Group, o), err
		}
		if l.X.Changed() && o.Kind != kinds.Service {
			l.X.Event(report.Granted, "route", o.Namespace, o.Name, "by Akash's hostname operator")
		}
		return "", nil
	}))
}

// getTheirs reads what an operator has created for a rendered object, or nil.
func (l *Lease) getTheirs(ctx context.Context, o render.Object) (*unstructured.Unstructured, error) {
	for _, kind := range observed.OperatorKinds(o.Kind) {
		live, err := l.X.Command.Cluster.Get(ctx, kind, o.Namespace, o.Name)
		if live != nil || err != nil {
			return live, err
		}
	}
	return nil, nil //nolint:nilnil // nothing is there
}

// Served waits until the controller of each record has published it. A failure that a controller reports ends the wait.
func (l *Lease) Served(ctx context.Context) error {
	waiting := slices.DeleteFunc(slices.Clone(l.Records), func(o render.Object) bool {
		live := l.X.Snapshot.Find(o)
		return !l.X.Changed() && live != nil && view.RecordObjectOf(live).State == view.StateActive
	})
	if len(waiting) == 0 {
		return nil
	}
	return l.X.Await(ctx, "DNS controllers to serve "+lease.Count(len(waiting), "record"), each(waiting, l.whyUnserved))
}

// whyUnserved reads a record and returns what it waits for; it is empty if the record is published.
func (l *Lease) whyUnserved(ctx context.Context, o render.Object) (string, error) {
	live, err := l.X.Command.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil {
		return "", err
	}
	if live == nil {
		return "", fmt.Errorf("%s %s/%s was deleted by somebody else while it was waited for; apply again", o.Kind.Singular, o.Namespace, o.Name)
	}
	record := view.RecordObjectOf(live)
	lacks, err := record.Lacks()
	if lacks == "" && err == nil && l.X.Changed() {
		l.X.Event(report.Served, o.Kind.Singular, o.Namespace, o.Name, record.ValuesText())
	}
	return lacks, err
}

// pollInterval is the time between two checks of the rollout, each of which sends several LISTs.
const pollInterval = time.Second

// RolledOut waits until what the lease runs is rolled out, and reports changes of its progress.
func (l *Lease) RolledOut(ctx context.Context) error {
	if l.Work == nil {
		return nil
	}
	defer l.X.Waits("what the lease runs to be rolled out")()
	reported := map[string]string{}
	var now rollout.Rollout
	err := l.X.Command.WaitEvery(ctx, pollInterval, l.X.Left(), func(ctx context.Context) (bool, error) {
		seen, err := l.Work.Rollout(ctx)
		if err != nil { // after the deadline, too: keep the last complete result
			return false, err
		}
		now = seen
		for _, s := range now.Services {
			l.reportProgress(s, reported)
		}
		return now.State == rollout.Complete, nil
	})
	var waiting []string
	for _, s := range now.Services {
		if s.State != rollout.Complete {
			waiting = append(waiting, fmt.Sprintf("service %s of namespace %s: %s", s.Name, l.X.Request.Lease.Namespace(), s.Reason))
		}
	}
	if len(waiting) == 0 {
		waiting = []string{"what the lease runs, at which there was no time to look"}
	}
	return l.X.TimedOut(err, waiting...)
}

// reportProgress reports the progress of a service if it has changed. It does not report a service that ran from the
// start in a run that has changed nothing.
func (l *Lease) reportProgress(s rollout.Service, reported map[string]string) {
	text, action := s.Reason, report.Rolling
	if s.State == rollout.Complete {
		text, action = fmt.Sprintf("%d of %d", s.Ready, s.Total), report.Ready
	}
	before, known := reported[s.Name]
	if reported[s.Name] = text; known && before == text || !known && action == report.Ready && !l.X.Changed() {
		return
	}
	l.X.Event(action, l.Work.KindOf(s.Name).Singular, l.X.Request.Lease.Namespace(), s.Name, text)
}

// Accepted waits until a router accepts each route of the lease, if routers report on the kind. known is false if it stays
// unknown whether a route serves as defined: nobody reports on it, or Akash's hostname operator gives it other options.
func (l *Lease) Accepted(ctx context.Context) (known bool, err error) {
	s, waiting := l.X.Snapshot, []render.Object(nil)
	known = true
	for _, o := range l.Desired {
		switch {
		case s.Operators.Theirs(o):
			known = known && s.UnlikeOf(l.Definition, l.X.Request.Lease, o) == ""
		case slices.Contains(kinds.Reporting, o.Kind) && (l.X.Changed() || !acceptedAlready(s.Find(o))):
			waiting = append(waiting, o)
		}
	}
	judged, err := awaitRoutes(ctx, l.X, waiting)
	return known && judged && err == nil, err
}

// awaitRoutes waits until a router has accepted each route. judged is false if no controller reports on one: for that it does
// not wait.
func awaitRoutes(ctx context.Context, x *executor.Executor, routes []render.Object) (judged bool, err error) {
	waiting := []render.Object(nil)
	for _, o := range routes {
		judged, err := reportsOn(ctx, x, o)
		if err != nil {
			return false, err
		}
		if judged {
			waiting = append(waiting, o)
		}
	}
	if len(waiting) == 0 {
		return len(routes) == 0, nil
	}
	err = x.Await(ctx, "a router to accept "+namesOf(waiting), each(waiting, func(ctx context.Context, o render.Object) (string, error) {
		live, err := x.Command.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		var last []state.Report
		if live != nil {
			last = state.Reports(live, state.Routers{})
		}
		if err != nil || !state.Accepted(last) {
			return state.ToBeAccepted(o.Kind, o.Namespace, o.Name, last), err
		}
		reportAccepted(x, o, last)
		return "", nil
	}))
	return len(waiting) == len(routes), err
}

// acceptedAlready reports whether a route was accepted when it was read, or nobody reported on it.
func acceptedAlready(live *unstructured.Unstructured) bool {
	if live == nil {
		return false
	}
	reports := state.Reports(live, state.Routers{})
	return state.Accepted(reports) || len(reports) == 0
}

// reportsOn reports whether a controller will report on a route: one has processed the Gateway, or a router reports on
// some Route of the cluster.
func reportsOn(ctx context.Context, x *executor.Executor, o render.Object) (bool, error) {
	if o.Kind == kinds.Route {
		return x.Snapshot.Reported(kinds.Route, "ingress"), nil
	}
	g := x.Command.Options.Config.Gateway
	gateway, err := x.Command.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
	if err != nil || observed.Taken(gateway) {
		return err == nil, err
	}
	if x.Changed() {
		why := fmt.Sprintf("nobody says whether it is accepted: no controller has taken Gateway %s/%s", g.Namespace, g.Name)
		x.Event(report.Unconfirmed, o.Kind.Singular, o.Namespace, o.Name, why)
	}
	return false, nil
}

// reportAccepted reports which router has accepted a route, if the run has changed anything.
func reportAccepted(x *executor.Executor, o render.Object, reports []state.Report) {
	i := slices.IndexFunc(reports, func(s state.Report) bool { return s.Stale == "" && s.Verdict == state.RouteAccepted })
	if i < 0 || !x.Changed() {
		return
	}
	message := "by " + reports[i].By
	if reports[i].Unresolved != "" {
		message += ", which does not find its backend yet (" + reports[i].Unresolved + ")"
	}
	x.Event(report.Accepted, o.Kind.Singular, o.Namespace, o.Name, message)
}
