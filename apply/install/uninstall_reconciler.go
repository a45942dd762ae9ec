package install

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/report"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// stopping bounds how long an uninstall waits for the end of the reconciler's pods.
const stopping = time.Minute

// uninstallReconciler deletes the reconciler, if it is installed: first its Deployment, and when its pods have ended the rights with
// which they give back what they were about to write.
func (i *Installer) uninstallReconciler(ctx context.Context) error {
	objects, err := manifests.Reconciler(i.Config, "")
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	deployment := objects[0]
	if err := i.uninstallObject(ctx, deployment); err != nil {
		return err
	}
	if err := i.awaitStopped(ctx, deployment); err != nil {
		return err
	}
	for _, o := range objects[1:] {
		if err := i.renew(ctx); err != nil {
			return err
		}
		if err := i.uninstallObject(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// awaitStopped waits until a Deployment that was deleted has no pods any more. A Deployment that is left, because install did not bring
// it, keeps its pods.
func (i *Installer) awaitStopped(ctx context.Context, deployment *unstructured.Unstructured) error {
	if !i.Cluster.Waits() {
		return nil
	}
	labels, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	if err != nil {
		return err
	}
	opts := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})}
	said := false
	err = wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, stopping, true, func(ctx context.Context) (bool, error) {
		list, err := i.Cluster.Objects(ctx, pods, deployment.GetNamespace(), opts)
		if err != nil {
			return false, err
		}
		if len(list) == 0 {
			return true, nil
		}
		left, err := i.Cluster.Get(ctx, kinds.Deployment, deployment.GetNamespace(), deployment.GetName())
		if err != nil || left != nil && left.GetDeletionTimestamp() == nil {
			return true, err
		}
		if !said {
			i.report(report.Waiting, deployment, "its pods end")
			said = true
		}
		return false, i.renew(ctx)
	})
	if wait.Interrupted(err) && ctx.Err() == nil && !errors.Is(err, cluster.ErrMoving) {
		return &report.TimeoutError{After: stopping, Waiting: []string{"the pods of the reconciler to end; uninstall again when they have"}}
	}
	return err
}
