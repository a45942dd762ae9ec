package view

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// SubjectResources is what there is to give out. It is shown when it is asked for: nodes and pods are many.
const SubjectResources Subject = "resources"

// What a row of resources is about.
const (
	OfCluster = "cluster"
	OfNode    = "node"
	OfClass   = "class"
)

// ResourceRow is how much there is of one resource: in the cluster, on a node, or of a storage class. All amounts are
// in base units: thousandths of a CPU, bytes, whole GPUs, addresses, node ports.
type ResourceRow struct {
	// Of is cluster, node or class; Name that of the node or the class.
	Of   string `json:"of"`
	Name string `json:"name,omitempty"`
	// Resource is cpu, memory, ephemeral-storage, gpu, storage, addresses or node-ports.
	Resource string `json:"resource"`
	// Allocatable is what there is, and Committed how much of it may be leased out in all: times the commit level.
	Allocatable uint64 `json:"allocatable"`
	Committed   uint64 `json:"committed"`
	// InUse is what pods and volumes request, Reserved what reservations hold beyond it, Available the rest.
	Reserved  uint64 `json:"reserved"`
	InUse     uint64 `json:"inUse"`
	Available uint64 `json:"available"`
	// Unlimited is true where nobody says how much there is; the amounts are 2^64-1 then.
	Unlimited bool `json:"unlimited,omitempty"`
	// Message says why a node takes no leases: nothing of it is available, and it does not count for the cluster.
	Message string `json:"message,omitempty"`
}

// addCapacity adds an object of which capacity is made.
func (c *Contents) addCapacity(o *unstructured.Unstructured) {
	switch o.GroupVersionKind().Group + "/" + o.GetKind() {
	case "/Namespace":
		if id, ok := lease.IDFromLabels(o.GetLabels()); ok {
			c.Capacity.Namespace(o.GetName(), id.Order().String())
		}
	case "/Node":
		fold(o, c.Capacity.Node)
	case "/Pod":
		fold(o, c.Capacity.Pod)
	case "/Service":
		fold(o, c.Capacity.Service)
	case "/PersistentVolume":
		fold(o, c.Capacity.Volume)
	case "storage.k8s.io/StorageClass":
		fold(o, c.Capacity.StorageClass)
	case "storage.k8s.io/CSIStorageCapacity":
		fold(o, c.Capacity.CSICapacity)
	}
}

// fold reads an object of a file. What cannot be read as its kind is passed over.
func fold[T corev1.Node | corev1.Pod | corev1.Service | corev1.PersistentVolume | storagev1.StorageClass | storagev1.CSIStorageCapacity](o *unstructured.Unstructured, add func(*T)) {
	var typed T
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed) == nil {
		add(&typed)
	}
}

// resources lists the cluster, its storage classes, then its nodes.
func (f *folder) resources(c observed.Capacity, addresses *inventory.Addresses) []ResourceRow {
	var total observed.Node
	rows := []ResourceRow{}
	for _, n := range c.Nodes {
		if n.Closed == "" {
			total.Allocatable = total.Allocatable.Plus(n.Allocatable)
			total.InUse, total.Reserved = total.InUse.Plus(n.InUse), total.Reserved.Plus(n.Reserved)
		}
		rows = append(rows, f.node(OfNode, n)...)
	}
	first := f.node(OfCluster, total)
	for i := range first { // what is left of one node is no room for what another has given out too much
		first[i].Available = 0
		for _, r := range rows {
			if r.Resource == first[i].Resource {
				first[i].Available = inventory.Sum(first[i].Available, r.Available)
			}
		}
	}
	if a := addresses; a != nil {
		row := ResourceRow{Of: OfCluster, Resource: "addresses", Allocatable: a.Total, InUse: a.InUse, Reserved: c.Reserved}
		first = append(first, row.counted(1))
	}
	if p := c.NodePorts; p != nil {
		row := ResourceRow{Of: OfCluster, Resource: "node-ports", Allocatable: p.Total, InUse: p.InUse, Reserved: p.Reserved}
		first = append(first, row.counted(1))
	}
	for _, s := range c.Storage {
		row := ResourceRow{Of: OfClass, Name: s.Class, Resource: "storage", Allocatable: s.Allocatable, InUse: s.InUse, Reserved: s.Reserved, Unlimited: s.Unlimited}
		first = append(first, row.counted(f.cfg.CommitLevels.Storage))
	}
	return append(first, rows...)
}

// node are the rows of a node, or of all together. GPUs are left out where there are none.
func (f *folder) node(of string, n observed.Node) []ResourceRow {
	levels := f.cfg.CommitLevels
	row := func(resource string, level float64, amount func(inventory.Amounts) uint64) ResourceRow {
		r := ResourceRow{Of: of, Name: n.Name, Resource: resource, Allocatable: amount(n.Allocatable), InUse: amount(n.InUse), Reserved: amount(n.Reserved)}
		if n.Closed != "" {
			r.Message = "takes no leases: " + n.Closed
		}
		return r.counted(level)
	}
	rows := []ResourceRow{
		row("cpu", levels.CPU, func(a inventory.Amounts) uint64 { return a.CPU }),
		row("memory", levels.Memory, func(a inventory.Amounts) uint64 { return a.Memory }),
		row("ephemeral-storage", levels.Storage, func(a inventory.Amounts) uint64 { return a.EphemeralStorage }),
	}
	if gpu := row("gpu", levels.GPU, func(a inventory.Amounts) uint64 { return a.GPU }); gpu.Allocatable > 0 || gpu.InUse > 0 || of == OfCluster {
		rows = append(rows, gpu)
	}
	return rows
}

// counted computes what follows from what there is.
func (r ResourceRow) counted(level float64) ResourceRow {
	if r.Unlimited {
		r.Allocatable, r.Committed, r.Available = math.MaxUint64, math.MaxUint64, math.MaxUint64
		return r
	}
	r.Committed = r.Allocatable
	if x := float64(r.Allocatable) * level; level > 1 && x < math.MaxUint64 {
		r.Committed = uint64(x)
	} else if level > 1 {
		r.Committed = math.MaxUint64
	}
	if given := inventory.Sum(r.InUse, r.Reserved); given < r.Allocatable && r.Message == "" {
		r.Available = r.Allocatable - given
	}
	return r
}
