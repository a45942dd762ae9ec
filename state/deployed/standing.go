// Package deployed decides about the objects that a lease runs: whose they are, which of them to delete, and what to
// keep of the objects in the cluster. It is pure: package apply/workloads reads the objects and carries out the
// decisions.
package deployed

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Standing is who deployed an object, as seen by a lease that wants an object of its kind and name.
type Standing int

// The standings.
const (
	// Absent objects do not exist.
	Absent Standing = iota
	// Ours were applied by the field manager of the lease.
	Ours
	// Akashs have the labels of the lease but were not applied by this program: Akash's provider deployed them.
	Akashs
	// Foreign objects have neither: somebody else created them.
	Foreign
)

// StandingOf returns the standing of an object for the deployment group's lease in the namespace. An Update can strip
// managed fields and so turn Ours into Akashs, but it never turns Foreign into Ours.
func StandingOf(o *unstructured.Unstructured, g lease.Group, namespace string) Standing {
	if o == nil {
		return Absent
	}
	if isOurs(o, g) {
		return Ours
	}
	if labels := o.GetLabels(); labels[lease.LabelManaged] == "true" && labels[lease.LabelNamespace] == namespace {
		return Akashs
	}
	return Foreign
}

// isOurs reports whether the field manager of the deployment group's lease has applied the object.
func isOurs(o metav1.Object, g lease.Group) bool {
	e, ok := managed.Applied(o, g.FieldManager())
	return ok && e.Owns("metadata", "labels", lease.LabelManaged)
}

// Manifest says that this program runs something for a deployment group in a namespace.
type Manifest struct {
	Group     lease.Group
	Namespace string
	// Written is when somebody last wrote it. Deleting is true for one that is being deleted.
	Written  time.Time
	Deleting bool
}

// ReadManifest reads the metadata of a Manifest, which is named after the namespace. ok is false unless the lease that its
// labels name has applied it.
func ReadManifest(meta *metav1.ObjectMeta) (m Manifest, ok bool) {
	g, err := lease.ParseGroup(strings.Join([]string{
		meta.Labels[lease.LabelOwner], meta.Labels[lease.LabelDSeq], meta.Labels[lease.LabelGSeq],
	}, "/"))
	if err != nil || !isOurs(meta, g) {
		return Manifest{}, false
	}
	return Manifest{Group: g, Namespace: meta.Name, Written: managed.LastWritten(meta), Deleting: meta.DeletionTimestamp != nil}, true
}

// Managers returns the field managers of an object, each once, sorted, without those of subresources.
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

// Key identifies an object of a lease by kind and name.
type Key struct{ Kind, Name string }

// Key returns the key of the object.
func (o Object) Key() Key { return Key{o.Kind.Kind, o.Live.GetName()} }

// Unwanted returns the objects that the lease has applied and no longer wants, in the order to delete them. Secrets in
// keep stay: the definition has their credentials but no password. Without prune it returns only objects that another
// one replaces: of a Deployment and a StatefulSet with the same name, only one may serve.
func Unwanted(live []Object, g lease.Group, wanted, keep map[Key]bool, prune bool) []Object {
	return slices.DeleteFunc(Release(live, g), func(o Object) bool {
		k := o.Key()
		return o.Live.GetDeletionTimestamp() != nil || wanted[k] || keep[k] || !prune && !wanted[otherKind(k)]
	})
}

// Release returns all objects that the lease has applied, in the order to delete them. The Manifest comes last, because
// it shows that there are more. Objects that are being deleted are included: the lease is released once they are gone.
func Release(live []Object, g lease.Group) []Object {
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

// otherKind returns the key of the object that would run the same service as the other kind of workload, or the zero
// key.
func otherKind(k Key) Key {
	switch k.Kind {
	case kinds.Deployment.Kind:
		return Key{kinds.StatefulSet.Kind, k.Name}
	case kinds.StatefulSet.Kind:
		return Key{kinds.Deployment.Kind, k.Name}
	}
	return Key{}
}

// derived are the resources that controllers create for Deployments and StatefulSets with the labels of their pods.
var derived = []string{"pods", "replicasets.apps", "controllerrevisions.apps", "persistentvolumeclaims"}

// Derived reports whether controllers created the object for a workload of the lease in the namespace: a pod, or a
// volume claim of one. If the Deployment or StatefulSet is gone, nothing else needs the object.
func Derived(resource schema.GroupResource, labels map[string]string, namespace string) bool {
	return slices.Contains(derived, resource.String()) && labels[lease.LabelManaged] == "true" &&
		labels[lease.LabelNamespace] == namespace && labels[lease.LabelService] != ""
}
