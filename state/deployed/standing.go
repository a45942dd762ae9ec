// Package deployed decides about the objects that a lease runs: whose they are, which of them go, and what of the cluster
// they take over. It is pure; package apply/workloads reads the objects and carries out what is decided here.
package deployed

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Standing is whose an object is, as a lease sees it that has an object of its kind and name.
type Standing int

// The standings.
const (
	// Absent is nobody's: there is none.
	Absent Standing = iota
	// Ours was applied under the lease's own field manager.
	Ours
	// Akashs has the labels of the lease, and was not applied by this program: Akash's provider has deployed it.
	Akashs
	// Foreign has neither: somebody else has put it there.
	Foreign
)

// StandingOf says whose an object is: of the deployment group's lease in the namespace. An Update can strip managed
// fields, and so make an object of ours Akash's, but never a foreign object ours.
func StandingOf(o *unstructured.Unstructured, g lease.Group, namespace string) Standing {
	if o == nil {
		return Absent
	}
	if e, ok := managed.Applied(o, g.FieldManager()); ok && e.Owns("metadata", "labels", lease.LabelManaged) {
		return Ours
	}
	if labels := o.GetLabels(); labels[lease.LabelManaged] == "true" && labels[lease.LabelNamespace] == namespace {
		return Akashs
	}
	return Foreign
}

// Managers are the field managers of an object, each once, sorted; of subresources only what others may want to set.
func Managers(o *unstructured.Unstructured) []string {
	var names []string
	for e := range managed.Of(o) {
		names = append(names, e.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Object is one object in the cluster.
type Object struct {
	Kind kinds.Kind
	Live *unstructured.Unstructured
}

// Key names an object of a lease by its kind and name.
type Key struct{ Kind, Name string }

// Key is that of the object.
func (o Object) Key() Key { return Key{o.Kind.Kind, o.Live.GetName()} }

// ours are the objects that the lease has applied, those that are being deleted with them, in the order in which they are
// to be deleted.
func ours(live []Object, g lease.Group) []Object {
	var out []Object
	for _, kind := range kinds.RunningEnds {
		for _, o := range live {
			if o.Kind == kind && StandingOf(o.Live, g, "") == Ours {
				out = append(out, o)
			}
		}
	}
	return out
}

// Unwanted are the objects of the lease that it has applied and wants no more, in the order in which they are to be
// deleted. Secrets in keep stay: the definition has their credentials, and no password. Without prune no more goes than
// what another one has taken the place of: of a Deployment and a StatefulSet of one name only one may go on serving.
func Unwanted(live []Object, g lease.Group, wanted, keep map[Key]bool, prune bool) []Object {
	return slices.DeleteFunc(ours(live, g), func(o Object) bool {
		k := o.Key()
		return o.Live.GetDeletionTimestamp() != nil || wanted[k] || keep[k] || !prune && !wanted[twin(k)]
	})
}

// Release are all objects that the lease has applied, in the order in which they are to be deleted: the Manifest last, which
// tells that there is more. Those that are being deleted are among them: the lease is released when they are gone.
func Release(live []Object, g lease.Group) []Object { return ours(live, g) }

// twin is the object that runs the same service in the other way; the zero key where there is none.
func twin(k Key) Key {
	switch k.Kind {
	case kinds.Deployment.Kind:
		return Key{kinds.StatefulSet.Kind, k.Name}
	case kinds.StatefulSet.Kind:
		return Key{kinds.Deployment.Kind, k.Name}
	}
	return Key{}
}
