package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// close marks the ledger's namespace and announces the uninstall, so that no command whose turn begins later takes a
// claim. This removes the mark and the announcement of an uninstall that has crashed or runs concurrently. The mark is
// set first and removed last, so an uninstall that deletes a namespace with its own mark is announced.
func (i *Installer) close(ctx context.Context) error {
	i.nonce = state.NewNonce(i.Cluster.Now())
	marked, err := i.mark(ctx, i.nonce, func(string) bool { return true })
	if err != nil || !marked {
		return err
	}
	now := i.Cluster.Now()
	own := &state.Announcement{
		Nonce: i.nonce, By: turn.WhoRuns(), Version: i.Version, Begun: now, Renewed: now, Lasts: turn.Lasts, Phase: state.Closing,
	}
	if _, err := i.ledger().Announce(ctx, own); err != nil {
		return err
	}
	return i.unannounce(ctx, func(nonce string) bool { return nonce != i.nonce })
}

// reopen removes this uninstall's announcement and mark. It leaves those of another one.
func (i *Installer) reopen(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	own := func(nonce string) bool { return nonce == i.nonce }
	_, err := i.mark(ctx, nil, own)
	return errors.Join(i.unannounce(ctx, own), err)
}

// open removes the announcements and marks of all uninstalls, and reports whether there was a mark.
func (i *Installer) open(ctx context.Context) (opened bool, err error) {
	opened, err = i.mark(ctx, nil, func(now string) bool { return now != "" })
	if err != nil {
		return false, err
	}
	return opened, i.unannounce(ctx, func(string) bool { return true })
}

func (i *Installer) ledger() ledger.Ledger { return ledger.New(i.Cluster, i.Config.LedgerNamespace) }

// unannounce deletes the announcements of uninstalls with the nonces for which of is true.
func (i *Installer) unannounce(ctx context.Context, of func(nonce string) bool) error {
	runs, err := i.ledger().Announcements(ctx)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Phase != state.Closing || !of(run.Nonce) {
			continue
		}
		// Nobody changes such an announcement: if the pinned delete fails, it is gone.
		if err := i.ledger().Unannounce(ctx, run); err != nil && (!errors.Is(err, ledger.ErrAgain) || cluster.IsUnclear(err)) {
			return err
		}
	}
	return nil
}

// mark sets the mark, or removes it if value is nil, if may allows replacing the current one. It reports whether it
// did. The write is pinned to the namespace as it was read. A namespace that is gone or terminating needs no mark.
func (i *Installer) mark(ctx context.Context, value any, may func(now string) bool) (marked bool, err error) {
	client := i.Cluster.Dynamic.Resource(cluster.Namespaces)
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
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
		marked = err == nil
		return err
	})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return marked, i.Cluster.Explain(err, "patch", cluster.Namespaces)
}

// isLedger reports whether an object is the namespace of the ledger.
func (i *Installer) isLedger(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" && o.GetName() == i.Config.LedgerNamespace
}

// ReopenedError reports that an uninstall has lost its mark because somebody has reopened the ledger.
type ReopenedError struct{ Namespace string }

func (e *ReopenedError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s was reopened while it was uninstalled, by install or by another uninstall; the namespace stays. "+
		"Uninstall again, or bring back the rest with: kubectl akash-net install", e.Namespace)
}
