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

// class is what is kept of a StorageClass.
type class struct {
	// labelled classes are marked as Akash's; static ones have only the volumes that somebody made.
	labelled, isDefault, static bool
	made                        time.Time
}

// report is what a driver says of a class: what is free in all, and the nodes for which it says so.
type report struct {
	free   uint64
	places []labels.Selector
}

// noProvisioner is the provisioner of classes whose volumes are made by hand.
const noProvisioner = "kubernetes.io/no-provisioner"

// StorageClass adds a class.
func (f *Fold) StorageClass(o *storagev1.StorageClass) {
	if f.classes == nil {
		f.classes = map[string]class{}
	}
	f.classes[o.Name] = class{
		labelled: o.Labels[lease.LabelManaged] == "true", static: o.Provisioner == noProvisioner,
		isDefault: o.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			o.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true",
		made: o.CreationTimestamp.Time,
	}
}

// defaultClass is the class that Kubernetes gives volumes that name none: of several that are marked the newest, of one moment
// the first by name.
func (f *Fold) defaultClass() string {
	found := ""
	for _, name := range slices.Sorted(maps.Keys(f.classes)) {
		if k := f.classes[name]; k.isDefault && (found == "" || k.made.After(f.classes[found].made)) {
			found = name
		}
	}
	return found
}

// CSICapacity adds what a driver says is free of a class, in one part of the cluster.
func (f *Fold) CSICapacity(o *storagev1.CSIStorageCapacity) {
	if o.Capacity == nil || o.NodeTopology == nil {
		return
	}
	place, err := metav1.LabelSelectorAsSelector(o.NodeTopology)
	if err != nil {
		return
	}
	if f.reports == nil {
		f.reports = map[string]*report{}
	}
	r := f.reports[o.StorageClassName]
	if r == nil {
		r = &report{}
		f.reports[o.StorageClassName] = r
	}
	r.free = inventory.Sum(r.free, whole(*o.Capacity))
	r.places = append(r.places, place)
}

// Volume adds a persistent volume. One that nobody has claimed is room of its class; the others are in use.
func (f *Fold) Volume(o *corev1.PersistentVolume) {
	if o.Spec.StorageClassName == "" || o.Status.Phase == corev1.VolumeFailed {
		return
	}
	size := whole(o.Spec.Capacity[corev1.ResourceStorage])
	if f.volumes == nil {
		f.volumes = map[string]uint64{}
	}
	f.volumes[o.Spec.StorageClassName] = inventory.Sum(f.volumes[o.Spec.StorageClassName], size)
	if o.Status.Phase == corev1.VolumeAvailable {
		return
	}
	if f.stored == nil {
		f.stored = map[key]uint64{}
	}
	k := key{of: o.Spec.StorageClassName}
	if o.Spec.ClaimRef != nil {
		k.namespace = o.Spec.ClaimRef.Namespace
	}
	f.stored[k] = inventory.Sum(f.stored[k], size)
}

// storage adds the classes that leases can have: those that are marked as Akash's, or all where none is.
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
			c.Notes = append(c.Notes, fmt.Sprintf("storage class %s: its driver reports no capacity, so it counts as without limit", name))
		}
		c.Storage = append(c.Storage, s)
	}
}

// inUse is the size of all volumes of a class that somebody has.
func (f *Fold) inUse(class string) uint64 {
	sum := uint64(0)
	for k, size := range f.stored {
		if k.of == class {
			sum = inventory.Sum(sum, size)
		}
	}
	return sum
}

// classesOf are the classes whose volumes a node mounts: those that its labels name, where any node has such labels;
// else those whose driver reports for the node, or for no node in particular.
func (f *Fold) classesOf(n *node) []string {
	if f.classLabels() {
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

func (f *Fold) classLabels() bool {
	for _, n := range f.nodes {
		if n.says {
			return true
		}
	}
	return false
}
