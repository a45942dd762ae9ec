package apply

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// ClosingError says that the ledger takes no claims, because an uninstall is removing it.
type ClosingError struct{ Namespace string }

func (e *ClosingError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s is being uninstalled, and takes no claims; what this run took was given back. Let the uninstall end, or reopen the ledger with: kubectl akash-net install", e.Namespace)
}

// checkOpen refuses where an uninstall is removing the ledger. An uninstall marks the ledger's namespace and then looks
// for claims and for commands at work; a command announces itself, takes its first claim, and then looks for that mark,
// once. So one of them sees the other.
func (r *run) checkOpen(ctx context.Context) error {
	if !slices.ContainsFunc(r.sortedHolds(), func(h *held) bool { return h.took }) {
		return nil
	}
	return r.opts.turn.Once(func() error {
		namespace := r.opts.Config.LedgerNamespace
		_, was := r.snapshot.namespaces[namespace]
		now, err := r.cluster.Get(ctx, kinds.Namespace, "", namespace)
		if err != nil {
			return err
		}
		if now == nil && was || now != nil && isClosing(now) {
			return &ClosingError{Namespace: namespace}
		}
		return nil
	})
}

// isClosing is true for the namespace of a ledger that is being uninstalled.
func isClosing(namespace *unstructured.Unstructured) bool {
	return namespace.GetDeletionTimestamp() != nil || namespace.GetAnnotations()[lease.AnnotationClosing] != ""
}
