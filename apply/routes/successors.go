// Package routes waits until routes are accepted and serve. Until then it keeps the routes that they replace.
package routes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Successors are the routes of a lease that replace others. An old route stays until its successor is known to serve.
type Successors struct {
	*claims.Claims
	// old maps each route that is replaced, of the run's lease or another, to its successor.
	old map[*unstructured.Unstructured]render.Object
	// Stay is true if some successor is not known to serve; unserved is the error of those that timed out.
	Stay     bool
	unserved *report.TimeoutError
	// names are the names of the routes that stay and of their companion objects.
	names map[string]bool
	// GoesOn is the command that continues if old routes have to stay; empty means the same command.
	GoesOn string
}

// Replaced finds the live routes with the host and path of a desired one of a group: routes of another kind, and on the
// Gateway API also routes of other leases, which serve until they are deleted. On an Ingress controller or OpenShift a
// route of another lease may prevent the new one from being accepted at all, so those are not kept. goes says whether the
// group deletes a live route for its own.
func Replaced(
	s *observed.Snapshot, desired []render.Object, group lease.Group, goes func(was observed.Owned, use state.Use) bool,
) map[*unstructured.Unstructured]render.Object {
	old := map[*unstructured.Unstructured]render.Object{}
	if s.Operators.Hostname {
		return old
	}
	for _, o := range desired {
		if _, _, redirect := lease.ParseRouteName(o.Name); redirect || !slices.Contains(kinds.RouteKinds, o.Kind) {
			continue
		}
		for _, use := range state.HostUses(cluster.Rendered(o)) {
			for _, was := range s.Serving[state.HostName(use.Host)] {
				sameRoute := func(u state.Use) bool { return u.Host == use.Host && u.Path == use.Path && !u.Redirect }
				if goes(was, use) && (was.Kind != o.Kind || was.Group != group && onGateway(o.Kind)) &&
					slices.Contains(kinds.RouteKinds, was.Kind) && slices.ContainsFunc(state.HostUses(was.Live), sameRoute) {
					old[was.Live] = o
				}
			}
		}
	}
	return old
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

// Await waits until the successors are known to serve. If one is not in time, the old route stays, with its DNS records
// and companion objects.
func (r *Successors) Await(ctx context.Context, desired []render.Object) error {
	r.old, r.names, r.Stay, r.unserved = Replaced(r.Snapshot, desired, r.Group, r.GoesFor), map[string]bool{}, false, nil
	asked := map[string]error{}
	for old, o := range r.old {
		err, known := asked[o.String()]
		if !known {
			err = r.AwaitServing(ctx, o)
			asked[o.String()] = err
		}
		timeout, ok := errors.AsType[*report.TimeoutError](err)
		if !ok {
			if err != nil {
				return err
			}
			continue
		}
		r.Stay = true
		r.names[old.GetName()], r.names[lease.RedirectName(old.GetName())] = true, true
		r.Event(report.Left, kinds.Of(old.GetKind()).Singular, old.GetNamespace(), old.GetName(), "it stays: "+timeout.Waiting[0])
		if r.Options.Wait == 0 || known {
			continue
		}
		if r.unserved == nil {
			r.unserved = &report.TimeoutError{After: r.Options.Wait}
		}
		r.unserved.Waiting = append(r.unserved.Waiting, timeout.Waiting...)
	}
	return nil
}

// Stays reports whether the run leaves an object because a successor is not known to serve: the old route, its
// companion objects, and the DNS records of what the lease holds.
func (r *Successors) Stays(o observed.Owned) bool {
	switch {
	case !r.Stay || o.Kind == kinds.Service || slices.Contains(kinds.ClaimLike, o.Kind):
		return false
	case o.RecordOf() != "":
		return r.Holds[state.HostName(o.RecordOf())] != nil
	case o.Kind == kinds.BackendTLSPolicy: // named after a Service, which several routes may share
		return true
	}
	return r.names[o.Live.GetName()]
}

// StaysFor reports whether a route that stays serves a part for the run's lease since a transfer.
func (r *Successors) StaysFor(c *state.Claim, p state.Part) bool {
	former, ok := p.Former()
	return ok && slices.ContainsFunc(r.Snapshot.Serving[c.Name()], func(o observed.Owned) bool {
		return o.Group == former && slices.Contains(kinds.RouteKinds, o.Kind) && r.Stays(o) && observed.StandsFor(o, c, p)
	})
}

// Err returns the error of a run whose old routes had to stay, or nil.
func (r *Successors) Err() error {
	if r.unserved == nil {
		return nil
	}
	return r.unserved
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
