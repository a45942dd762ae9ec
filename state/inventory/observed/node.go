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

// node is what is kept of a node.
type node struct {
	allocatable inventory.Amounts
	closed      string
	// labelled is true for a node that Akash's inventory operator gives to leases.
	labelled bool
	cards    []inventory.Card
	// classes are the storage classes that its labels name; says is true where they say anything of classes.
	classes []string
	says    bool
	labels  map[string]string
}

// Node adds a node.
func (f *Fold) Node(o *corev1.Node) {
	if f.nodes == nil {
		f.nodes = map[string]*node{}
	}
	n := &node{
		allocatable: amountsOf(o.Status.Allocatable), closed: closed(o), labelled: o.Labels[lease.LabelManaged] == "true",
		labels: o.Labels,
	}
	n.classes, n.says = classLabels(o.Labels)
	n.cards = cardsOf(o)
	f.nodes[o.Name] = n
}

// closed says why a node takes no pods of leases, which tolerate no taint.
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

// amountsOf are the amounts of a resource list.
func amountsOf(r corev1.ResourceList) inventory.Amounts {
	nvidia, amd := r[resourceNVIDIA], r[resourceAMD]
	return inventory.Amounts{
		CPU: milli(r[corev1.ResourceCPU]), Memory: whole(r[corev1.ResourceMemory]),
		EphemeralStorage: whole(r[corev1.ResourceEphemeralStorage]), GPU: inventory.Sum(whole(nvidia), whole(amd)),
	}
}

// whole is a quantity, from nothing to 2^63-1: the sum of a pod's containers may be more, and its value wraps then.
func whole(q resource.Quantity) uint64 {
	if q.CmpInt64(math.MaxInt64) > 0 {
		return math.MaxInt64
	}
	return uint64(max(q.Value(), 0))
}

// milli is a quantity in thousandths.
func milli(q resource.Quantity) uint64 {
	if q.CmpInt64(math.MaxInt64/1000) > 0 {
		return math.MaxInt64
	}
	return uint64(max(q.MilliValue(), 0))
}

// The labels by which Akash's inventory operator says what a node can do.
const (
	labelStorageClass = "akash.network/capabilities.storage.class."
	labelGPU          = "akash.network/capabilities.gpu.vendor."
	// labelStorageClasses is how older versions named classes, with dots between them.
	labelStorageClasses = "akash.network/storageclasses"
)

// classLabels are the storage classes that labels name, and whether any label says which there are.
func classLabels(labels map[string]string) (classes []string, says bool) {
	for k, v := range labels {
		class, ok := strings.CutPrefix(k, labelStorageClass)
		if says = says || ok; ok && v != "0" && v != "false" {
			classes = append(classes, class)
		}
	}
	if v := labels[labelStorageClasses]; v != "" {
		says = true
		classes = append(classes, strings.FieldsFunc(v, func(r rune) bool { return r == '.' || r == ',' })...)
	}
	return classes, says
}
