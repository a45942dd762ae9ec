package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The IP operator keys a leased port without its service, and never removes the Service of a former
// service name; nor does it take one over that it has made for another endpoint, which has the same name (provider:
// operator/ip). So a ProviderLeasedIP that is to name another service goes, the operator's Service is waited for to be
// gone, and then it is made anew.

// SplitMoved takes the ProviderLeasedIPs whose port moves to another service out of the objects.
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

// namesAnother is true for a ProviderLeasedIP of this lease, and of this program, that names another
// service than the rendered one. That of another lease is handed over as it is, and one that Akash's
// provider made is a conflict.
func (r *Objects) namesAnother(o render.Object) bool {
	live := r.Snapshot.Find(o)
	if live == nil {
		return false
	}
	whose := r.Snapshot.Ownership(live)
	return whose.Ours && !whose.Declared && whose.Lease.Group() == r.Group && state.PortObjectOf(live).Service != state.PortObjectOf(cluster.Rendered(o)).Service
}

// formerServices are the operator's Services of a port of the lease that lead to another service, or that have the
// name of its own and are of another endpoint.
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

// MovePorts makes ProviderLeasedIPs anew, after the Services that the IP operator has made of the former
// ones have gone.
func (r *Objects) MovePorts(ctx context.Context, moved []render.Object) error {
	for _, o := range moved {
		if r.namesAnother(o) {
			live := r.Snapshot.Find(o)
			if err := r.mayMake(ctx, o); err != nil {
				return err
			}
			if err := r.Remove(ctx, observed.Owned{Kind: o.Kind, Live: live, Group: r.Group}, report.Deleted); err != nil {
				return err
			}
			delete(r.Snapshot.Live[o.Kind.Plural], o.Namespace+"/"+o.Name)
		}
	}
	var waiting []string
	for _, o := range moved {
		for _, former := range r.formerServices(o) {
			err := r.Gone(ctx, former)
			if errors.Is(err, report.ErrTimedOut) {
				namespace, name := former.Live.GetNamespace(), former.Live.GetName()
				waiting = append(waiting, fmt.Sprintf("Akash's IP operator to remove service %s/%s, whose port moves to another service or endpoint; the port stays claimed: the same command goes on. "+
					"An operator that was down when the ProviderLeasedIP was deleted never removes it: kubectl -n %s delete service %s", namespace, name, namespace, name))
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

// wakes is a ProviderHost with the time at which it was last deployed, which Akash's provider
// writes too, so that its operator looks at it again. It stays while nothing else changes.
func (r *Objects) wakes(o render.Object) render.Object {
	if o.Kind != kinds.ProviderHost || !r.Snapshot.Operators.Hostname {
		return o
	}
	body := cluster.Rendered(o)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	out := render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: body}
	if live := r.Snapshot.Find(o); live != nil {
		if at := live.GetAnnotations()[lease.AnnotationUpdatedAt]; at != "" && observed.Owns(live, r.Group.FieldManager(), lease.AnnotationUpdatedAt) {
			annotations[lease.AnnotationUpdatedAt] = at
			body.SetAnnotations(annotations)
		}
		if cluster.Unchanged(out, live, r.Manager(o)) || r.Snapshot.Ownership(live).Shared {
			return out
		}
	}
	annotations[lease.AnnotationUpdatedAt] = r.Cluster.Now().UTC().Format(time.RFC3339)
	body.SetAnnotations(annotations)
	return out
}
