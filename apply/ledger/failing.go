package ledger

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/state"
)

// managerOfFailing is the field manager of the record of failing leases.
const managerOfFailing = "akash-net-reconciler"

// Failing reads which leases the reconcilers record as failing.
func (l Ledger) Failing(ctx context.Context) (all []state.Failing, err error) {
	opts := metav1.ListOptions{LabelSelector: state.LabelComponent + "=" + state.ComponentFailing}
	err = cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) {
		all = append(all, state.ReadFailing(meta.Annotations[state.AnnotationFailing], l.cluster.Now())...)
	}, func() { all = nil })
	return all, err
}

// RecordFailing records which leases fail of a set of sources, in place of what was recorded. Without one it deletes the record.
func (l Ledger) RecordFailing(ctx context.Context, set []string, all []state.Failing) error {
	name := state.FailingName(set)
	if len(all) == 0 {
		meta, err := l.get(ctx, name)
		if meta == nil || err != nil {
			return err
		}
		return l.delete(ctx, meta.Name, &meta.UID, nil)
	}
	record, err := state.RecordFailing(all)
	if err != nil {
		return err
	}
	ac := coordinationv1.Lease(name, l.Namespace).WithAnnotations(map[string]string{state.AnnotationFailing: record}).
		WithLabels(map[string]string{state.LabelComponent: state.ComponentFailing})
	_, err = l.apply(ctx, name, ac, managerOfFailing, true)
	return err
}
