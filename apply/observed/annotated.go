package observed

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// DeployRequested returns a rendered ProviderHost, as a manager applies it over the live one, which may be nil, with the
// annotation for the time of the last deployment, as Akash's provider writes it: a new time makes the hostname operator
// process the object again. The time stays if nothing else changes. Any other object is returned as it is.
func DeployRequested(o render.Object, live *unstructured.Unstructured, manager string, now time.Time) render.Object {
	if o.Kind != kinds.ProviderHost {
		return o
	}
	if live != nil {
		at := live.GetAnnotations()[lease.AnnotationUpdatedAt]
		if at != "" && Owns(live, manager, lease.AnnotationUpdatedAt) {
			o = render.Annotated(o, lease.AnnotationUpdatedAt, at)
		}
		if cluster.Unchanged(o, live, manager) || state.OwnershipOf(live, lease.ID{}).Shared {
			return o
		}
	}
	return render.Annotated(o, lease.AnnotationUpdatedAt, now.UTC().Format(time.RFC3339))
}

// Touched returns a rendered object with the mark of a command that writes it even if it is as wanted.
func Touched(o render.Object, mark string) render.Object {
	return render.Annotated(o, lease.AnnotationTaken, mark)
}

// KeepsTaken returns a rendered object with the mark of an earlier command that the live object, which may be nil, has by
// the manager, so that an apply keeps it.
func KeepsTaken(o render.Object, live *unstructured.Unstructured, manager string) render.Object {
	if live == nil || !Owns(live, manager, lease.AnnotationTaken) {
		return o
	}
	return Touched(o, live.GetAnnotations()[lease.AnnotationTaken])
}
