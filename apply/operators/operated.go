// Package operators is the work that is left to Akash's operators: what they would choke on is refused, and what they make or
// remove is waited for.
package operators

import (
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
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Await waits until what was left to the operators is there, and says what the claims say. That
// something is there is not enough: an operator that is down leaves the former route.
func (r *Operated) Await(ctx context.Context, desired []render.Object) error {
	for _, o := range desired {
		if !r.Snapshot.Operators.Theirs(o) || r.agrees(o, r.Snapshot.TheirRoute(o)) && !r.Changed() {
			continue
		}
		err := r.Poll(ctx, func(ctx context.Context) (bool, error) {
			live, err := r.getTheirs(ctx, o.Kind, o.Namespace, o.Name)
			return err == nil && r.agrees(o, live), err
		})
		if errors.Is(err, report.ErrTimedOut) {
			return &report.TimeoutError{After: r.Options.Wait, Waiting: []string{r.lackingOf(o)}}
		}
		if err != nil {
			return err
		}
		if r.Changed() && o.Kind != kinds.Service {
			r.Event(report.Granted, "route", o.Namespace, o.Name, "by Akash's hostname operator")
		}
	}
	return nil
}

// lackingOf says for which operator a rendered object waits.
func (r *Operated) lackingOf(o render.Object) string {
	if o.Kind == kinds.Service {
		return fmt.Sprintf("Akash's IP operator to write service %s in namespace %s as the lease's claim says (see: kubectl -n %s logs deploy/operator-ip)", o.Name, o.Namespace, observed.OperatorsNamespace)
	}
	lead := ""
	for _, u := range state.HostUses(cluster.Rendered(o)) {
		lead = fmt.Sprintf(" to %s:%d", u.Service, u.Port)
	}
	return fmt.Sprintf("Akash's hostname operator to route %s%s in namespace %s (see: kubectl -n %s logs deploy/operator-hostname, and its /ignore-list)", o.Name, lead, o.Namespace, observed.OperatorsNamespace)
}

// agrees is true for a live object of an operator that serves what the rendered one would: the same host
// or port, from the same backend.
func (r *Operated) agrees(o render.Object, live *unstructured.Unstructured) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	want := cluster.Rendered(o)
	if o.Kind == kinds.Service {
		a, b := state.ServiceObjectOf(want), state.ServiceObjectOf(live)
		return a.Service == b.Service && a.Port == b.Port && a.Protocol == b.Protocol && a.ContainerPort == b.ContainerPort && a.SharingKey == b.SharingKey
	}
	wanted := state.HostUses(want)
	return slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool {
		return len(wanted) > 0 && u.Host == wanted[0].Host && u.Service == wanted[0].Service && u.Port == wanted[0].Port && u.Of(r.Group)
	})
}

// AwaitUnserved waits until the operators have removed what they had made for the parts of claims that
// the group gives up; since a transfer that may be the former holder's. As long as it is there it serves, and its
// claim is kept, whoever deleted what it was made of, and when. What Akash's provider declared itself is its own,
// and stays.
func (r *Operated) AwaitUnserved(ctx context.Context, s *observed.Snapshot, goes func(*state.Claim, state.Part) bool) error {
	made := slices.Clone(s.Theirs[r.Group])
	for _, former := range s.FormersOf(r.Group) {
		made = append(made, s.Theirs[former]...)
	}
	stay, err := r.unremoved(ctx, s, made, goes)
	if err != nil || len(stay) == 0 {
		return err
	}
	waiting := make([]string, 0, len(stay))
	for _, o := range stay {
		waiting = append(waiting, r.toRemove(o))
	}
	return &report.TimeoutError{After: r.Options.Wait, Waiting: waiting}
}

// toRemove says what of an operator's is waited for.
func (r *Operated) toRemove(o observed.Owned) string {
	kind, namespace, name := o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName()
	return fmt.Sprintf("Akash's operator to remove %s %s/%s; its claim is kept until then: the same command goes on. "+
		"An operator that was down when the %s was deleted never removes it: kubectl -n %s delete %s %s", kind, namespace, name, observed.MadeFrom(o.Kind).Kind, namespace, kind, name)
}

// unremoved waits until the operators have removed those of the objects, all of which they have made, that serve
// parts of claims of the group, and is what is there still when the time is over.
func (r *Operated) unremoved(ctx context.Context, s *observed.Snapshot, made []observed.Owned, goes func(*state.Claim, state.Part) bool) (stay []observed.Owned, err error) {
	for _, o := range made {
		if s.Declared(o.Kind, o.Live, o.Group) || !slices.ContainsFunc(s.Held[r.Group], func(c *state.Claim) bool {
			return slices.ContainsFunc(c.PartsOf(r.Group), func(p state.Part) bool {
				return (o.Group == r.Group || p.From == o.Group.String()) && goes(c, p) && o.ServesPart(c, p)
			})
		}) {
			continue
		}
		err := r.Gone(ctx, o)
		switch {
		case errors.Is(err, report.ErrTimedOut):
			stay = append(stay, o)
		case err != nil:
			return nil, err
		}
	}
	return stay, nil
}

// getTheirs reads what an operator makes for a rendered object, or nil.
func (r *Operated) getTheirs(ctx context.Context, kind kinds.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	for _, kind := range observed.OperatorKinds(kind) {
		live, err := r.Cluster.Get(ctx, kind, namespace, name)
		if _, ok := errors.AsType[*cluster.MissingKindError](err); ok && kinds.Optional(kind) {
			err = nil
		}
		if live != nil || err != nil {
			return live, err
		}
	}
	return nil, nil //nolint:nilnil // nothing is there
}

// LeaveTheirs tells of the objects that are left to the operators, and returns the others.
func (r *Operated) LeaveTheirs(objects []render.Object) []render.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o render.Object) bool {
		if !r.Snapshot.Operators.Theirs(o) {
			return false
		}
		if r.Snapshot.TheirRoute(o) == nil {
			r.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, "to Akash's operator")
		} else {
			r.Event(report.Unchanged, o.Kind.Singular, o.Namespace, o.Name, "")
		}
		return true
	})
}

// Operated is the part of the work on one lease that Akash's operators do.
type Operated struct{ *claims.Claims }
