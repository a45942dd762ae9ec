package install

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Guard selects the admission policies to install.
type Guard string

// The guards.
const (
	// GuardNone leaves policies as they are.
	GuardNone Guard = ""
	// GuardOn makes the API server prevent everybody from changing the holder of a claim.
	GuardOn Guard = "on"
	// GuardStrict also prevents deletes without a UID precondition, for clusters without Akash's provider.
	GuardStrict Guard = "strict"
)

// policies returns the guard's objects in the order in which to delete them: bindings first. It leaves out those with a
// name in keep.
func (i *Installer) policies(keep sets.Set[string]) ([]*unstructured.Unstructured, error) {
	all, err := manifests.Guard(i.Config, true)
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return keep.Has(o.GetName()) }), err
}

// dropStrict deletes the policies that only a strict guard has.
func (i *Installer) dropStrict(ctx context.Context) error {
	plain, err := manifests.Guard(i.Config, false)
	if err != nil {
		return err
	}
	keep := sets.New[string]()
	for _, o := range plain {
		keep.Insert(o.GetName())
	}
	strict, err := i.policies(keep)
	if err != nil {
		return err
	}
	for _, o := range strict {
		if err := i.uninstallObject(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// awaitGuard waits until the API server enforces the guard, which takes about a second. It sends a dry run that the
// guard must refuse.
func (i *Installer) awaitGuard(ctx context.Context) error {
	if !i.Cluster.Waits() {
		return nil
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "guard.invalid", "namespace": i.Config.LedgerNamespace},
	}}
	client := i.Cluster.Dynamic.Resource(cluster.Leases).Namespace(i.Config.LedgerNamespace)
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := client.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: lease.FieldManager})
		return cluster.IsPolicy(err), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return &report.TimeoutError{After: 30 * time.Second, Waiting: []string{"the API server to enforce the guard"}}
	}
	return err
}
