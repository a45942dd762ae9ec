package workloads

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// Rollout returns the rollout state of what the lease runs. It reads Deployments and StatefulSets, then, if they are
// not rolled out, their pods, and, if pods are missing, events.
func (w *Work) Rollout(ctx context.Context) (rollout.Rollout, error) {
	var shown rollout.Lease
	for _, o := range w.objects {
		if o.Kind == kinds.Manifest {
			if err := shown.Add(cluster.Rendered(o)); err != nil {
				return rollout.Rollout{}, err
			}
		}
	}
	ours := metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"}
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.StatefulSet} {
		if err := w.show(ctx, &shown, kind, ours); err != nil {
			return rollout.Rollout{}, err
		}
	}
	if shown.Unsettled() {
		if err := w.show(ctx, &shown, kinds.Pod, ours); err != nil {
			return rollout.Rollout{}, err
		}
	}
	if shown.LacksPods() {
		failed := metav1.ListOptions{FieldSelector: "type=Warning,reason=FailedCreate,involvedObject.kind=StatefulSet"}
		if err := w.show(ctx, &shown, kinds.Event, failed); err != nil {
			return rollout.Rollout{}, err
		}
	}
	now, runs := shown.Of()
	if !runs {
		now.State = rollout.Complete
	}
	return now, nil
}

// show adds the objects of a kind in the lease's namespace.
func (w *Work) show(ctx context.Context, shown *rollout.Lease, kind kinds.Kind, opts metav1.ListOptions) error {
	list, err := w.cluster.Objects(ctx, kind.Resource(), w.id.Namespace(), opts)
	if err != nil {
		return err
	}
	for _, o := range list {
		o.SetGroupVersionKind(kind.GroupVersionKind) // some servers leave it out of list items
		if err := shown.Add(o); err != nil {
			return err
		}
	}
	return nil
}

// KindOf returns the kind that runs a service: StatefulSet or Deployment.
func (w *Work) KindOf(service string) kinds.Kind {
	if w.wanted[deployed.Key{Kind: kinds.StatefulSet.Kind, Name: service}] {
		return kinds.StatefulSet
	}
	return kinds.Deployment
}
