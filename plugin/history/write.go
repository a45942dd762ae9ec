package history

import (
	"context"
	"encoding/json"
	"math"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// write creates an Event. One that is there already is counted once more.
func write(ctx context.Context, to *cluster.Cluster, e *eventsv1.Event) error {
	client := to.Dynamic.Resource(eventsv1.SchemeGroupVersion.WithResource("events")).Namespace(e.Namespace)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
	if err != nil {
		return err
	}
	_, err = client.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldManager: Controller})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found, err := client.Get(ctx, e.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := again(found, e)
	if patch == nil || err != nil {
		return err
	}
	_, err = client.Patch(ctx, e.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Controller})
	return err
}

// again returns the patch that counts an Event once more, and pins the version that was read; nil if it is not the same Event.
func again(found *unstructured.Unstructured, e *eventsv1.Event) ([]byte, error) {
	var was eventsv1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &was); err != nil {
		return nil, err
	}
	if was.ReportingController != e.ReportingController || was.Reason != e.Reason || was.Note != e.Note {
		return nil, nil
	}
	count := int32(1)
	if was.Series != nil {
		count = min(max(was.Series.Count, 1), math.MaxInt32-1)
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": was.ResourceVersion},
		"series":   eventsv1.EventSeries{Count: count + 1, LastObservedTime: e.EventTime},
	})
}
