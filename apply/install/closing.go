package install

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// close marks the ledger's namespace, so that no run takes a claim from now on. The mark of an uninstall
// that has crashed, or that goes on beside this one, is replaced.
func (i *Installer) close(ctx context.Context) error {
	i.nonce = rand.Text()
	return i.mark(ctx, i.nonce, func(string) bool { return true })
}

// reopen takes the mark back that this uninstall has made. That of another one stays.
func (i *Installer) reopen(ctx context.Context) error {
	return i.mark(context.WithoutCancel(ctx), nil, func(now string) bool { return now == i.nonce })
}

// mark sets the mark to a value, nil for none, where it may replace the one that is there. The write is
// pinned to the namespace as it was read. A namespace that is gone or going needs no mark.
func (i *Installer) mark(ctx context.Context, value any, may func(now string) bool) error {
	client := i.Cluster.Dynamic.Resource(cluster.Namespaces)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := client.Get(ctx, i.Config.LedgerNamespace, metav1.GetOptions{})
		if err != nil || live.GetDeletionTimestamp() != nil || !may(live.GetAnnotations()[lease.AnnotationClosing]) {
			return err
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(),
			"annotations": map[string]any{lease.AnnotationClosing: value},
		}})
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, live.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: lease.FieldManager})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return i.Cluster.Explain(err, "patch", cluster.Namespaces)
}

// isLedger is true for the namespace of the ledger.
func (i *Installer) isLedger(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" && o.GetName() == i.Config.LedgerNamespace
}

// ReopenedError says that an uninstall has lost its mark: somebody has reopened the ledger.
type ReopenedError struct{ Namespace string }

func (e *ReopenedError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s was reopened while it was uninstalled, by install or by another uninstall; the namespace stays. Uninstall again, or bring back the rest with: kubectl akash-net install", e.Namespace)
}
