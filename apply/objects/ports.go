package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Akash's IP operator identifies a leased port without its service. It never deletes the Service of a former service
// name, and does not take over a Service of the same name that it has created for another endpoint (provider:
// operator/ip). So to point a ProviderLeasedIP at another service, a run deletes it, waits until the operator's Service
// is gone, and creates it again.

// SplitMoved returns the ProviderLeasedIPs whose port moves to another service, and the other objects.
func (r *Objects) SplitMoved(desired []render.Object) (rest, moved []render.Object) {
	if !r.Snapshot.Operators.IP {
		return desired, nil
	}
	s, g := r.Snapshot, r.Group
	for _, o := range desired {
		if o.Kind == kinds.ProviderLeasedIP && (observed.NamesAnother(s, g, o) || s.Find(o) == nil && len(observed.FormerServices(s, g, o)) > 0) {
			moved = append(moved, o)
		} else {
			rest = append(rest, o)
		}
	}
	return rest, moved
}

// MovePorts creates ProviderLeasedIPs again after the IP operator has deleted the Services of the former ones.
func (r *Objects) MovePorts(ctx context.Context, moved []render.Object) error {
	for _, o := range moved {
		if observed.NamesAnother(r.Snapshot, r.Group, o) {
			live := r.Snapshot.Find(o)
			if err := r.checkCreate(ctx, o); err != nil {
				return err
			}
			if err := r.Remove(ctx, observed.Owned{Kind: o.Kind, Live: live, Group: r.Group}, report.Deleted); err != nil {
				return err
			}
			r.Snapshot = r.Snapshot.With(o.Kind, o.Namespace, o.Name, nil)
		}
	}
	var waiting []string
	for _, o := range moved {
		for _, former := range observed.FormerServices(r.Snapshot, r.Group, o) {
			err := r.Gone(ctx, former)
			if errors.Is(err, report.ErrTimedOut) {
				namespace, name := former.Live.GetNamespace(), former.Live.GetName()
				waiting = append(waiting, fmt.Sprintf("Akash's IP operator to remove service %s/%s, whose port moves to another service "+
					"or endpoint; the port stays claimed: the same command goes on. An operator that was down when the ProviderLeasedIP was deleted never removes it: kubectl -n %s delete service %s", namespace, name, namespace, name))
			} else if err != nil {
				return err
			}
		}
	}
	if len(waiting) > 0 {
		slices.Sort(waiting)
		return &report.TimeoutError{After: r.Options.Wait, Waiting: waiting}
	}
	return r.WriteAll(ctx, moved)
}

// requestDeploy returns the object as DeployRequested does, where the hostname operator runs.
func (r *Objects) requestDeploy(o render.Object) render.Object {
	if !r.Snapshot.Operators.Hostname {
		return o
	}
	return observed.DeployRequested(o, r.Snapshot.Find(o), r.Manager(o), r.Cluster.Now())
}
