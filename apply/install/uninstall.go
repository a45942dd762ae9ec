package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ClaimsExistError says why nothing was uninstalled.
type ClaimsExistError struct{ Claims, Reservations int }

func (e *ClaimsExistError) Error() string {
	what, shows := fmt.Sprintf("%d claims exist", e.Claims), "Release them first (kubectl akash-net state leases shows them)"
	switch {
	case e.Claims == 1:
		what = "1 claim exists"
	case e.Claims == 0 && e.Reservations == 1:
		what = "1 reservation of an order exists"
	case e.Claims == 0:
		what = fmt.Sprintf("%d reservations of orders exist", e.Reservations)
	}
	if e.Claims == 0 {
		shows = "Give them up first (kubectl akash-net state orders shows them)"
	}
	return fmt.Sprintf("%s, and the ledger would go with it: nothing was removed. %s, or use --force", what, shows)
}

// AtWorkError says that a command is at work on the ledger, or has crashed: nothing was uninstalled.
type AtWorkError struct {
	// Run says who is at work, and since when.
	Run     string
	Crashed bool
}

func (e *AtWorkError) Error() string {
	next := "Wait until it has ended"
	if e.Crashed {
		next = "Mend what it has left (kubectl akash-net repair), or use --force"
	}
	return e.Run + ": nothing was removed. " + next
}

// Uninstall removes what Install made. Resource definitions of which objects exist stay, and so
// does Akash's manifest namespace. While there are claims it refuses, unless it is forced; while a command is at work
// it always does.
//
// The ledger is closed before it is looked at: a command that takes its first claim later gives it back, and one that
// has taken it before is seen. Where the namespace stays the ledger is opened again.
func (i *Installer) Uninstall(ctx context.Context, force bool) error {
	if err := i.close(ctx); err != nil {
		return err
	}
	if refused, err := i.inUse(ctx, force); err != nil || refused != nil {
		return cmp.Or(err, errors.Join(refused, i.reopen(ctx)))
	}
	objects, err := manifests.All(i.Config, "")
	if err != nil {
		return err
	}
	roles, err := manifests.Workloads()
	if err != nil {
		return err
	}
	objects = append(objects, roles...)
	policies, err := i.policies(nil)
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	for _, o := range append(policies, objects...) {
		err := i.uninstallObject(ctx, o)
		if _, ok := errors.AsType[*ReopenedError](err); ok {
			err = errors.Join(err, i.reopen(ctx))
		}
		if err != nil {
			return err
		}
	}
	return i.reopen(ctx)
}

// inUse is why the ledger cannot be removed; nil where it can.
func (i *Installer) inUse(ctx context.Context, force bool) (refused, err error) {
	book := i.book()
	runs, err := book.Announcements(ctx)
	if err != nil {
		return nil, err
	}
	now := i.Cluster.Now()
	for _, run := range runs {
		if run.Phase == state.Fenced || run.Phase == state.Closing {
			continue
		}
		if crashed := run.Over(now); !crashed || !force {
			return &AtWorkError{Run: run.Stands(now), Crashed: crashed}, nil
		}
	}
	claims, err := book.List(ctx)
	if err != nil {
		return nil, err
	}
	reservations, err := book.Reservations(ctx, "")
	if err == nil && len(claims)+len(reservations) > 0 && !force {
		refused = &ClaimsExistError{Claims: len(claims), Reservations: len(reservations)}
	}
	return refused, err
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
			i.tell(report.Left, o, reason)
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
	i.tell(report.Deleted, o, "")
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
	if err != nil && !cluster.IsMissingKind(err) {
		return "", err
	}
	if len(metas) > 0 {
		return fmt.Sprintf("%d objects of the kind exist and would go with it", len(metas)), nil
	}
	return "", nil
}
