package observed

import (
	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Pod adds what a pod requests of its node, as the scheduler counts it: containers, sidecars, init containers that need
// more, and overhead. Like Akash's provider, it also counts volumes in memory. A pod that has no node yet or has ended
// requests nothing.
func (f *Fold) Pod(o *corev1.Pod) {
	if o.Spec.NodeName == "" || o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed {
		return
	}
	requests := podresource.PodRequests(o, podresource.PodResourcesOptions{UseStatusResources: true})
	a := amountsOf(requests)
	a.Pods = 1
	for _, v := range o.Spec.Volumes {
		if e := v.EmptyDir; e != nil && e.Medium == corev1.StorageMediumMemory && e.SizeLimit != nil {
			a.Memory = inventory.Sum(a.Memory, whole(*e.SizeLimit))
		}
	}
	k := key{o.Namespace, o.Spec.NodeName}
	set(&f.used, k, f.used[k].Plus(a))
	for vendor, n := range vendorsOf(requests) {
		if f.usedGPUs[k] == nil {
			set(&f.usedGPUs, k, map[string]uint64{})
		}
		f.usedGPUs[k][vendor] = inventory.Sum(f.usedGPUs[k][vendor], n)
	}
}
