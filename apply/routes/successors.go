// Package routes waits until routes are accepted and serve. Until then it keeps the routes that they replace.
package routes

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Successors are the routes of a lease that replace others. An old route stays until its successor is known to serve.
type Successors struct {
	*claims.Claims
	// Stay is true if some successor is not known to serve.
	Stay bool
	// GoesOn is the command that continues if old routes have to stay; empty means the same command.
	GoesOn string
}

// GoesFor reports whether the run deletes a live object in favour of its own route.
func (r *Successors) GoesFor(was observed.Owned, use state.Use) bool {
	if was.Group == r.Group {
		return r.Options.Prune
	}
	return r.mine(use) && r.Removes(was.Group, r.Snapshot.Claim(state.HostName(use.Host)))
}

// onGateway reports whether a Gateway accepts several routes of the kind for one host, of which the oldest serves.
func onGateway(kind kinds.Kind) bool { return kind == kinds.HTTPRoute || kind == kinds.TLSRoute }

// mine reports whether the run holds a host and path.
func (r *Successors) mine(u state.Use) bool {
	h := r.Holds[state.HostName(u.Host)]
	return h != nil && slices.ContainsFunc(h.Want.Parts, func(p state.Part) bool { return p.Key == state.RouteKey(u.Path) })
}

// AwaitServing waits until a controller reports that a route serves. With --assume-serving it waits only for
// controllers that report at all.
func (r *Successors) AwaitServing(ctx context.Context, o render.Object) error {
	if r.Options.AssumeServing {
		if !slices.Contains(kinds.Reporting, o.Kind) {
			return nil
		}
		_, err := live.AwaitRoute(ctx, r.Executor, o, state.Serves)
		return err
	}
	missing, serves := "", false
	err := r.Poll(ctx, func(ctx context.Context) (bool, error) {
		now, err := r.notServing(ctx, o)
		if err == nil { // the last read may fail because of the deadline
			missing = now
		}
		serves = now == "" && err == nil
		return serves, err
	})
	if serves && r.Changed() {
		r.Event(report.Accepted, o.Kind.Singular, o.Namespace, o.Name, "by its controller")
	}
	return r.TimedOut(err, missing+"; "+cmp.Or(r.GoesOn, "the same command")+" goes on, and --assume-serving does without a controller's word")
}

// notServing reads a route, and its Gateway where that says whether it serves, and returns what NotServing does.
func (r *Successors) notServing(ctx context.Context, o render.Object) (string, error) {
	live, err := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	g := r.Options.Config.Gateway
	var gateway *unstructured.Unstructured
	if err == nil && live != nil && onGateway(o.Kind) {
		gateway, err = r.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
	}
	return NotServing(o, live, gateway, g), err
}

// NotServing describes what a live route lacks to be known to serve, or returns "". gateway is the configured Gateway, nil
// if it is not there; only routes of the Gateway API need it.
func NotServing(o render.Object, live, gateway *unstructured.Unstructured, g config.Gateway) string {
	if live == nil {
		return fmt.Sprintf("%s %s/%s is not there", o.Kind.Kind, o.Namespace, o.Name)
	}
	return state.NotServing(live, gateway, g.Namespace+"/"+g.Name)
}
