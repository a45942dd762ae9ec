package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Unchanged is plan.Unchanged.
func Unchanged(o render.Object, live *unstructured.Unstructured, manager string) bool {
	return plan.Unchanged(o, live, manager)
}

// Rendered is render.Rendered.
func Rendered(o render.Object) *unstructured.Unstructured { return render.Rendered(o) }
