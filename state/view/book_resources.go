package view

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// SubjectResources is the capacity of the cluster. It is shown on request: clusters have many nodes and pods.
const SubjectResources Subject = "resources"

// The scopes of a row of resources.
const (
	OfCluster = "cluster"
	OfNode    = "node"
	OfClass   = "class"
)

// ResourceRow is how much there is of one resource in the cluster, on a node, or of a storage class. Amounts are in
// base units: thousandths of a CPU, bytes, whole GPUs, addresses, node ports.
type ResourceRow struct {
	// Of is cluster, node or class. Name is the name of the node or the class.
	Of   string `json:"of"`
	Name string `json:"name,omitempty"`
	// Resource is cpu, memory, ephemeral-storage, gpu, storage, addresses or node-ports.
	Resource string `json:"resource"`
	// Allocatable is what exists. Committed is how much may be leased in total: Allocatable times the commit level.
	Allocatable uint64 `json:"allocatable"`
	Committed   uint64 `json:"committed"`
	// InUse is what pods and volumes request, Reserved what reservations hold beyond that, and Available the rest.
	Reserved  uint64 `json:"reserved"`
	InUse     uint64 `json:"inUse"`
	Available uint64 `json:"available"`
	// Unlimited is true if the amount is unknown. The amounts are 2^64-1 then.
	Unlimited bool `json:"unlimited,omitempty"`
	// Message says why a node accepts no leases. Nothing of it is available, and it does not count for the cluster.
	Message string `json:"message,omitempty"`
}

// addCapacity adds an object that capacity depends on.
func (c *Contents) addCapacity(o *unstructured.Unstructured) {
	switch o.GroupVersionKind().Group + "/" + o.GetKind() {
	case "/Namespace":
		if id, ok := lease.IDFromLabels(o.GetLabels()); ok {
			c.Capacity.Namespace(o.GetName(), id.Order().String())
		}
	case "/Node":
		addTyped(o, c.Capacity.Node)
	case "/Pod":
		addTyped(o, c.Capacity.Pod)
	case "/Service":
		addTyped(o, func(s *corev1.Service) {
			c.Capacity.Service(s)
			c.Backends.AddService(s)
		})
	case "/PersistentVolume":
		addTyped(o, c.Capacity.Volume)
	case "storage.k8s.io/StorageClass":
		addTyped(o, c.Capacity.StorageClass)
	case "storage.k8s.io/CSIStorageCapacity":
		addTyped(o, c.Capacity.CSICapacity)
	}
}

// addTyped adds an object from a file. It ignores an object that cannot be converted.
func addTyped[T any](o *unstructured.Unstructured, add func(*T)) {
	var typed T
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed) == nil {
		add(&typed)
	}
}

// resources returns the rows of the cluster, its storage classes, then its nodes.
func (f *bookBuilder) resources(c observed.Capacity, addresses *inventory.Addresses) []ResourceRow {
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
	for i := range first { // free room on one node does not offset overcommitment on another
		first[i].Available = 0
		for _, r := range rows {
			if r.Resource == first[i].Resource {
				first[i].Available = inventory.Sum(first[i].Available, r.Available)
			}
		}
	}
	if a := addresses; a != nil {
		row := ResourceRow{Of: OfCluster, Resource: "addresses", Allocatable: a.Total, InUse: a.InUse, Reserved: c.Reserved}
		first = append(first, row.withTotals(1))
	}
	if p := c.NodePorts; p != nil {
		row := ResourceRow{Of: OfCluster, Resource: "node-ports", Allocatable: p.Total, InUse: p.InUse, Reserved: p.Reserved}
		first = append(first, row.withTotals(1))
	}
	for _, s := range c.Storage {
		row := ResourceRow{
			Of: OfClass, Name: s.Class, Resource: "storage",
			Allocatable: s.Allocatable, InUse: s.InUse, Reserved: s.Reserved, Unlimited: s.Unlimited,
		}
		first = append(first, row.withTotals(f.cfg.CommitLevels.Storage))
	}
	return append(first, rows...)
}

// node returns the rows of a node, or of the cluster. It leaves out GPUs on a node without any.
func (f *bookBuilder) node(of string, n observed.Node) []ResourceRow {
	levels := f.cfg.CommitLevels
	row := func(resource string, level float64, amount func(inventory.Amounts) uint64) ResourceRow {
		r := ResourceRow{
			Of: of, Name: n.Name, Resource: resource,
			Allocatable: amount(n.Allocatable), InUse: amount(n.InUse), Reserved: amount(n.Reserved),
		}
		if n.Closed != "" {
			r.Message = "takes no leases: " + n.Closed
		}
		return r.withTotals(level)
	}
	rows := []ResourceRow{
		row("cpu", levels.CPU, func(a inventory.Amounts) uint64 { return a.CPU }),
		row("memory", levels.Memory, func(a inventory.Amounts) uint64 { return a.Memory }),
		row("ephemeral-storage", levels.Storage, func(a inventory.Amounts) uint64 { return a.EphemeralStorage }),
	}
	gpu := row("gpu", levels.GPU, func(a inventory.Amounts) uint64 { return a.GPU })
	if gpu.Allocatable > 0 || gpu.InUse > 0 || of == OfCluster {
		rows = append(rows, gpu)
	}
	return rows
}

// withTotals computes Committed and Available.
func (r ResourceRow) withTotals(level float64) ResourceRow {
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
