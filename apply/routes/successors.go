// Package routes waits until routes are accepted and serve, and keeps the routes that they replace until then.
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
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Successors are the routes of a lease that take the place of others: until a new one is known to serve, the old one stays.
type Successors struct {
	*claims.Claims
	// old are the routes that a new one replaces, of the run's own lease and of others, each with the new one.
	old map[*unstructured.Unstructured]render.Object
	// Stay is true where some new route is not known to serve; unserved says what was waited for.
	Stay     bool
	unserved *report.TimeoutError
	// names are those of the routes that stay, and of what belongs to them.
	names map[string]bool
	// GoesOn is the command that goes on where the old routes have to stay; empty for the same again.
	GoesOn string
	// Unjudged is true once the run has met a route of which no controller says whether it accepts it.
	Unjudged bool
}

// replaces finds the live routes whose host and path the desired ones have: those of another kind, and on the
// Gateway API those of other leases, which serve until they go. An Ingress or an OpenShift Route of another
// lease may keep the new one from being taken up at all.
func (r *Successors) replaces(desired []render.Object) map[*unstructured.Unstructured]render.Object {
	old := map[*unstructured.Unstructured]render.Object{}
	if r.Snapshot.Operators.Hostname {
		return old
	}
	for _, o := range desired {
		if _, _, redirect := lease.ParseRouteName(o.Name); redirect || !slices.Contains(kinds.RouteKinds, o.Kind) {
			continue
		}
		for _, use := range state.HostUses(cluster.Rendered(o)) {
			for _, was := range r.Snapshot.Serving[state.HostName(use.Host)] {
				if r.GoesFor(was, use) && (was.Kind != o.Kind || was.Group != r.Group && onGateway(o.Kind)) && slices.Contains(kinds.RouteKinds, was.Kind) &&
					slices.ContainsFunc(state.HostUses(was.Live), func(u state.Use) bool { return u.Host == use.Host && u.Path == use.Path && !u.Redirect }) {
					old[was.Live] = o
				}
			}
		}
	}
	return old
}

// GoesFor is true for a live object that the run removes for a route of its own.
func (r *Successors) GoesFor(was observed.Owned, use state.Use) bool {
	if was.Group == r.Group {
		return r.Options.Prune
	}
	return r.mine(use) && r.Removes(was.Group, r.Snapshot.Claims[state.HostName(use.Host)])
}

// onGateway is true for the kinds of which a Gateway takes several for one host: the oldest serves.
func onGateway(kind kinds.Kind) bool { return kind == kinds.HTTPRoute || kind == kinds.TLSRoute }

// mine is true for a host and path that the run holds.
func (r *Successors) mine(u state.Use) bool {
	h := r.Holds[state.HostName(u.Host)]
	return h != nil && slices.ContainsFunc(h.Want.Parts, func(p state.Part) bool { return p.Key == state.RouteKey(u.Path) })
}

// Await waits until the new routes are known to serve. Where they are not in time the old ones
// stay, with the DNS records that lead to them and what belongs to them.
func (r *Successors) Await(ctx context.Context, desired []render.Object) error {
	r.old, r.names, r.Stay, r.unserved = r.replaces(desired), map[string]bool{}, false, nil
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
		r.Event(report.Left, kindOfLive(old), old.GetNamespace(), old.GetName(), "it stays: "+timeout.Waiting[0])
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

// Stays is true for what a run leaves while a new route is not known to serve: the old route, what belongs
// to it, and the DNS records of what the lease holds.
func (r *Successors) Stays(o observed.Owned) bool {
	switch {
	case !r.Stay || o.Kind == kinds.Service || slices.Contains(kinds.ClaimLike, o.Kind):
		return false
	case o.RecordOf() != "":
		return r.Holds[state.HostName(o.RecordOf())] != nil
	case o.Kind == kinds.BackendTLSPolicy: // it is named after a Service, which several routes may have
		return true
	}
	return r.names[o.Live.GetName()]
}

// StaysFor is true where a route that stays serves a part for the run's lease since a transfer.
func (r *Successors) StaysFor(c *state.Claim, p state.Part) bool {
	former, ok := p.Former()
	return ok && slices.ContainsFunc(r.Snapshot.Serving[c.Name()], func(o observed.Owned) bool {
		return o.Group == former && slices.Contains(kinds.RouteKinds, o.Kind) && r.Stays(o) && observed.StandsFor(o, c, p)
	})
}

// Err is what a run ends with whose old routes had to stay.
func (r *Successors) Err() error {
	if r.unserved == nil {
		return nil
	}
	return r.unserved
}

// AwaitServing waits until a controller has said that a route serves. Where it is assumed, only
// controllers that are there to say so are waited for.
func (r *Successors) AwaitServing(ctx context.Context, o render.Object) error {
	if r.Options.AssumeServing {
		if !slices.Contains(kinds.Reporting, o.Kind) {
			return nil
		}
		return r.awaitRoute(ctx, o, state.Serves)
	}
	missing, serves := "", false
	err := r.Poll(ctx, func(ctx context.Context) (bool, error) {
		now, err := r.notServing(ctx, o)
		if err == nil { // when the time is over the last read may fail for that
			missing = now
		}
		serves = now == "" && err == nil
		return serves, err
	})
	if errors.Is(err, report.ErrTimedOut) {
		return &report.TimeoutError{After: r.Options.Wait, Waiting: []string{missing + "; " + cmp.Or(r.GoesOn, "the same command") + " goes on, and --assume-serving does without a controller's word"}}
	}
	if serves && r.Changed() {
		r.Event(report.Accepted, o.Kind.Singular, o.Namespace, o.Name, "by its controller")
	}
	return err
}

// notServing says what a route lacks before it is known to serve, as it is now.
func (r *Successors) notServing(ctx context.Context, o render.Object) (string, error) {
	live, err := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil || live == nil {
		return fmt.Sprintf("%s %s/%s is not there", o.Kind.Kind, o.Namespace, o.Name), err
	}
	g := r.Options.Config.Gateway
	var gateway *unstructured.Unstructured
	if onGateway(o.Kind) {
		gateway, err = r.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
		if _, ok := errors.AsType[*cluster.MissingKindError](err); ok {
			err = nil
		}
	}
	return state.NotServing(live, gateway, g.Namespace+"/"+g.Name), err
}

func kindOfLive(o *unstructured.Unstructured) string {
	for _, kind := range kinds.RouteKinds {
		if kind.Kind == o.GetKind() {
			return kind.Singular
		}
	}
	return o.GetKind()
}
