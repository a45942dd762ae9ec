package ledger

import (
	"context"

	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// managerOfFailing is the field manager of the record of failing leases.
const managerOfFailing = "akash-net-reconciler"

// Failing reads which leases the reconciler records as failing.
func (l Ledger) Failing(ctx context.Context) ([]state.Failing, error) {
	meta, err := l.get(ctx, state.FailingName)
	if meta == nil || err != nil {
		return nil, err
	}
	return state.ReadFailing(meta.Annotations[state.AnnotationFailing], l.cluster.Now()), nil
}

// RecordFailing records which leases fail, in place of what was recorded. Without one it deletes the record.
func (l Ledger) RecordFailing(ctx context.Context, all []state.Failing) error {
	if len(all) == 0 {
		meta, err := l.get(ctx, state.FailingName)
		if meta == nil || err != nil {
			return err
		}
		return l.delete(ctx, meta.Name, &meta.UID, nil)
	}
	record, err := state.RecordFailing(all)
	if err != nil {
		return err
	}
	ac := coordinationv1.Lease(state.FailingName, l.Namespace).WithAnnotations(map[string]string{state.AnnotationFailing: record})
	_, err = l.apply(ctx, state.FailingName, ac, managerOfFailing, true)
	return err
}
