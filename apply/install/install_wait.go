package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/report"
)

// awaitDeleted waits until an object that is being deleted is gone. A dry run does not wait.
func (i *Installer) awaitDeleted(ctx context.Context, o *unstructured.Unstructured) error {
	what := strings.ToLower(o.GetKind()) + "/" + o.GetName()
	if !i.Cluster.Waits() {
		i.report(report.Skipped, o, "it is being deleted; install waits until it is gone, and creates it")
		return nil
	}
	i.report(report.Waiting, o, "it is being deleted")
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		now, err := i.get(ctx, o)
		return err == nil && (now == nil || now.GetUID() != o.GetUID()), err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%w\nIts finalizers, or those of what is in it, keep it: \"kubectl describe %s\" says which. Run install again when it is gone",
			&report.TimeoutError{After: time.Minute, Waiting: []string{what + " to be gone, which is being deleted"}}, what)
	}
	return err
}

// awaitEstablished waits until the API server serves a resource definition.
func (i *Installer) awaitEstablished(ctx context.Context, o *unstructured.Unstructured) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := i.get(ctx, o)
		if err != nil || crd == nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return &report.TimeoutError{After: time.Minute, Waiting: []string{"resource definition " + o.GetName() + " to be served"}}
	}
	return err
}
