package executor

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
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
	if live != nil && live.GetDeletionTimestamp() != nil {
		live = nil
	}
	return versionOf(live)
}

// versionOf is PinOf also for an object that is being deleted.
func versionOf(live *unstructured.Unstructured) Pin {
	if live == nil {
		return Pin{version: cluster.Unwritten}
	}
	return Pin{live.GetUID(), live.GetResourceVersion()}
}

// on returns an object with the pin.
func (p Pin) on(o render.Object) render.Object {
	body := cluster.Rendered(o)
	body.SetUID(p.uid)
	body.SetResourceVersion(p.version)
	o.Config = body
	return o
}

// Pin makes later writes of an object fail unless it still has the version that was read.
func (x *Executor) Pin(o render.Object, read *unstructured.Unstructured) {
	x.pins[o.String()] = PinOf(read)
}

// pinOf returns the pin that a write of the object must have, if any. A run that carries out a plan pins every object to
// the version that was read, except DNS records, which it may delete and create.
func (x *Executor) pinOf(o render.Object) Pin {
	if x.Only == nil || slices.Contains(kinds.Records, o.Kind) {
		return x.pins[o.String()]
	}
	return PinOf(x.By.Find(o))
}
