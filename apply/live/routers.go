package live

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Accepted waits until a router accepts each route of the lease, if routers report on the kind. known is false if it stays
// unknown whether a route serves as defined: nobody reports on it, or Akash's hostname operator gives it other options.
func (l *Lease) Accepted(ctx context.Context) (known bool, err error) {
	s := l.X.Snapshot
	known = true
	for _, o := range l.Desired {
		if s.Operators.Theirs(o) {
			known = known && operators.UnlikeOf(s, l.Definition, l.X.Request.Lease, o) == ""
			continue
		}
		if !slices.Contains(kinds.Reporting, o.Kind) || !l.X.Changed() && acceptedAlready(s.Find(o)) {
			continue
		}
		judged, err := AwaitRoute(ctx, l.X, o, state.Accepted)
		if err != nil {
			return false, err
		}
		known = known && judged
	}
	return known, nil
}

// AwaitRoute waits until done is true for a route's reports. judged is false if no controller reports on it: then it does
// not wait.
func AwaitRoute(ctx context.Context, x *executor.Executor, o render.Object, done func([]state.Report) bool) (judged bool, err error) {
	if judged, err = reportsOn(ctx, x, o); err != nil || !judged {
		return false, err
	}
	var last []state.Report
	err = x.Poll(ctx, "a router to accept "+o.Kind.Singular+"/"+o.Name, func(ctx context.Context) (bool, error) {
		live, err := x.Command.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if live != nil {
			last = state.Reports(live, state.Routers{})
		}
		return done(last), err
	})
	if err == nil {
		reportAccepted(x, o, last)
	}
	return true, x.TimedOut(err, state.ToBeAccepted(o.Kind, o.Namespace, o.Name, last))
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
