package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The IP operator keys a leased port without its service, and never removes the Service of a former
// service name; nor does it take one over that it has made for another endpoint, which has the same name (provider:
// operator/ip). So a ProviderLeasedIP that is to name another service goes, the operator's Service is waited for to be
// gone, and then it is made anew.

// splitMoved takes the ProviderLeasedIPs whose port moves to another service out of the objects.
func (r *objects) splitMoved(desired []render.Object) (rest, moved []render.Object) {
	if !r.snapshot.operators.ip {
		return desired, nil
	}
	for _, o := range desired {
		if o.Kind == kinds.ProviderLeasedIP && (r.namesAnother(o) || r.snapshot.find(o) == nil && len(r.formerServices(o)) > 0) {
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
func (r *objects) namesAnother(o render.Object) bool {
	live := r.snapshot.find(o)
	if live == nil {
		return false
	}
	whose := r.snapshot.ownership(live)
	return whose.Ours && !whose.Declared && whose.Lease.Group() == r.group && state.PortObjectOf(live).Service != state.PortObjectOf(cluster.Rendered(o)).Service
}

// formerServices are the operator's Services of a port of the lease that lead to another service, or that have the
// name of its own and are of another endpoint.
func (r *objects) formerServices(o render.Object) (former []owned) {
	want := state.PortObjectOf(cluster.Rendered(o))
	for _, s := range r.snapshot.theirs[r.group] {
		if s.kind != kinds.Service {
			continue
		}
		port := state.ServiceObjectOf(s.live)
		otherService, otherEndpoint := port.Service != want.Service, port.SharingKey != want.SharingKey
		if port.Protocol == want.Protocol && port.Port == want.Port && otherService != otherEndpoint {
			former = append(former, s)
		}
	}
	return former
}

// movePorts makes ProviderLeasedIPs anew, after the Services that the IP operator has made of the former
// ones have gone.
func (r *objects) movePorts(ctx context.Context, moved []render.Object) error {
	for _, o := range moved {
		if r.namesAnother(o) {
			live := r.snapshot.find(o)
			if err := r.mayMake(ctx, o); err != nil {
				return err
			}
			if err := r.remove(ctx, owned{kind: o.Kind, live: live, group: r.group}, Deleted); err != nil {
				return err
			}
			delete(r.snapshot.live[o.Kind.Plural], o.Namespace+"/"+o.Name)
		}
	}
	var waiting []string
	for _, o := range moved {
		for _, former := range r.formerServices(o) {
			err := r.gone(ctx, former)
			if errors.Is(err, errTimedOut) {
				namespace, name := former.live.GetNamespace(), former.live.GetName()
				waiting = append(waiting, fmt.Sprintf("Akash's IP operator to remove service %s/%s, whose port moves to another service or endpoint; the port stays claimed: the same command goes on. "+
					"An operator that was down when the ProviderLeasedIP was deleted never removes it: kubectl -n %s delete service %s", namespace, name, namespace, name))
			} else if err != nil {
				return err
			}
		}
	}
	if len(waiting) > 0 {
		slices.Sort(waiting)
		return &TimeoutError{After: r.opts.Wait, Waiting: waiting}
	}
	return r.writeAll(ctx, moved)
}

// wakes is a ProviderHost with the time at which it was last deployed, which Akash's provider
// writes too, so that its operator looks at it again. It stays while nothing else changes.
func (r *objects) wakes(o render.Object) render.Object {
	if o.Kind != kinds.ProviderHost || !r.snapshot.operators.hostname {
		return o
	}
	body := cluster.Rendered(o)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	out := render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: body}
	if live := r.snapshot.find(o); live != nil {
		if at := live.GetAnnotations()[lease.AnnotationUpdatedAt]; at != "" && owns(live, r.group.FieldManager(), lease.AnnotationUpdatedAt) {
			annotations[lease.AnnotationUpdatedAt] = at
			body.SetAnnotations(annotations)
		}
		if cluster.Unchanged(out, live, r.manager(o)) || r.snapshot.ownership(live).Shared {
			return out
		}
	}
	annotations[lease.AnnotationUpdatedAt] = r.cluster.Now().UTC().Format(time.RFC3339)
	body.SetAnnotations(annotations)
	return out
}
