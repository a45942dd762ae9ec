package ledger

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// An uninstall closes the ledger: it announces itself, and then marks the ledger's namespace with its nonce. What opens
// the ledger removes the mark first, so a marked namespace belongs to an announced uninstall, or to one that has crashed
// and whose announcement somebody has deleted. Announcements of uninstalls are removed by their metadata alone, so one
// that cannot be read keeps no ledger closed.

// Close marks the ledger's namespace with the nonce of an announced uninstall.
func (l Ledger) Close(ctx context.Context, nonce string) error {
	_, err := l.mark(ctx, nonce, func(string) bool { return true })
	return err
}

// Open removes the mark and the announcements of all uninstalls, and reports whether there was a mark.
func (l Ledger) Open(ctx context.Context) (opened bool, err error) {
	if opened, err = l.mark(ctx, nil, func(now string) bool { return now != "" }); err != nil {
		return false, err
	}
	var closing []string
	err = cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, metav1.ListOptions{LabelSelector: announcedOnly}, func(meta *metav1.ObjectMeta) {
		if nonce, ok := state.AnnouncedNonce(meta.Name); ok && isClosing(meta) {
			closing = append(closing, nonce)
		}
	}, func() { closing = nil })
	for _, nonce := range closing {
		if err == nil {
			err = l.endClosing(ctx, nonce)
		}
	}
	return opened, err
}

// OpenAfter removes the mark and the announcement of one uninstall, if they exist.
func (l Ledger) OpenAfter(ctx context.Context, nonce string) error {
	if _, err := l.mark(ctx, nil, func(now string) bool { return now == nonce }); err != nil {
		return err
	}
	return l.endClosing(ctx, nonce)
}

// HasLeftMark reports whether an uninstall whose mark was read has left it without an announcement. An uninstall
// announces itself before it sets the mark, and removes the mark first. So the mark stands alone only if the announcement
// does not exist after the mark was read, and the mark still exists after that. A namespace that is being deleted keeps it.
func (l Ledger) HasLeftMark(ctx context.Context, nonce string) (bool, error) {
	announced, err := l.get(ctx, state.AnnouncementName(nonce))
	if announced != nil || err != nil {
		return false, err
	}
	meta, err := l.namespace(ctx)
	if meta == nil || err != nil {
		return false, err
	}
	return meta.Annotations[lease.AnnotationClosing] == nonce && meta.DeletionTimestamp == nil, nil
}

// endClosing deletes the announcement of an uninstall. It leaves the announcement of any other command.
func (l Ledger) endClosing(ctx context.Context, nonce string) error {
	return l.Until(ctx, func(ctx context.Context) error {
		meta, err := l.get(ctx, state.AnnouncementName(nonce))
		if meta == nil || err != nil || !isClosing(meta) {
			return err
		}
		return l.delete(ctx, meta.Name, &meta.UID, &meta.ResourceVersion)
	})
}

// isClosing reports whether an announcement is that of an uninstall.
func isClosing(meta *metav1.ObjectMeta) bool {
	return meta.Annotations[state.AnnotationPhase] == string(state.Closing)
}

// mark sets the mark on the ledger's namespace, or removes it if value is nil, if may allows replacing the current one. It
// reports whether it did. A namespace that is gone or terminating needs no mark.
func (l Ledger) mark(ctx context.Context, value any, may func(now string) bool) (marked bool, err error) {
	live, err := l.cluster.Get(ctx, kinds.Namespace, "", l.Namespace)
	if live == nil || err != nil {
		return false, err
	}
	err = l.cluster.Rewrite(ctx, kinds.Namespace, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		if now.GetDeletionTimestamp() != nil || !may(now.GetAnnotations()[lease.AnnotationClosing]) {
			return nil, nil //nolint:nilnil // nothing to write
		}
		return func(ctx context.Context) error {
			marked = true
			patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{lease.AnnotationClosing: value}}}
			return l.cluster.MergePinned(ctx, kinds.Namespace, now, patch, lease.FieldManager)
		}, nil
	})
	return marked && err == nil, l.cluster.Explain(err, "patch", cluster.Namespaces)
}
