package records

import (
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// fixedFields are the immutable fields of a DNSRecord's spec: Gardener's webhook for DNSRecords rejects a change of
// them, and the resource definition one of the class.
var fixedFields = []string{"type", "class", "name", "recordType"}

// whyReplaced returns the reason why a live record cannot be updated to the wanted one: it is being deleted, or an
// immutable field of a DNSRecord differs. It is empty if the record can be updated; every field of a DNSEndpoint can.
func whyReplaced(o render.Object, live *unstructured.Unstructured) string {
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

// Prepared returns a rendered record as it is applied over the live one, which may be nil: a DNSRecord with the annotations
// that request a reconcile from Gardener's extension. The extension ignores a new spec without a new request; with an
// unchanged spec the annotations stay as they are, so that the record is not written.
func Prepared(o render.Object, live *unstructured.Unstructured, now time.Time) render.Object {
	if o.Kind != kinds.DNSRecord {
		return o
	}
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
	o.Config = u
	return o
}
