package observed

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// The resources of device plugins that count as GPUs.
const (
	resourceNVIDIA = corev1.ResourceName("nvidia.com/gpu")
	resourceAMD    = corev1.ResourceName("amd.com/gpu")
)

// node is what the fold keeps of a node.
type node struct {
	name        string
	allocatable inventory.Amounts
	closed      string
	// labelled is true if Akash's inventory operator offers the node to leases.
	labelled bool
	cards    []inventory.Card
	// gpus counts the GPUs by vendor.
	gpus map[string]uint64
	// classes are the storage classes that the labels name. hasClasses is true if any label is about storage classes.
	classes    []string
	hasClasses bool
	labels     map[string]string
}

// Node adds a node.
func (f *Fold) Node(o *corev1.Node) {
	n := &node{
		name: o.Name, allocatable: amountsOf(o.Status.Allocatable), closed: closed(o), labelled: o.Labels[lease.LabelManaged] == "true",
		labels: o.Labels,
	}
	n.classes, n.hasClasses = classLabels(o.Labels)
	n.cards, n.gpus = cardsOf(o), vendorsOf(o.Status.Allocatable)
	set(&f.nodes, o.Name, n)
}

// closed returns why a node accepts no pods of leases, which tolerate no taints.
func closed(o *corev1.Node) string {
	switch {
	case o.DeletionTimestamp != nil:
		return "it is being deleted"
	case o.Spec.Unschedulable:
		return "it is cordoned"
	}
	ready := false
	for _, c := range o.Status.Conditions {
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if !ready {
		return "it is not ready"
	}
	for _, t := range o.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute {
			return "it has the taint " + t.Key
		}
	}
	return ""
}

// amountsOf converts a resource list.
func amountsOf(r corev1.ResourceList) inventory.Amounts {
	return inventory.Amounts{
		CPU: milli(r[corev1.ResourceCPU]), Memory: whole(r[corev1.ResourceMemory]),
		EphemeralStorage: whole(r[corev1.ResourceEphemeralStorage]),
		GPU:              inventory.Sum(whole(r[resourceNVIDIA]), whole(r[resourceAMD])),
		Pods:             whole(r[corev1.ResourcePods]),
	}
}

// vendorsOf returns the GPUs in a resource list by vendor, or nil if there are none.
func vendorsOf(r corev1.ResourceList) map[string]uint64 {
	var out map[string]uint64
	for vendor, name := range map[string]corev1.ResourceName{"nvidia": resourceNVIDIA, "amd": resourceAMD} {
		if n := whole(r[name]); n > 0 {
			set(&out, vendor, n)
		}
	}
	return out
}

// whole returns the value of a quantity, limited to 0 to 2^63-1. Quantity.Value would overflow for a larger sum.
func whole(q resource.Quantity) uint64 {
	if q.CmpInt64(math.MaxInt64) > 0 {
		return math.MaxInt64
	}
	return uint64(max(q.Value(), 0))
}

// milli returns a quantity in thousandths, limited like whole.
func milli(q resource.Quantity) uint64 {
	if q.CmpInt64(math.MaxInt64/1000) > 0 {
		return math.MaxInt64
	}
	return uint64(max(q.MilliValue(), 0))
}

// The labels in which Akash's inventory operator describes a node.
const (
	labelStorageClass = "akash.network/capabilities.storage.class."
	labelGPU          = "akash.network/capabilities.gpu.vendor."
	// labelStorageClasses is the label of older versions, with the classes separated by dots.
	labelStorageClasses = "akash.network/storageclasses"
)

// classLabels returns the storage classes that labels name, and whether any label is about storage classes.
func classLabels(labels map[string]string) (classes []string, found bool) {
	for k, v := range labels {
		class, ok := strings.CutPrefix(k, labelStorageClass)
		if found = found || ok; ok && v != "0" && v != "false" {
			classes = append(classes, class)
		}
	}
	if v := labels[labelStorageClasses]; v != "" {
		found = true
		classes = append(classes, strings.FieldsFunc(v, func(r rune) bool { return r == '.' || r == ',' })...)
	}
	return classes, found
}
