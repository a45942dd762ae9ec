package observed

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Fold collects the objects of a cluster, in any order. The zero value is ready for use.
type Fold struct {
	nodes   map[string]*node
	classes map[string]class
	// reports are what drivers report as free, and volumes the sizes of all volumes, both by class.
	reports map[string][]report
	volumes map[string]uint64
	// orders are the orders of the leases that own namespaces, by namespace.
	orders map[string]string
	// used is what pods request, by namespace and node. stored is the size of volumes, by namespace and class.
	used map[key]inventory.Amounts
	// usedGPUs are the GPUs that pods request, by vendor.
	usedGPUs map[key]map[string]uint64
	stored   map[key]uint64
	// claimed are the volumes in use.
	claimed []volume
	// nodePorts are the first and the last node port, or 0 if they are unknown. ports are the node ports of NodePort
	// Services by namespace, otherPorts those of all other Services.
	nodePorts  [2]int32
	ports      map[string][]int32
	otherPorts []int32
	// reserved is what reservations hold, by order. leased are the sharing keys of the IP endpoints that leases have
	// claimed, by order.
	reserved map[string]inventory.Hold
	leased   map[string]map[string]bool
}

// key is a namespace and the name of a node or a class.
type key struct{ namespace, of string }

// Namespace adds a namespace that belongs to the lease of an order, OWNER/DSEQ/GSEQ/OSEQ.
func (f *Fold) Namespace(name, order string) {
	set(&f.orders, name, order)
}

// Reserve adds what the reservation of an order holds.
func (f *Fold) Reserve(order string, h inventory.Hold) {
	set(&f.reserved, order, h)
}

// Lease adds the sharing key of an IP endpoint that the lease of an order has claimed. Its address is in use.
func (f *Fold) Lease(order, sharingKey string) {
	if f.leased == nil {
		f.leased = map[string]map[string]bool{}
	}
	inner(f.leased, order)[sharingKey] = true
}

// Kind is a kind of object that a Fold collects.
type Kind int

// The kinds of objects.
const (
	Nodes Kind = iota
	Namespaces
	Pods
	StorageClasses
	CSICapacities
	Volumes
	Services
	Reservations
)

// Forget removes all objects of a kind, so that they can be added again.
func (f *Fold) Forget(k Kind) {
	switch k {
	case Nodes:
		f.nodes = nil
	case Namespaces:
		f.orders = nil
	case Pods:
		f.used, f.usedGPUs = nil, nil
	case StorageClasses:
		f.classes = nil
	case CSICapacities:
		f.reports = nil
	case Volumes:
		f.volumes, f.stored, f.claimed = nil, nil, nil
	case Services:
		f.ports, f.otherPorts = nil, nil
	case Reservations:
		f.reserved, f.leased = nil, nil
	}
}

// Capacity is what a cluster has, and how much of it is in use and reserved.
type Capacity struct {
	// Nodes are sorted by name. They include nodes that accept no leases.
	Nodes []Node
	// Storage is sorted by class.
	Storage []Storage
	// DefaultClass is the class that Kubernetes chooses for volumes without one. It is empty if there is none.
	DefaultClass string
	// NodePorts are the ports for Services. It is nil if their number is unknown.
	NodePorts *Counted
	// Reserved counts the addresses that reservations hold.
	Reserved uint64
	// Notes tell people what is unknown.
	Notes []string
}

// Node is what a node has.
type Node struct {
	Name string
	// Closed says why the node accepts no leases. It is empty if it does.
	Closed string
	// Allocatable is what pods may request, InUse what they request, and Reserved what reservations hold beyond what
	// the pods of their leases request.
	Allocatable, InUse, Reserved inventory.Amounts
	Cards                        []inventory.Card
	Classes                      []string
	// GPUs and GPUsInUse count GPUs by vendor. ReservedCards are the GPUs that reservations have chosen, by model, also those
	// that the pods of their leases use, and ReservedGPUs those of them beyond what these pods use, by vendor.
	GPUs, GPUsInUse, ReservedCards, ReservedGPUs map[string]uint64
}

// Counted is a resource that is counted in units, such as node ports.
type Counted struct {
	Total, InUse, Reserved uint64
}

// Storage is what the cluster has of a class.
type Storage struct {
	Class string
	// Unlimited is true if the amount is unknown.
	Unlimited                    bool
	Allocatable, InUse, Reserved uint64
}

// Capacity computes the capacity.
func (f *Fold) Capacity() Capacity {
	c := f.total()
	usage := f.Usage()
	f.addInUse(&c, "")
	for _, order := range slices.Sorted(maps.Keys(f.reserved)) {
		c.reserve(usage.Beyond(order, f.reserved[order]))
	}
	return c
}

// CapacityFor computes the capacity for the reservation of an order, without any reservations. What the pods and
// volumes of its own lease use counts as free.
func (f *Fold) CapacityFor(order string) Capacity {
	c := f.total()
	f.addInUse(&c, order)
	return c
}

// total returns the capacity with nothing in use or reserved.
func (f *Fold) total() Capacity {
	var c Capacity
	labelled := f.labelled()
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
		out := Node{Name: name, Closed: n.closed, Allocatable: n.allocatable, Cards: n.cards, Classes: f.classesOf(n), GPUs: n.gpus}
		if out.Closed == "" && labelled && !n.labelled {
			out.Closed = "it lacks the label akash.network=true, which other nodes have"
		}
		if n.allocatable.GPU > 0 && len(n.cards) == 0 && out.Closed == "" {
			c.Notes = append(c.Notes, fmt.Sprintf(
				"node %s has GPUs (%d), and no label says of what model; no wish for a GPU fits there", name, n.allocatable.GPU))
		}
		c.Nodes = append(c.Nodes, out)
	}
	f.storage(&c)
	if first, last := f.nodePorts[0], f.nodePorts[1]; first > 0 {
		c.NodePorts = &Counted{Total: uint64(last-first) + 1}
	}
	return c
}

// labelled reports whether Akash's inventory operator has labelled nodes. Workloads then select that label and run on
// no other nodes.
func (f *Fold) labelled() bool {
	return f.anyNode(func(n *node) bool { return n.labelled })
}

func (f *Fold) anyNode(matches func(*node) bool) bool {
	for _, n := range f.nodes {
		if matches(n) {
			return true
		}
	}
	return false
}

// addInUse adds what pods and volumes use, except those of an order's lease.
func (f *Fold) addInUse(c *Capacity, without string) {
	others := func(namespace string) bool { order, ok := f.orders[namespace]; return !ok || order != without }
	for k, a := range f.used {
		if i, ok := slices.BinarySearchFunc(c.Nodes, k.of, byNode); ok && others(k.namespace) {
			c.Nodes[i].InUse = c.Nodes[i].InUse.Plus(a)
			for vendor, n := range f.usedGPUs[k] {
				set(&c.Nodes[i].GPUsInUse, vendor, inventory.Sum(c.Nodes[i].GPUsInUse[vendor], n))
			}
		}
	}
	for k, size := range f.stored {
		if i, ok := slices.BinarySearchFunc(c.Storage, k.of, byClass); ok && others(k.namespace) {
			c.Storage[i].InUse = inventory.Sum(c.Storage[i].InUse, size)
		}
	}
	if c.NodePorts == nil {
		return
	}
	c.NodePorts.InUse = f.inRange(f.otherPorts)
	for namespace, ports := range f.ports {
		if others(namespace) {
			c.NodePorts.InUse += f.inRange(ports)
		}
	}
}

// reserve adds what a reservation holds beyond what is in use.
func (c *Capacity) reserve(rest inventory.Hold) {
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Reserved = n.Reserved.Plus(rest.Nodes[n.Name])
		for model, count := range rest.Cards[n.Name] {
			set(&n.ReservedCards, model, inventory.Sum(n.ReservedCards[model], count))
		}
		for vendor, count := range inventory.Vendors(rest.Cards[n.Name], rest.Nodes[n.Name].GPU) {
			set(&n.ReservedGPUs, vendor, inventory.Sum(n.ReservedGPUs[vendor], count))
		}
	}
	for i, s := range c.Storage {
		c.Storage[i].Reserved = inventory.Sum(s.Reserved, rest.Storage[s.Class])
	}
	if c.NodePorts != nil {
		c.NodePorts.Reserved = inventory.Sum(c.NodePorts.Reserved, rest.NodePorts)
	}
	c.Reserved = inventory.Sum(c.Reserved, rest.Addresses)
}

// set adds an entry to a map, which may be nil.
func set[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func byClass(s Storage, class string) int { return cmp.Compare(s.Class, class) }

func byNode(n Node, name string) int { return cmp.Compare(n.Name, name) }

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

// NodePorts sets the range of node ports, both ends included: the API server's --service-node-port-range. Ports outside
// it, which Services may have from an earlier range, do not count.
func (f *Fold) NodePorts(first, last uint16) { f.nodePorts = [2]int32{int32(first), int32(last)} }

// Service adds the node ports of a Service. A lease asks only for those of NodePort Services; LoadBalancer Services
// have node ports that no lease asked for.
func (f *Fold) Service(o *corev1.Service) {
	var ports []int32
	for _, p := range o.Spec.Ports {
		ports = append(ports, p.NodePort)
	}
	if o.Spec.Type != corev1.ServiceTypeNodePort {
		f.otherPorts = append(append(f.otherPorts, ports...), o.Spec.HealthCheckNodePort)
		return
	}
	set(&f.ports, o.Namespace, append(f.ports[o.Namespace], ports...))
}

// inRange counts the ports that are node ports, each once: TCP and UDP share a port. Port 0 means no port.
func (f *Fold) inRange(ports []int32) (n uint64) {
	for _, p := range slices.Compact(slices.Sorted(slices.Values(ports))) {
		if p > 0 && p >= f.nodePorts[0] && p <= f.nodePorts[1] {
			n++
		}
	}
	return n
}
