package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
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
	for _, o := range desired {
		if o.Kind == kinds.ProviderLeasedIP && (r.namesAnother(o) || r.Snapshot.Find(o) == nil && len(r.formerServices(o)) > 0) {
			moved = append(moved, o)
		} else {
			rest = append(rest, o)
		}
	}
	return rest, moved
}

// namesAnother reports whether the live ProviderLeasedIP names another service than the rendered one, and this program
// has written it for this lease. One of another lease is handed over as it is; one of Akash's provider is a conflict.
func (r *Objects) namesAnother(o render.Object) bool {
	live := r.Snapshot.Find(o)
	if live == nil {
		return false
	}
	whose := r.Snapshot.Ownership(live)
	return whose.Ours && !whose.Declared && whose.Lease.Group() == r.Group &&
		state.PortObjectOf(live).Service != state.PortObjectOf(cluster.Rendered(o)).Service
}

// formerServices returns the operator's Services for the same port that point at another service of the same endpoint,
// or at the same service of another endpoint.
func (r *Objects) formerServices(o render.Object) (former []observed.Owned) {
	want := state.PortObjectOf(cluster.Rendered(o))
	for _, s := range r.Snapshot.Theirs[r.Group] {
		if s.Kind != kinds.Service {
			continue
		}
		port := state.ServiceObjectOf(s.Live)
		otherService, otherEndpoint := port.Service != want.Service, port.SharingKey != want.SharingKey
		if port.Protocol == want.Protocol && port.Port == want.Port && otherService != otherEndpoint {
			former = append(former, s)
		}
	}
	return former
}

// MovePorts creates ProviderLeasedIPs again after the IP operator has deleted the Services of the former ones.
func (r *Objects) MovePorts(ctx context.Context, moved []render.Object) error {
	for _, o := range moved {
		if r.namesAnother(o) {
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
		for _, former := range r.formerServices(o) {
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

// requestDeploy returns a ProviderHost with the annotation for the time of the last deployment, as Akash's provider
// writes it: a new time makes the hostname operator process the object again. The time stays if nothing else changes.
func (r *Objects) requestDeploy(o render.Object) render.Object {
	if o.Kind != kinds.ProviderHost || !r.Snapshot.Operators.Hostname {
		return o
	}
	if live := r.Snapshot.Find(o); live != nil {
		at := live.GetAnnotations()[lease.AnnotationUpdatedAt]
		if at != "" && observed.Owns(live, r.Group.FieldManager(), lease.AnnotationUpdatedAt) {
			o = annotate(o, lease.AnnotationUpdatedAt, at)
		}
		if cluster.Unchanged(o, live, r.Manager(o)) || r.Snapshot.Ownership(live).Shared {
			return o
		}
	}
	return annotate(o, lease.AnnotationUpdatedAt, r.Cluster.Now().UTC().Format(time.RFC3339))
}
