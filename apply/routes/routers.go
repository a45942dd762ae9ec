package routes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// AwaitAccepted waits until a router accepts each route of the lease, if routers report on the kind.
func (r *Successors) AwaitAccepted(ctx context.Context, desired []render.Object) error {
	for _, o := range desired {
		if !slices.Contains(kinds.Reporting, o.Kind) || r.Snapshot.Operators.Theirs(o) || !r.Changed() && r.acceptedAlready(o) {
			continue
		}
		if err := r.awaitRoute(ctx, o, state.Accepted); err != nil {
			return err
		}
	}
	return nil
}

// awaitRoute waits until done is true for a route's reports. It sets Unjudged and does not wait if no controller
// reports.
func (r *Successors) awaitRoute(ctx context.Context, o render.Object, done func([]state.Report) bool) error {
	reports, err := r.reportsOn(ctx, o)
	if err != nil || !reports {
		r.Unjudged = true
		return err
	}
	var last []state.Report
	err = r.Poll(ctx, func(ctx context.Context) (bool, error) {
		live, err := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if live != nil {
			last = state.Reports(live, state.Routers{})
		}
		return done(last), err
	})
	if errors.Is(err, report.ErrTimedOut) {
		return &report.TimeoutError{After: r.Options.Wait, Waiting: []string{refusal(o, last)}}
	}
	if err == nil {
		r.reportAccepted(o, last)
	}
	return err
}

// gateway reads the configured Gateway. It returns nil if there is none, or if the cluster does not serve the kind.
func (r *Successors) gateway(ctx context.Context) (*unstructured.Unstructured, error) {
	g := r.Options.Config.Gateway
	return r.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
}

// acceptedAlready reports whether the route was accepted when it was read, or nobody reported on it.
func (r *Successors) acceptedAlready(o render.Object) bool {
	live := r.Snapshot.Find(o)
	if live == nil {
		return false
	}
	reports := state.Reports(live, state.Routers{})
	return state.Accepted(reports) || len(reports) == 0
}

// reportsOn reports whether a controller will report on a route: one has processed the Gateway, or a router reports on
// some Route of the cluster.
func (r *Successors) reportsOn(ctx context.Context, o render.Object) (bool, error) {
	if o.Kind == kinds.Route {
		return r.Snapshot.Reported(kinds.Route, "ingress"), nil
	}
	g := r.Options.Config.Gateway
	gateway, err := r.gateway(ctx)
	if err != nil || observed.Taken(gateway) {
		return err == nil, err
	}
	if r.Changed() {
		why := fmt.Sprintf("nobody says whether it is accepted: no controller has taken Gateway %s/%s", g.Namespace, g.Name)
		r.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, why)
	}
	return false, nil
}

// reportAccepted reports which router has accepted a route, if the run has changed anything.
func (r *Successors) reportAccepted(o render.Object, reports []state.Report) {
	i := slices.IndexFunc(reports, func(s state.Report) bool { return s.Stale == "" && s.Verdict == state.RouteAccepted })
	if i < 0 || !r.Changed() {
		return
	}
	message := "by " + reports[i].By
	if reports[i].Unresolved != "" {
		message += ", which does not find its backend yet (" + reports[i].Unresolved + ")"
	}
	r.Event(report.Accepted, o.Kind.Singular, o.Namespace, o.Name, message)
}

// refusal describes the wait for a route, with the reason of the router that refuses it.
func refusal(o render.Object, reports []state.Report) string {
	for _, s := range reports {
		if s.Stale == "" && (s.Verdict == state.RouteRefused || s.Unresolved != "") {
			return fmt.Sprintf("%s %s/%s to be accepted: %s", o.Kind.Singular, o.Namespace, o.Name, s)
		}
	}
	return fmt.Sprintf("%s %s/%s to be accepted by a router (see: kubectl -n %s get %s %s -o yaml)",
		o.Kind.Singular, o.Namespace, o.Name, o.Namespace, o.Kind.Singular, o.Name)
}
