package routes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// AwaitAccepted waits until a router accepts each route of the lease, where routers say so at all.
func (r *Successors) AwaitAccepted(ctx context.Context, desired []render.Object) error {
	for _, o := range desired {
		if !slices.Contains(kinds.Reporting, o.Kind) || r.Snapshot.Operators.Theirs(o) || !r.Changed && r.acceptedAlready(o) {
			continue
		}
		if err := r.awaitRoute(ctx, o, state.Accepted); err != nil {
			return err
		}
	}
	return nil
}

// awaitRoute waits until a route's reports are as they are to be, where there is somebody to report.
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
		r.tellAccepted(o, last)
	}
	return err
}

func (r *Successors) acceptedAlready(o render.Object) bool {
	live := r.Snapshot.Find(o)
	return live != nil && (state.Accepted(state.Reports(live, state.Routers{})) || len(state.Reports(live, state.Routers{})) == 0)
}

// reportsOn is true where somebody is there to judge a route: a controller has taken the Gateway, or
// a router reports on some Route of the cluster.
func (r *Successors) reportsOn(ctx context.Context, o render.Object) (bool, error) {
	if o.Kind == kinds.Route {
		return r.Snapshot.Reported(kinds.Route, "ingress"), nil
	}
	g := r.Options.Config.Gateway
	gateway, err := r.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
	if _, ok := errors.AsType[*cluster.MissingKindError](err); ok {
		err = nil
	}
	if err != nil || observed.Taken(gateway) {
		return err == nil, err
	}
	if r.Changed {
		r.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, fmt.Sprintf("nobody says whether it is accepted: no controller has taken Gateway %s/%s", g.Namespace, g.Name))
	}
	return false, nil
}

func (r *Successors) tellAccepted(o render.Object, reports []state.Report) {
	for _, said := range reports {
		if said.Stale != "" || said.Verdict != state.RouteAccepted {
			continue
		}
		message := "by " + said.By
		if said.Unresolved != "" {
			message += ", which does not find its backend yet (" + said.Unresolved + ")"
		}
		if r.Changed {
			r.Event(report.Accepted, o.Kind.Singular, o.Namespace, o.Name, message)
		}
		return
	}
}

func refusal(o render.Object, reports []state.Report) string {
	for _, said := range reports {
		if said.Stale == "" && (said.Verdict == state.RouteRefused || said.Unresolved != "") {
			return fmt.Sprintf("%s %s/%s to be accepted: %s", o.Kind.Singular, o.Namespace, o.Name, said)
		}
	}
	return fmt.Sprintf("%s %s/%s to be accepted by a router (see: kubectl -n %s get %s %s -o yaml)", o.Kind.Singular, o.Namespace, o.Name, o.Namespace, o.Kind.Singular, o.Name)
}
