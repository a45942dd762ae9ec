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

// successors are the routes of a run that take the place of others, with those: until the new ones are known
// to serve, the old ones stay.
type successors struct {
	// old are the routes that a new one replaces, of the run's own lease and of others.
	old map[*unstructured.Unstructured]render.Object
	// stay is true where some new route is not known to serve; unserved says what was waited for.
	stay     bool
	unserved *TimeoutError
	// names are those of the routes that stay, and of what belongs to them.
	names map[string]bool
}

// replaces finds the live routes whose host and path the desired ones have: those of another kind, and on the
// Gateway API those of other leases, which serve until they go. An Ingress or an OpenShift Route of another
// lease may keep the new one from being taken up at all.
func (r *objects) replaces(desired []render.Object) successors {
	s := successors{old: map[*unstructured.Unstructured]render.Object{}, names: map[string]bool{}}
	if r.snapshot.operators.hostname {
		return s
	}
	for _, o := range desired {
		if _, _, redirect := lease.ParseRouteName(o.Name); redirect || !slices.Contains(kinds.RouteKinds, o.Kind) {
			continue
		}
		for _, use := range state.HostUses(cluster.Rendered(o)) {
			for _, was := range r.snapshot.serving[state.HostName(use.Host)] {
				if r.goesFor(was, use) && (was.kind != o.Kind || was.group != r.group && onGateway(o.Kind)) && slices.Contains(kinds.RouteKinds, was.kind) &&
					slices.ContainsFunc(state.HostUses(was.live), func(u state.Use) bool { return u.Host == use.Host && u.Path == use.Path && !u.Redirect }) {
					s.old[was.live] = o
				}
			}
		}
	}
	return s
}

// goesFor is true for a live object that the run removes for a route of its own.
func (r *objects) goesFor(was owned, use state.Use) bool {
	if was.group == r.group {
		return r.opts.Prune
	}
	return r.mine(use) && r.removes(was.group, r.snapshot.claims[state.HostName(use.Host)])
}

// onGateway is true for the kinds of which a Gateway takes several for one host: the oldest serves.
func onGateway(kind kinds.Kind) bool { return kind == kinds.HTTPRoute || kind == kinds.TLSRoute }

// mine is true for a host and path that the run holds.
func (r *objects) mine(u state.Use) bool {
	h := r.holds[state.HostName(u.Host)]
	return h != nil && slices.ContainsFunc(h.want.Parts, func(p state.Part) bool { return p.Key == state.RouteKey(u.Path) })
}

// awaitSuccessors waits until the new routes are known to serve. Where they are not in time the old ones
// stay, with the DNS records that lead to them and what belongs to them.
func (r *objects) awaitSuccessors(ctx context.Context, desired []render.Object) error {
	r.successors = r.replaces(desired)
	asked := map[string]error{}
	for old, o := range r.successors.old {
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
		r.successors.stay = true
		r.successors.names[old.GetName()], r.successors.names[lease.RedirectName(old.GetName())] = true, true
		r.event(Left, kindOfLive(old), old.GetNamespace(), old.GetName(), "it stays: "+timeout.Waiting[0])
		if r.opts.Wait == 0 || known {
			continue
		}
		if r.successors.unserved == nil {
			r.successors.unserved = &TimeoutError{After: r.opts.Wait}
		}
		r.successors.unserved.Waiting = append(r.successors.unserved.Waiting, timeout.Waiting...)
	}
	return nil
}

// stays is true for what a run leaves while a new route is not known to serve: the old route, what belongs
// to it, and the DNS records of what the lease holds.
func (r *objects) stays(o owned) bool {
	s := r.successors
	switch {
	case !s.stay || o.kind == kinds.Service || slices.Contains(kinds.ClaimLike, o.kind):
		return false
	case o.recordOf() != "":
		return r.holds[state.HostName(o.recordOf())] != nil
	case o.kind == kinds.BackendTLSPolicy: // it is named after a Service, which several routes may have
		return true
	}
	return s.names[o.live.GetName()]
}

// staysFor is true where a route that stays serves a part for the run's lease since a transfer.
func (r *objects) staysFor(c *state.Claim, p state.Part) bool {
	former, ok := p.Former()
	return ok && slices.ContainsFunc(r.snapshot.serving[c.Name()], func(o owned) bool {
		return o.group == former && slices.Contains(kinds.RouteKinds, o.kind) && r.stays(o) && standsFor(o, c, p)
	})
}

// err is what a run ends with whose old routes had to stay.
func (s successors) err() error {
	if s.unserved == nil {
		return nil
	}
	return s.unserved
}

// awaitServing waits until a controller has said that a route serves. Where it is assumed, only
// controllers that are there to say so are waited for.
func (r *objects) awaitServing(ctx context.Context, o render.Object) error {
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
func (r *objects) notServing(ctx context.Context, o render.Object) (string, error) {
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
