package observed

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// class is what the fold keeps of a StorageClass.
type class struct {
	// labelled classes have Akash's label. static classes have only volumes that an administrator created.
	labelled, isDefault, static bool
	made                        time.Time
}

// report is what a driver reports about a class: what is free in total, and the nodes that it reports for.
type report struct {
	free   uint64
	places []labels.Selector
}

// noProvisioner is the provisioner of classes whose volumes an administrator creates.
const noProvisioner = "kubernetes.io/no-provisioner"

// StorageClass adds a StorageClass.
func (f *Fold) StorageClass(o *storagev1.StorageClass) {
	set(&f.classes, o.Name, class{
		labelled: o.Labels[lease.LabelManaged] == "true", static: o.Provisioner == noProvisioner,
		isDefault: o.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			o.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true",
		made: o.CreationTimestamp.Time,
	})
}

// defaultClass returns the class that Kubernetes chooses for volumes without one: the newest of those marked as default
// or, if they are equally old, the first by name.
func (f *Fold) defaultClass() string {
	found := ""
	for _, name := range slices.Sorted(maps.Keys(f.classes)) {
		if k := f.classes[name]; k.isDefault && (found == "" || k.made.After(f.classes[found].made)) {
			found = name
		}
	}
	return found
}

// CSICapacity adds what a driver reports as free of a class in one part of the cluster.
func (f *Fold) CSICapacity(o *storagev1.CSIStorageCapacity) {
	if o.Capacity == nil || o.NodeTopology == nil {
		return
	}
	place, err := metav1.LabelSelectorAsSelector(o.NodeTopology)
	if err != nil {
		return
	}
	r := f.reports[o.StorageClassName]
	if r == nil {
		r = &report{}
		set(&f.reports, o.StorageClassName, r)
	}
	r.free = inventory.Sum(r.free, whole(*o.Capacity))
	r.places = append(r.places, place)
}

// Volume adds a persistent volume. An unclaimed volume is free room of its class; any other is in use.
func (f *Fold) Volume(o *corev1.PersistentVolume) {
	if o.Spec.StorageClassName == "" || o.Status.Phase == corev1.VolumeFailed {
		return
	}
	class, size := o.Spec.StorageClassName, whole(o.Spec.Capacity[corev1.ResourceStorage])
	set(&f.volumes, class, inventory.Sum(f.volumes[class], size))
	if o.Status.Phase == corev1.VolumeAvailable {
		return
	}
	k := key{of: class}
	if o.Spec.ClaimRef != nil {
		k.namespace = o.Spec.ClaimRef.Namespace
	}
	set(&f.stored, k, inventory.Sum(f.stored[k], size))
}

// storage adds the classes that leases can use: those with Akash's label, or all if none has it.
func (f *Fold) storage(c *Capacity) {
	c.DefaultClass = f.defaultClass()
	marked := false
	for _, k := range f.classes {
		marked = marked || k.labelled
	}
	for _, name := range slices.Sorted(maps.Keys(f.classes)) {
		k := f.classes[name]
		if marked && !k.labelled {
			continue
		}
		s := Storage{Class: name}
		switch r := f.reports[name]; {
		case r != nil:
			s.Allocatable = inventory.Sum(r.free, f.inUse(name))
		case k.static:
			s.Allocatable = f.volumes[name]
		default:
			s.Unlimited = true
			c.Notes = append(c.Notes, fmt.Sprintf(
				"storage class %s: its driver reports no capacity, so it counts as without limit", name))
		}
		c.Storage = append(c.Storage, s)
	}
}

// inUse returns the size of all claimed volumes of a class.
func (f *Fold) inUse(class string) uint64 {
	sum := uint64(0)
	for k, size := range f.stored {
		if k.of == class {
			sum = inventory.Sum(sum, size)
		}
	}
	return sum
}

// classesOf returns the classes whose volumes a node can mount: those that its labels name, if any node has such
// labels. Otherwise it returns the classes whose driver reports for the node, or reports nothing.
func (f *Fold) classesOf(n *node) []string {
	if f.anyNode(func(n *node) bool { return n.hasClasses }) {
		return slices.Sorted(slices.Values(n.classes))
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.classes)) {
		here := func(s labels.Selector) bool { return s.Matches(labels.Set(n.labels)) }
		if r := f.reports[name]; r == nil || slices.ContainsFunc(r.places, here) {
			out = append(out, name)
		}
	}
	return out
}
