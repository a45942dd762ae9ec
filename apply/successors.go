package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// successors are the routes of a lease that take the place of others: until a new one is known to serve, the old one stays.
type successors struct {
	*claims
	// old are the routes that a new one replaces, of the run's own lease and of others, each with the new one.
	old map[*unstructured.Unstructured]render.Object
	// stay is true where some new route is not known to serve; unserved says what was waited for.
	stay     bool
	unserved *TimeoutError
	// names are those of the routes that stay, and of what belongs to them.
	names map[string]bool
	// goesOn is the command that goes on where the old routes have to stay; empty for the same again.
	goesOn string
	// unjudged is true once the run has met a route of which no controller says whether it accepts it.
	unjudged bool
}

// replaces finds the live routes whose host and path the desired ones have: those of another kind, and on the
// Gateway API those of other leases, which serve until they go. An Ingress or an OpenShift Route of another
// lease may keep the new one from being taken up at all.
func (r *successors) replaces(desired []render.Object) map[*unstructured.Unstructured]render.Object {
	old := map[*unstructured.Unstructured]render.Object{}
	if r.snapshot.operators.hostname {
		return old
	}
	for _, o := range desired {
		if _, _, redirect := lease.ParseRouteName(o.Name); redirect || !slices.Contains(kinds.RouteKinds, o.Kind) {
			continue
		}
		for _, use := range state.HostUses(cluster.Rendered(o)) {
			for _, was := range r.snapshot.serving[state.HostName(use.Host)] {
				if r.goesFor(was, use) && (was.kind != o.Kind || was.group != r.group && onGateway(o.Kind)) && slices.Contains(kinds.RouteKinds, was.kind) &&
					slices.ContainsFunc(state.HostUses(was.live), func(u state.Use) bool { return u.Host == use.Host && u.Path == use.Path && !u.Redirect }) {
					old[was.live] = o
				}
			}
		}
	}
	return old
}

// goesFor is true for a live object that the run removes for a route of its own.
func (r *successors) goesFor(was owned, use state.Use) bool {
	if was.group == r.group {
		return r.opts.Prune
	}
	return r.mine(use) && r.removes(was.group, r.snapshot.claims[state.HostName(use.Host)])
}

// onGateway is true for the kinds of which a Gateway takes several for one host: the oldest serves.
func onGateway(kind kinds.Kind) bool { return kind == kinds.HTTPRoute || kind == kinds.TLSRoute }

// mine is true for a host and path that the run holds.
func (r *successors) mine(u state.Use) bool {
	h := r.holds[state.HostName(u.Host)]
	return h != nil && slices.ContainsFunc(h.want.Parts, func(p state.Part) bool { return p.Key == state.RouteKey(u.Path) })
}

// await waits until the new routes are known to serve. Where they are not in time the old ones
// stay, with the DNS records that lead to them and what belongs to them.
func (r *successors) await(ctx context.Context, desired []render.Object) error {
	r.old, r.names, r.stay, r.unserved = r.replaces(desired), map[string]bool{}, false, nil
	asked := map[string]error{}
	for old, o := range r.old {
		err, known := asked[o.String()]
		if !known {
			err = r.awaitServing(ctx, o)
			asked[o.String()] = err
		}
		timeout, ok := errors.AsType[*TimeoutError](err)
		if !ok {
			if err != nil {
				return err
			}
			continue
		}
		r.stay = true
		r.names[old.GetName()], r.names[lease.RedirectName(old.GetName())] = true, true
		r.event(Left, kindOfLive(old), old.GetNamespace(), old.GetName(), "it stays: "+timeout.Waiting[0])
		if r.opts.Wait == 0 || known {
			continue
		}
		if r.unserved == nil {
			r.unserved = &TimeoutError{After: r.opts.Wait}
		}
		r.unserved.Waiting = append(r.unserved.Waiting, timeout.Waiting...)
	}
	return nil
}

// stays is true for what a run leaves while a new route is not known to serve: the old route, what belongs
// to it, and the DNS records of what the lease holds.
func (r *successors) stays(o owned) bool {
	switch {
	case !r.stay || o.kind == kinds.Service || slices.Contains(kinds.ClaimLike, o.kind):
		return false
	case o.recordOf() != "":
		return r.holds[state.HostName(o.recordOf())] != nil
	case o.kind == kinds.BackendTLSPolicy: // it is named after a Service, which several routes may have
		return true
	}
	return r.names[o.live.GetName()]
}

// staysFor is true where a route that stays serves a part for the run's lease since a transfer.
func (r *successors) staysFor(c *state.Claim, p state.Part) bool {
	former, ok := p.Former()
	return ok && slices.ContainsFunc(r.snapshot.serving[c.Name()], func(o owned) bool {
		return o.group == former && slices.Contains(kinds.RouteKinds, o.kind) && r.stays(o) && standsFor(o, c, p)
	})
}

// err is what a run ends with whose old routes had to stay.
func (r *successors) err() error {
	if r.unserved == nil {
		return nil
	}
	return r.unserved
}

// awaitServing waits until a controller has said that a route serves. Where it is assumed, only
// controllers that are there to say so are waited for.
func (r *successors) awaitServing(ctx context.Context, o render.Object) error {
	if r.opts.AssumeServing {
		if !slices.Contains(kinds.Reporting, o.Kind) {
			return nil
		}
		return r.awaitRoute(ctx, o, state.Serves)
	}
	missing, serves := "", false
	err := r.poll(ctx, func(ctx context.Context) (bool, error) {
		now, err := r.notServing(ctx, o)
		if err == nil { // when the time is over the last read may fail for that
			missing = now
		}
		serves = now == "" && err == nil
		return serves, err
	})
	if errors.Is(err, errTimedOut) {
		return &TimeoutError{After: r.opts.Wait, Waiting: []string{missing + "; " + cmp.Or(r.goesOn, "the same command") + " goes on, and --assume-serving does without a controller's word"}}
	}
	if serves && r.changed {
		r.event(Accepted, o.Kind.Singular, o.Namespace, o.Name, "by its controller")
	}
	return err
}

// notServing says what a route lacks before it is known to serve, as it is now.
func (r *successors) notServing(ctx context.Context, o render.Object) (string, error) {
	live, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil || live == nil {
		return fmt.Sprintf("%s %s/%s is not there", o.Kind.Kind, o.Namespace, o.Name), err
	}
	g := r.opts.Config.Gateway
	var gateway *unstructured.Unstructured
	if onGateway(o.Kind) {
		gateway, err = r.cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
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
