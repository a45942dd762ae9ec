package records

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// fixedFields are the fields of a DNSRecord that cannot be changed (gardener: the webhook for
// DNSRecords, and for the class the resource definition).
var fixedFields = []string{"type", "class", "name", "recordType"}

// fixedFieldChanged says which field of a live DNSRecord differs that cannot be changed, or that it
// is being deleted already. Of a DNSEndpoint everything can be changed.
func fixedFieldChanged(o render.Object, live *unstructured.Unstructured) string {
	if live.GetDeletionTimestamp() != nil {
		return "it is being deleted"
	}
	if o.Kind != kinds.DNSRecord {
		return ""
	}
	want := cluster.Rendered(o)
	for _, name := range fixedFields {
		was, _, _ := unstructured.NestedString(live.Object, "spec", name)
		is, _, _ := unstructured.NestedString(want.Object, "spec", name)
		if was != is {
			return fmt.Sprintf("its %s cannot be changed from %q to %q", name, was, is)
		}
	}
	return ""
}

// putRecord writes a record unless the cluster holds it already just so.
func (r *Records) putRecord(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	if o = r.record(o, live); cluster.Unchanged(o, live, r.Manager(o)) {
		return report.Unchanged, nil
	}
	if err := r.Change(r.WriteOf(o, live)); err != nil {
		return "", err
	}
	return r.SendObject(ctx, o, live)
}

// ChangesRecord is true for a record that the cluster does not hold just so.
func (r *Records) ChangesRecord(o render.Object) bool {
	live := r.Snapshot.Find(o)
	return !cluster.Unchanged(r.record(o, live), live, r.Manager(o))
}

// record is a rendered record as it is written in the place of the live one, which may be nil.
func (r *Records) record(o render.Object, live *unstructured.Unstructured) render.Object {
	if o.Kind == kinds.DNSRecord {
		o = requested(o, live, r.Cluster.Now())
	}
	if live != nil {
		o, _ = r.TouchedFrom(o, live)
	}
	return o
}

// requested is a DNSRecord with the annotations that ask the extension to act. They are new with a
// new spec, which the extension would not look at otherwise, and stay as they are with the same: an
// unchanged record is not written.
func requested(o render.Object, live *unstructured.Unstructured, now time.Time) render.Object {
	u := cluster.Rendered(o)
	annotations := u.GetAnnotations()
	if live != nil && reflect.DeepEqual(live.Object["spec"], u.Object["spec"]) {
		for _, name := range []string{view.GardenerOperation, view.GardenerTimestamp} {
			if value, set := live.GetAnnotations()[name]; set {
				annotations[name] = value
			}
		}
	} else {
		annotations[view.GardenerOperation] = "reconcile"
		annotations[view.GardenerTimestamp] = now.UTC().Format(time.RFC3339Nano)
	}
	u.SetAnnotations(annotations)
	return render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: u}
}
