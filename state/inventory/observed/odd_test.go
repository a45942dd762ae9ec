package observed_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// Missing fields count as 0: no field is required. A pod that asks for nothing is a pod.
func TestObjectsWithoutFields(t *testing.T) {
	var f observed.Fold
	f.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	f.Pod(&corev1.Pod{})
	f.Pod(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n1"}})
	f.StorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "beta2"}})
	f.Volume(&corev1.PersistentVolume{})
	f.Volume(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{StorageClassName: "beta2"}})
	f.Service(&corev1.Service{})
	size := resource.MustParse("5Gi")
	for _, c := range []storagev1.CSIStorageCapacity{
		{StorageClassName: "beta2"}, {StorageClassName: "beta2", Capacity: &size}, {StorageClassName: "beta2", NodeTopology: &metav1.LabelSelector{}},
		{StorageClassName: "beta2", Capacity: &size, NodeTopology: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Near"}}}},
	} {
		f.CSICapacity(&c)
	}
	c := f.Capacity()
	if n := c.Nodes[0]; n.Closed != "it is not ready" || n.InUse != (inventory.Amounts{Pods: 1}) || n.Allocatable != (inventory.Amounts{}) {
		t.Errorf("%+v", n)
	}
	if s := c.Storage[0]; !s.Unlimited || s.InUse > 0 || len(c.Notes) != 1 {
		t.Errorf("%+v, %q", s, c.Notes)
	}
}

// A pod's volumes in memory count up to their size limit. Other volumes, and those without a limit, request nothing.
func TestVolumesInMemory(t *testing.T) {
	gi, minus := resource.MustParse("1Gi"), resource.MustParse("-1Gi")
	for name, c := range map[string]struct {
		volume *corev1.EmptyDirVolumeSource
		want   uint64
	}{
		"in memory":         {&corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &gi}, 1 << 30},
		"without a limit":   {&corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}, 0},
		"on the disk":       {&corev1.EmptyDirVolumeSource{SizeLimit: &gi}, 0},
		"in huge pages":     {&corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumHugePages, SizeLimit: &gi}, 0},
		"less than nothing": {&corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &minus}, 0},
		"of another kind":   {nil, 0},
	} {
		var f observed.Fold
		f.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		p := requesting("memory", "1")
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: c.volume}}, {}}
		f.Pod(p)
		if got := f.Capacity().Nodes[0].InUse.Memory; got != c.want+1 {
			t.Errorf("%s: in use %d, want %d", name, got, c.want+1)
		}
	}
}

// A node that is being deleted accepts no leases, and neither does one without a true Ready condition.
func TestClosedNodes(t *testing.T) {
	now := metav1.Now()
	condition := func(kind, status string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status)}
	}
	for want, o := range map[string]corev1.Node{
		"it is being deleted": {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{condition("Ready", "True")}}},
		"it is not ready":     {Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{condition("ready", "True"), condition("Ready", "true"), condition("Ready", "False")}}},
		"":                    {Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{condition("NetworkUnavailable", "True"), condition("Ready", "True")}}},
	} {
		var f observed.Fold
		o.Name = "n1"
		f.Node(&o)
		c := f.Capacity()
		if c.Nodes[0].Closed != want || len(c.Cluster().Nodes) > 0 != (want == "") {
			t.Errorf("closed is %q, want %q", c.Nodes[0].Closed, want)
		}
	}
}

// Labels may contain any number; maxCards limits the GPUs of a node.
func TestCardsAreBounded(t *testing.T) {
	labels := map[string]string{}
	for _, model := range []string{"a100", "t4", "h100"} {
		key := "akash.network/capabilities.gpu.vendor.nvidia.model." + model
		labels[key], labels[key+".ram.80Gi"], labels[key+".interface.pcie"] = "999999999", "9223372036854775807", "9223372036854775808"
	}
	for name, l := range map[string]map[string]string{"Akash's": labels, "NVIDIA's": {"nvidia.com/gpu.product": "Tesla-T4"}} {
		var f observed.Fold
		f.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: l}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"nvidia.com/gpu": resource.MustParse("9223372036854775807")}}})
		if got := len(f.Capacity().Nodes[0].Cards); got != 1024 {
			t.Errorf("%s labels: %d cards", name, got)
		}
	}
}
