// Package live waits for what the objects of a lease lead to, once they are written and the claims are final: what Akash's
// operators create, routers that accept routes, addresses that are granted, DNS records, workloads that are rolled out.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

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

// await waits until no object lacks anything: lacks says what one lacks as it is, nil if it is not there, or else what is told once it
// lacks nothing. Unless the run has changed anything, what lacked nothing when it was read is not waited for, and nothing is told.
func (l *Lease) await(
	ctx context.Context, objects []render.Object, what func(waiting []render.Object) string,
	lacks func(o render.Object, live *unstructured.Unstructured) (string, report.Event, error),
) error {
	waiting := slices.DeleteFunc(slices.Clone(objects), func(o render.Object) bool {
		if l.X.Changed() {
			return false
		}
		text, _, err := lacks(o, l.X.Snapshot.Made(o))
		return text == "" && err == nil
	})
	if len(waiting) == 0 {
		return nil
	}
	changes := func(ctx context.Context) <-chan struct{} { return l.changes(ctx, waiting) }
	return l.X.AwaitEvery(ctx, unseenInterval, what(waiting), changes, func(ctx context.Context) (all []string, _ error) {
		var lacking []render.Object
		for _, o := range waiting {
			live, err := l.read(ctx, o)
			if err != nil {
				return nil, err
			}
			text, e, err := lacks(o, live)
			switch {
			case err != nil:
				return nil, err
			case text != "":
				lacking, all = append(lacking, o), append(all, text)
			case l.X.Changed() && e.Action != "":
				l.X.Event(e.Action, cmp.Or(e.Kind, o.Kind.Singular), o.Namespace, o.Name, e.Message)
			}
		}
		waiting = lacking
		return all, nil
	})
}

const (
	// unseenInterval is the time between two looks at objects of which watches tell.
	unseenInterval = 30 * time.Second
	// unwatchedInterval is that where there is no watch, as for a user who may not watch.
	unwatchedInterval = 200 * time.Millisecond
)

// changes watches the kinds of objects in their namespaces until the context ends, and tells that something has changed.
func (l *Lease) changes(ctx context.Context, objects []render.Object) <-chan struct{} {
	changed := make(chan struct{}, 1)
	tell := func(context.Context) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	type place struct {
		kind      kinds.Kind
		namespace string
	}
	places := map[place]bool{}
	for _, o := range objects {
		for _, kind := range l.X.Snapshot.Operators.KindsOf(o) {
			places[place{kind, o.Namespace}] = true
		}
	}
	for at := range places {
		go func() {
			_ = l.X.Command.Cluster.Follow(ctx, at.kind.Resource(), at.namespace, metav1.ListOptions{}, func([]*unstructured.Unstructured, bool) error {
				tell(ctx)
				return nil
			})
			wait.UntilWithContext(ctx, tell, unwatchedInterval)
		}()
	}
	return changed
}

// read reads the object of a rendered one, also if an operator of Akash's has created it; nil if there is none.
func (l *Lease) read(ctx context.Context, o render.Object) (live *unstructured.Unstructured, err error) {
	for _, kind := range l.X.Snapshot.Operators.KindsOf(o) {
		if live, err = l.X.Command.Cluster.Get(ctx, kind, o.Namespace, o.Name); live != nil || err != nil {
			break
		}
	}
	return live, err
}

// naming returns a text that ends with what people call objects.
func naming(text string) func([]render.Object) string {
	return func(objects []render.Object) string {
		names := make([]string, len(objects))
		for i, o := range objects {
			names[i] = o.Kind.Singular + "/" + o.Name
		}
		return text + strings.Join(names, ", ")
	}
}

// Operators waits until Akash's operators have created what was left to them, as the claims say. Existence is not enough:
// if an operator is down, the former route remains.
func (l *Lease) Operators(ctx context.Context) error {
	s := l.X.Snapshot
	theirs := slices.DeleteFunc(slices.Clone(l.Desired), func(o render.Object) bool { return !s.Operators.Theirs(o) })
	return l.await(ctx, theirs, naming("Akash's operator to create what belongs to "), func(o render.Object, live *unstructured.Unstructured) (string, report.Event, error) {
		switch {
		case !s.Agrees(l.Definition, l.X.Request.Lease, o, live):
			return observed.WaitingFor(o) + s.OtherProtocol(l.X.Group, o), report.Event{}, nil
		case o.Kind == kinds.Service:
			return "", report.Event{}, nil
		}
		return "", report.Event{Action: report.Granted, Kind: "route", Message: "by Akash's hostname operator"}, nil
	})
}

// Served waits until the controller of each record has published it. A failure that a controller reports ends the wait.
func (l *Lease) Served(ctx context.Context) error {
	what := func(waiting []render.Object) string {
		return "DNS controllers to serve " + lease.Count(len(waiting), "record")
	}
	return l.await(ctx, l.Records, what, func(o render.Object, live *unstructured.Unstructured) (string, report.Event, error) {
		if live == nil {
			return "", report.Event{}, fmt.Errorf("%s %s/%s was deleted by somebody else while it was waited for; apply again", o.Kind.Singular, o.Namespace, o.Name)
		}
		record := view.RecordObjectOf(live)
		lacks, err := record.Lacks()
		return lacks, report.Event{Action: report.Served, Message: record.ValuesText()}, err
	})
}

// pollInterval is the time between two checks of the rollout, each of which sends several LISTs.
const pollInterval = time.Second

// RolledOut waits until what the lease runs is rolled out, and reports changes of its progress.
func (l *Lease) RolledOut(ctx context.Context) error {
	if l.Work == nil {
		return nil
	}
	const unseen = "what the lease runs, at which there was no time to look"
	reported := map[string]string{}
	err := l.X.AwaitEvery(ctx, pollInterval, "what the lease runs to be rolled out", nil, func(ctx context.Context) (waiting []string, _ error) {
		now, err := l.Work.Rollout(ctx)
		for _, s := range now.Services {
			if l.reportProgress(s, reported); s.State != rollout.Complete {
				waiting = append(waiting, fmt.Sprintf("service %s of namespace %s: %s", s.Name, l.X.Request.Lease.Namespace(), s.Reason))
			}
		}
		if now.State != rollout.Complete && len(waiting) == 0 {
			waiting = []string{unseen}
		}
		return waiting, err
	})
	if late, ok := errors.AsType[*report.TimeoutError](err); ok && len(late.Waiting) == 0 {
		late.Waiting = []string{unseen}
	}
	return err
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

// Accepted waits until a router accepts each route, if routers report on the kind. known is false if it stays unknown whether a
// route serves as defined: nobody reports on it, or Akash's hostname operator gives it other options.
func (l *Lease) Accepted(ctx context.Context) (known bool, err error) {
	x, s, g := l.X, l.X.Snapshot, l.X.Command.Options.Config.Gateway
	known = !slices.ContainsFunc(l.Desired, func(o render.Object) bool {
		return s.Operators.Theirs(o) && s.UnlikeOf(l.Definition, x.Request.Lease, o) != ""
	})
	routes := slices.DeleteFunc(slices.Clone(l.Desired), func(o render.Object) bool {
		return s.Operators.Theirs(o) || !slices.Contains(kinds.Reporting, o.Kind) || !x.Changed() && acceptedAlready(s.Find(o))
	})
	onGateway := func(o render.Object) bool { return o.Kind != kinds.Route }
	var gateway *unstructured.Unstructured
	if slices.ContainsFunc(routes, onGateway) {
		if gateway, err = x.Command.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name); err != nil {
			return false, err
		}
	}
	var waiting []render.Object
	for _, o := range routes {
		if s.ReportsOn(o.Kind, gateway) {
			waiting = append(waiting, o)
			continue
		}
		if known = false; onGateway(o) && x.Changed() {
			why := fmt.Sprintf("nobody says whether it is accepted: no controller has taken Gateway %s/%s", g.Namespace, g.Name)
			x.Event(report.Unconfirmed, o.Kind.Singular, o.Namespace, o.Name, why)
		}
	}
	return known, l.await(ctx, waiting, naming("a router to accept "), func(o render.Object, live *unstructured.Unstructured) (string, report.Event, error) {
		return state.ToBeAccepted(o.Kind, o.Namespace, o.Name, live, state.Accepted), acceptance(live), nil
	})
}

// acceptedAlready reports whether a route was accepted when it was read, or nobody reported on it.
func acceptedAlready(live *unstructured.Unstructured) bool {
	reports := state.Reports(live, state.Routers{})
	return live != nil && (len(reports) == 0 || state.Accepted(reports))
}

// acceptance is what is told of a route that was accepted: by which router.
func acceptance(live *unstructured.Unstructured) report.Event {
	reports := state.Reports(live, state.Routers{})
	i := slices.IndexFunc(reports, state.Report.Accepts)
	if i < 0 {
		return report.Event{}
	}
	message := "by " + reports[i].By
	if reports[i].Unresolved != "" {
		message += ", which does not find its backend yet (" + reports[i].Unresolved + ")"
	}
	return report.Event{Action: report.Accepted, Message: message}
}
