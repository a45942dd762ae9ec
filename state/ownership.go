package state

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// The marks of an object that this program wrote.
const (
	// MarkAnnotation is the annotation with the hash of a definition. An Update that writes the whole
	// object takes it away.
	MarkAnnotation = "annotation " + lease.AnnotationDefinition
	// MarkLabels are the labels that name the lease.
	MarkLabels = "labels of its lease"
	// MarkFields are the managed fields of this program. A restore from a backup takes them away.
	MarkFields = "managed fields of " + lease.FieldManager
)

// Ownership says whose an object is and who wrote it. It is computed from the object's labels, its
// annotation, its managed fields and its namespace, and nowhere else.
type Ownership struct {
	// Lease is the lease that the labels name. Where they name none (Labelled is false) it is the lease
	// in the spec of a ProviderHost or a ProviderLeasedIP, or the lease of the namespace. HasLease is
	// false where none of them names one.
	Lease    lease.ID
	HasLease bool
	Labelled bool
	// Ours is true for an object that this program wrote and has not withdrawn from: it carries the
	// annotation, or this program's managed fields name it.
	Ours bool
	// Lost are the marks of an object of ours that somebody's write has taken away.
	Lost []string
	// Shared is true where Akash's provider, or one of its operators, has written on the object.
	Shared bool
	// Declared is true where Akash's provider made the object.
	Declared bool
	// MovedFrom are the deployment groups for which this program applied the object before Akash's provider
	// wrote it for the lease that it names now.
	MovedFrom []lease.Group
}

// OwnershipOf says whose an object is. The namespace's lease is the zero ID where the namespace is none
// of a lease.
//
// An Update takes over only the fields whose values it changes, and the label akash.network never
// changes. So whoever owns that label made the object, however often others have written it since.
func OwnershipOf(o *unstructured.Unstructured, namespace lease.ID) Ownership {
	w := Ownership{}
	w.Lease, w.Labelled = lease.IDFromLabels(o.GetLabels())
	if w.HasLease = w.Labelled; !w.HasLease {
		w.Lease, w.HasLease = leaseOfSpec(o)
	}
	if !w.HasLease && namespace != (lease.ID{}) {
		w.Lease, w.HasLease = namespace, true
	}
	annotated := o.GetAnnotations()[lease.AnnotationDefinition] != ""
	applied := w.writers(o)
	w.Ours = w.HasLease && len(w.MovedFrom) == 0 && (applied || annotated) && !ofWorkload(o)
	if !w.Ours {
		return w
	}
	if !annotated {
		w.Lost = append(w.Lost, MarkAnnotation)
	}
	if !w.Labelled {
		w.Lost = append(w.Lost, MarkLabels)
	}
	if !applied {
		w.Lost = append(w.Lost, MarkFields)
	}
	return w
}

// ofWorkload is true for the Service of something that a lease runs. It rests on no claim: what it is and whose is the
// business of package deployed. A Service of a leased port is a LoadBalancer with a label of its own, and is written under
// this program's manager, not the lease's.
func ofWorkload(o *unstructured.Unstructured) bool {
	if o.GetKind() != "Service" || o.GetLabels()[lease.LabelServiceTarget] != "" || Field(o.Object, "spec", "type") == "LoadBalancer" {
		return false
	}
	_, applied := managed.Applied(o, lease.FieldManager)
	return !applied
}

// writers reads the managed fields. applied is true where this program has applied what the object says.
// Where it has done so for other deployment groups only, Akash's provider has moved the object from them.
func (w *Ownership) writers(o *unstructured.Unstructured) (applied bool) {
	if !managed.Names(o, lease.FieldManager) && !managed.Names(o, managed.Akash) {
		return false
	}
	var others []lease.Group
	named := true // by what the lease's own manager owns
	for e := range managed.Of(o) {
		switch group, ofGroup := e.Group(); {
		case e.Manager == managed.Akash:
			w.Shared = true
			w.Declared = w.Declared || e.Owns("metadata", "labels", lease.LabelManaged)
		case !e.Ours() || !e.Owns("spec") && !e.Owns("metadata", "labels", lease.LabelOwner): // a note on somebody's object
		case ofGroup && group != w.Lease.Group():
			others = append(others, group)
		default:
			applied = true
			named = named && (!ofGroup || e.Owns("metadata", "labels", lease.LabelDSeq) && e.Owns("metadata", "labels", lease.LabelGSeq))
		}
	}
	if !named && len(others) > 0 && w.Shared {
		applied = false // what is left of an earlier time: another group had it, and Akash has moved it back
	}
	if !applied && w.Shared {
		w.MovedFrom = others
	}
	return applied
}

// MadeNamespace is true for the namespace of a lease that this program has made, and on which Akash's
// provider has written nothing since: its name and its labels are those of the lease, and this program
// wrote the labels.
func MadeNamespace(o *unstructured.Unstructured) bool {
	id, labelled := lease.IDFromLabels(o.GetLabels())
	if !labelled || id.Namespace() != o.GetName() {
		return false
	}
	made := false
	for e := range managed.Of(o) {
		if e.Manager == managed.Akash {
			return false
		}
		made = made || e.Manager == lease.FieldManager && e.Owns("metadata", "labels", lease.LabelOwner)
	}
	return made
}

// leaseOfSpec is the lease that a ProviderHost or a ProviderLeasedIP stands for.
func leaseOfSpec(o *unstructured.Unstructured) (lease.ID, bool) {
	spec := Field(o.Object, "spec")
	switch o.GetKind() {
	case "ProviderHost":
	case "ProviderLeasedIP":
		spec = Field(spec, "lease_id")
	default:
		return lease.ID{}, false
	}
	labels := map[string]string{}
	for label, name := range map[string]string{
		lease.LabelOwner: "owner", lease.LabelDSeq: "dseq", lease.LabelGSeq: "gseq", lease.LabelOSeq: "oseq", lease.LabelProvider: "provider",
	} {
		labels[label] = fmt.Sprint(Field(spec, name))
	}
	return lease.IDFromLabels(labels)
}

// Goes says whether an object goes when its lease gives up what it stands for. What this program made
// goes. What Akash's provider made stays, with what it writes for it: declared is true for a route or a
// Service whose ProviderHost or ProviderLeasedIP Akash's provider made for the same lease.
func (w Ownership) Goes(claimLike, declared bool) bool {
	if claimLike {
		return w.Ours && !w.Declared
	}
	return w.Ours && (!w.Shared || !declared)
}
