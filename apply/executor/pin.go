package executor

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// Pin is the object to which a write is pinned: the write fails if there is another one, or another version of it. The
// zero Pin is none.
type Pin struct {
	uid     types.UID
	version string
}

// PinOf returns the pin to a live object. If there is none, or it is being deleted, it returns the pin of a write that
// creates the object, and fails if one exists.
func PinOf(live *unstructured.Unstructured) Pin {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return Pin{version: cluster.Unwritten}
	}
	return Pin{live.GetUID(), live.GetResourceVersion()}
}
