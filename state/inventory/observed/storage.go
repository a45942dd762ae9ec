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
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// class is what the fold keeps of a StorageClass.
type class struct {
	// labelled classes have Akash's label. static classes have only volumes that an administrator created.
	labelled, isDefault, static bool
	made                        time.Time
}

// report is what a driver reports about a class: what is free in one part of the cluster.
type report struct {
	free uint64
	// place selects the nodes of the part.
	place labels.Selector
	// at is when the report was last changed, by the API server's clock.
	at time.Time
}

// volume is what the fold keeps of a claimed volume.
type volume struct {
	key
	size uint64
	made time.Time
	// place are the nodes that can mount it; nil for all.
	place *nodeaffinity.NodeSelector
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
	r := report{free: whole(*o.Capacity), place: place, at: o.CreationTimestamp.Time}
	for _, m := range o.ManagedFields {
		if m.Time != nil && m.Time.After(r.at) {
			r.at = m.Time.Time
		}
	}
	set(&f.reports, o.StorageClassName, append(f.reports[o.StorageClassName], r))
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
	v := volume{key: key{of: class}, size: size, made: o.CreationTimestamp.Time}
	if o.Spec.ClaimRef != nil {
		v.namespace = o.Spec.ClaimRef.Namespace
	}
	if o.Spec.NodeAffinity != nil && o.Spec.NodeAffinity.Required != nil {
		v.place, _ = nodeaffinity.NewNodeSelector(o.Spec.NodeAffinity.Required) // nil if it cannot be read
	}
	set(&f.stored, v.key, inventory.Sum(f.stored[v.key], size))
	f.claimed = append(f.claimed, v)
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
		switch reports := f.reports[name]; {
		case reports != nil:
			s.Allocatable = f.reported(name, reports)
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

// reported returns what a class has: what its driver reports as free, and the claimed volumes that the report does not count
// as free. A volume that was made after a report is in its free room still, and a sum of both would sell it twice.
func (f *Fold) reported(class string, reports []report) uint64 {
	sum := uint64(0)
	for _, r := range reports {
		sum = inventory.Sum(sum, r.free)
	}
	for _, v := range f.claimed {
		if v.of == class && f.counted(v, reports) {
			sum = inventory.Sum(sum, v.size)
		}
	}
	return sum
}

// counted reports whether all reports that may be about a volume were changed since it was made.
func (f *Fold) counted(v volume, reports []report) bool {
	late := func(r report) bool { return v.made.After(r.at) }
	about := func(r report) bool {
		return v.place == nil || f.anyNode(func(n *node) bool {
			return r.place.Matches(labels.Set(n.labels)) && v.place.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: n.labels}})
		})
	}
	near := slices.DeleteFunc(slices.Clone(reports), func(r report) bool { return !about(r) })
	if len(near) == 0 {
		near = reports
	}
	return !slices.ContainsFunc(near, late)
}

// classesOf returns the classes whose volumes a node can mount: those that its labels name, if any node has such
// labels. Otherwise it returns the classes whose driver reports for the node, or reports nothing.
func (f *Fold) classesOf(n *node) []string {
	if f.anyNode(func(n *node) bool { return n.hasClasses }) {
		return slices.Sorted(slices.Values(n.classes))
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.classes)) {
		here := func(r report) bool { return r.place.Matches(labels.Set(n.labels)) }
		if reports := f.reports[name]; reports == nil || slices.ContainsFunc(reports, here) {
			out = append(out, name)
		}
	}
	return out
}
