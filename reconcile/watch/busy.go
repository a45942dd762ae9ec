package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// busyError says that another command is announced for a deployment group.
type busyError struct{ by *state.Announcement }

func (e *busyError) Error() string { return e.by.InTheWay() }

// busy returns those of the deployment groups for which commands are announced that have not ended.
func (r *reconciler) busy(ctx context.Context, groups []lease.Group) (map[lease.Group]*busyError, error) {
	namespace := r.opts.Command.Config.LedgerNamespace
	all, err := r.watched.Metas(ctx, cluster.Leases, namespace)
	if err != nil {
		return nil, err
	}
	book := ledger.New(r.opts.Cluster, namespace)
	return busyOf(groups, all, func(nonce string) (now *state.Announcement, err error) {
		err = book.Until(ctx, func(ctx context.Context) (err error) {
			if now, err = book.Announcement(ctx, nonce); now != nil && now.Unreadable != "" {
				err = nil // it is in the way all the same
			}
			return err
		})
		return now, err
	})
}

// busyOf returns those of the deployment groups that announcements name, by the metadata of the ledger's objects. That may be a moment
// old, and show announcements of commands that have ended, also the reconciler's own: each that is in the way is read again.
func busyOf(
	groups []lease.Group, all []*metav1.ObjectMeta, read func(nonce string) (*state.Announcement, error),
) (map[lease.Group]*busyError, error) {
	asked, busy := make(map[lease.Group]bool, len(groups)), map[lease.Group]*busyError{}
	for _, g := range groups {
		asked[g] = true
	}
	for _, m := range all {
		nonce, announced := state.AnnouncedNonce(m.Name)
		if !announced || m.Annotations[state.AnnotationPhase] == string(state.Fenced) {
			continue
		}
		var named []lease.Group
		for _, g := range groupsIn(m) {
			if asked[g] {
				named = append(named, g)
			}
		}
		if len(named) == 0 {
			continue
		}
		now, err := read(nonce)
		if err != nil {
			return nil, err
		}
		for _, g := range named {
			if !protocol.Lost(now) && now.Names(g) {
				busy[g] = &busyError{now}
			}
		}
	}
	return busy, nil
}
