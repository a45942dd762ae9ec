package install

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// Guard says which admission policies install brings.
type Guard string

// The guards.
const (
	// GuardNone leaves policies as they are.
	GuardNone Guard = ""
	// GuardOn makes the API server keep everybody from changing who holds a claim.
	GuardOn Guard = "on"
	// GuardStrict also keeps everybody from deleting without naming the UID, for clusters without
	// Akash's provider.
	GuardStrict Guard = "strict"
)

// policies are the guard's objects, in the order in which they are removed: what binds first.
func (i *Installer) policies(keep map[string]bool) ([]*unstructured.Unstructured, error) {
	all, err := manifests.Guard(i.Config, true)
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return keep[o.GetName()] }), err
}

// dropStrict removes the policies of a strict guard where a plain one is asked for.
func (i *Installer) dropStrict(ctx context.Context) error {
	plain, err := manifests.Guard(i.Config, false)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, o := range plain {
		keep[o.GetName()] = true
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

// guarded waits until the API server enforces the guard: a policy takes about a second to act. It
// asks the server, in a dry run, for what the guard must refuse.
func (i *Installer) guarded(ctx context.Context) error {
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
