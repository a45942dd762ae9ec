package install

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// ClaimsExistError says why nothing was uninstalled.
type ClaimsExistError struct{ Claims int }

func (e *ClaimsExistError) Error() string {
	what := fmt.Sprintf("%d claims exist", e.Claims)
	if e.Claims == 1 {
		what = "1 claim exists"
	}
	return fmt.Sprintf("%s, and the ledger would go with it: nothing was removed. Release them first (kubectl akash-net state leases shows them), or use --force", what)
}

// Uninstall removes what Install made. Resource definitions of which objects exist stay, and so
// does Akash's manifest namespace. While there are claims it refuses, unless it is forced.
//
// The ledger is closed before its claims are counted: a run that takes one meanwhile gives it back. Where the
// namespace stays the ledger is opened again.
func (i *Installer) Uninstall(ctx context.Context, force bool) error {
	if err := i.close(ctx); err != nil {
		return err
	}
	claims, err := ledger.New(i.Cluster, i.Config.LedgerNamespace).List(ctx)
	if err != nil {
		return err
	}
	if len(claims) > 0 && !force {
		return errors.Join(&ClaimsExistError{Claims: len(claims)}, i.reopen(ctx))
	}
	objects, err := manifests.All(i.Config, "")
	if err != nil {
		return err
	}
	policies, err := i.policies(nil)
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	for _, o := range append(policies, objects...) {
		if err := i.uninstallObject(ctx, o); err != nil {
			return err
		}
	}
	return i.reopen(ctx)
}

// uninstallObject deletes an object, or tells why it stays. One that has changed since it was read is read
// again, and decided on anew.
func (i *Installer) uninstallObject(ctx context.Context, o *unstructured.Unstructured) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return i.uninstallAsRead(ctx, o) })
	if apierrors.IsConflict(err) {
		return i.Cluster.Explain(err, "delete", resourceOf(o))
	}
	return err
}

func (i *Installer) uninstallAsRead(ctx context.Context, o *unstructured.Unstructured) error {
	resource := resourceOf(o)
	client := i.Cluster.Dynamic.Resource(resource).Namespace(o.GetNamespace())
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return i.Cluster.Explain(err, "get", resource)
	}
	if reason, err := i.keep(ctx, o, live); err != nil || reason != "" {
		if err == nil {
			i.tell(apply.Left, o, reason)
		}
		return err
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if i.isLedger(o) && live.GetDeletionTimestamp() == nil {
		if live.GetAnnotations()[lease.AnnotationClosing] != i.nonce {
			return &ReopenedError{Namespace: o.GetName()}
		}
		opts.Preconditions.ResourceVersion = &version
	}
	err = client.Delete(ctx, o.GetName(), opts)
	switch {
	case apierrors.IsConflict(err):
		return err
	case err != nil && !apierrors.IsNotFound(err):
		return i.Cluster.Explain(err, "delete", resource)
	}
	i.tell(apply.Deleted, o, "")
	return nil
}

// keep says why an object is not to be uninstalled.
func (i *Installer) keep(ctx context.Context, o, live *unstructured.Unstructured) (string, error) {
	if live.GetLabels()[managedBy] != managedByUs {
		return "it is not from install", nil
	}
	if o.GetKind() != "CustomResourceDefinition" {
		return "", nil
	}
	plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
	metas, err := i.Cluster.Metas(ctx, cluster.AkashResource(plural), "")
	if _, ok := errors.AsType[*cluster.MissingKindError](err); err != nil && !ok {
		return "", err
	}
	if len(metas) > 0 {
		return fmt.Sprintf("%d objects of the kind exist and would go with it", len(metas)), nil
	}
	return "", nil
}
