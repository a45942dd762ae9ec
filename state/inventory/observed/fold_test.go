package observed_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// What objects come to, rule by rule: testdata has a block for each, which begins with an empty cluster.
// `go test ./state/inventory/observed -rewrite` writes what comes of them now.
//
//	node NAME cpu=4 memory=8Gi disk=50Gi [nvidia=2] [amd=1] [label=K=V] [taint=KEY:EFFECT] [cordoned] [unready]
//	namespace NAME ORDER
//	pod NAMESPACE NODE cpu=1 memory=1Gi … [init-cpu=2] [sidecar-cpu=1] [overhead-cpu=1] [ram=1Gi] [phase=Succeeded]
//	class NAME [akash] [default] [static]
//	capacity CLASS SIZE [zone=a] [at=SECOND]
//	volume CLASS SIZE PHASE [NAMESPACE] [made=SECOND] [zone=a]
//	reserved ORDER NODE cpu=1 … [card=VENDOR/MODEL:N] | reserved ORDER class=SIZE | reserved ORDER addresses=1
//	order ORDER replicas=2 cpu=1 gpu=VENDOR/MODEL:N | order ORDER class=SIZE
//
//	leased ORDER ENDPOINT
//	service NAMESPACE TYPE [PROTOCOL:NODEPORT...] [health:NODEPORT], node-ports FIRST LAST, reserved ORDER node-ports=1, beyond ORDER,
//	forget-services
//
// "order" asks for something for an order and reserves it, if it fits. "cluster" prints what is left for package inventory, "for ORDER" what there is for that order's reservation.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := &world{t: t, holds: map[string]inventory.Hold{}}
			for line := range strings.Lines(d.Input) {
				if words := strings.Fields(line); len(words) > 0 {
					w.obey(words)
				}
			}
			return w.print()
		})
	})
}

type world struct {
	t     *testing.T
	fold  observed.Fold
	holds map[string]inventory.Hold
	out   strings.Builder
}

// settings parses words of the form key=value. A word without a value is true.
type settings map[string][]string

func parse(words []string) settings {
	s := settings{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		s[k] = append(s[k], v)
	}
	return s
}

func (s settings) resources(prefix string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for k, name := range map[string]corev1.ResourceName{"cpu": "cpu", "memory": "memory", "disk": "ephemeral-storage", "nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "pods": "pods"} {
		if v := s[prefix+k]; v != nil {
			out[name] = resource.MustParse(v[0])
		}
	}
	return out
}

func (w *world) obey(words []string) {
	s := parse(words[1:])
	switch words[0] {
	case "node":
		w.fold.Node(node(words[1], s))
	case "namespace":
		w.fold.Namespace(words[1], words[2])
	case "pod":
		w.fold.Pod(pod(words[1], words[2], s))
	case "class":
		o := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: words[1], Labels: map[string]string{}, Annotations: map[string]string{}}, Provisioner: "driver"}
		if s["akash"] != nil {
			o.Labels["akash.network"] = "true"
		}
		if s["default"] != nil {
			o.Annotations["storageclass.kubernetes.io/is-default-class"] = "true"
		}
		if s["static"] != nil {
			o.Provisioner = "kubernetes.io/no-provisioner"
		}
		w.fold.StorageClass(o)
	case "capacity":
		size := resource.MustParse(words[2])
		o := &storagev1.CSIStorageCapacity{StorageClassName: words[1], Capacity: &size, NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{}}}
		if z := s["zone"]; z != nil {
			o.NodeTopology.MatchLabels["zone"] = z[0]
		}
		o.CreationTimestamp = second("0")
		for _, at := range s["at"] {
			changed := second(at)
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &changed}}
		}
		if s["nowhere"] != nil {
			o.NodeTopology = nil
		}
		w.fold.CSICapacity(o)
	case "volume":
		o := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{StorageClassName: words[1], Capacity: corev1.ResourceList{"storage": resource.MustParse(words[2])}}, Status: corev1.PersistentVolumeStatus{Phase: corev1.PersistentVolumePhase(words[3])}}
		o.CreationTimestamp = second("0")
		for _, at := range s["made"] {
			o.CreationTimestamp = second(at)
		}
		for _, zone := range s["zone"] {
			o.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: "In", Values: []string{zone}}}}}}}
		}
		if len(words) > 4 && !strings.Contains(words[4], "=") {
			o.Spec.ClaimRef = &corev1.ObjectReference{Namespace: words[4]}
		}
		w.fold.Volume(o)
	case "reserved":
		w.reserve(words[1], words[2], s)
	case "order":
		w.order(words[1], words[2:])
	case "service":
		o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: words[1]}, Spec: corev1.ServiceSpec{Type: corev1.ServiceType(words[2])}}
		for _, word := range words[3:] {
			protocol, port, _ := strings.Cut(word, ":")
			if protocol == "health" {
				o.Spec.HealthCheckNodePort = int32(number(port))
				continue
			}
			o.Spec.Ports = append(o.Spec.Ports, corev1.ServicePort{Port: 53, Protocol: corev1.Protocol(protocol), NodePort: int32(number(port))})
		}
		w.fold.Service(o)
	case "node-ports":
		w.fold.NodePorts(uint16(number(words[1])), uint16(number(words[2])))
	case "beyond":
		fmt.Fprintf(&w.out, "beyond its Services %s holds %d node ports\n", words[1], w.fold.Usage().Beyond(words[1], w.holds[words[1]]).NodePorts)
	case "forget-services":
		w.fold.Forget(observed.Services)
	case "leased":
		w.fold.Lease(words[1], words[2])
	case "for":
		w.of(w.fold.CapacityFor(words[1]))
	case "cluster":
		w.cluster()
	default:
		w.t.Fatalf("unknown word %s", words[0])
	}
}

func (w *world) reserve(order, node string, s settings) {
	h := w.holds[order]
	if h.Nodes == nil {
		h = inventory.Hold{Nodes: map[string]inventory.Amounts{}, Storage: map[string]uint64{}}
	}
	switch k, v, ok := strings.Cut(node, "="); {
	case k == "addresses":
		h.Addresses = number(v)
	case k == "node-ports":
		h.NodePorts = number(v)
	case ok:
		h.Storage[k] = number(v)
	default:
		r := s.resources("")
		cpu, memory, disk, gpu := r["cpu"], r["memory"], r["ephemeral-storage"], r["nvidia.com/gpu"]
		h.Nodes[node] = inventory.Amounts{CPU: uint64(cpu.MilliValue()), Memory: uint64(memory.Value()), EphemeralStorage: uint64(disk.Value()), GPU: uint64(gpu.Value())}
		for _, c := range s["card"] {
			model, n, _ := strings.Cut(c, ":")
			h.Cards = map[string]map[string]uint64{node: {model: number(n)}}
		}
	}
	w.holds[order] = h
	w.fold.Reserve(order, h)
}

// order asks for something for an order, as reserving does.
func (w *world) order(order string, words []string) {
	r := inventory.Resource{ID: 1, Count: 1, CPU: 1}
	for _, word := range words {
		switch k, v, _ := strings.Cut(word, "="); k {
		case "replicas":
			r.Count = uint32(number(v))
		case "cpu":
			r.CPU = 1000 * number(v)
		case "gpu":
			model, n, _ := strings.Cut(v, ":")
			vendor, name, _ := strings.Cut(model, "/")
			r.GPU = inventory.GPU{Units: number(n), Attributes: []string{"vendor/" + vendor + "/model/" + name}}
		default:
			r.Storage = []inventory.Volume{{Name: "v", Size: number(v), Attributes: inventory.VolumeAttributes{Class: k, Persistent: "true"}}}
		}
	}
	g := inventory.Group{Name: "g", Resources: []inventory.Resource{r}}
	cluster := w.fold.CapacityFor(order).Cluster()
	for other, h := range w.holds {
		if other != order {
			cluster = cluster.Less(w.fold.Usage().Beyond(other, h))
		}
	}
	grant, refusal := inventory.New(cluster, nil, inventory.Levels{}).Reserve(g)
	if refusal != nil {
		fmt.Fprintf(&w.out, "%s: %s\n", order, refusal)
		return
	}
	fmt.Fprintf(&w.out, "%s fits\n", order)
	w.holds[order] = grant.Hold(g)
	w.fold.Reserve(order, w.holds[order])
}

// second returns a time in a minute.
func second(s string) metav1.Time {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return metav1.Unix(int64(n), 0)
}

func number(s string) uint64 {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n
	}
	q := resource.MustParse(s)
	return uint64(q.Value())
}

func node(name string, s settings) *corev1.Node {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	o.Status.Allocatable = s.resources("")
	o.Status.Conditions = []corev1.NodeCondition{{Type: "DiskPressure", Status: "True"}, {Type: "Ready", Status: "True"}}
	if s["unready"] != nil {
		o.Status.Conditions[1].Status = "Unknown"
	}
	o.Spec.Unschedulable = s["cordoned"] != nil
	for _, l := range s["label"] {
		k, v, _ := strings.Cut(l, "=")
		o.Labels[k] = v
	}
	for _, taint := range s["taint"] {
		k, effect, _ := strings.Cut(taint, ":")
		o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: k, Effect: corev1.TaintEffect(effect)})
	}
	return o
}

func pod(namespace, node string, s settings) *corev1.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: corev1.PodSpec{NodeName: strings.TrimPrefix(node, "-")}}
	container := func(prefix string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: s.resources(prefix)}}
	}
	o.Spec.Containers = []corev1.Container{container("")}
	if c := container("init-"); len(c.Resources.Requests) > 0 {
		o.Spec.InitContainers = append(o.Spec.InitContainers, c)
	}
	if c := container("sidecar-"); len(c.Resources.Requests) > 0 {
		always := corev1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
		o.Spec.InitContainers = append(o.Spec.InitContainers, c)
	}
	o.Spec.Overhead = s.resources("overhead-")
	for _, v := range s["ram"] {
		size := resource.MustParse(v)
		o.Spec.Volumes = append(o.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory", SizeLimit: &size}}})
	}
	for _, phase := range s["phase"] {
		o.Status.Phase = corev1.PodPhase(phase)
	}
	return o
}

func amounts(a inventory.Amounts) string {
	return fmt.Sprintf("cpu %d memory %s disk %s gpu %d", a.CPU, inventory.Bytes(a.Memory, false), inventory.Bytes(a.EphemeralStorage, false), a.GPU)
}

func (w *world) print() string {
	w.of(w.fold.Capacity())
	return w.out.String()
}

// of prints an amount and its use.
func (w *world) of(c observed.Capacity) {
	for _, n := range c.Nodes {
		fmt.Fprintf(&w.out, "%s: %s", n.Name, amounts(n.Allocatable))
		if n.InUse != (inventory.Amounts{}) {
			fmt.Fprintf(&w.out, "; in use %s", amounts(n.InUse))
		}
		if n.Reserved != (inventory.Amounts{}) {
			fmt.Fprintf(&w.out, "; reserved %s", amounts(n.Reserved))
		}
		if len(n.Classes) > 0 {
			fmt.Fprintf(&w.out, "; classes %s", strings.Join(n.Classes, " "))
		}
		if n.Closed != "" {
			fmt.Fprintf(&w.out, "; closed: %s", n.Closed)
		}
		for _, card := range n.Cards {
			fmt.Fprintf(&w.out, "\n  %s/%s %s %s", card.Vendor, card.Name, card.MemorySize, card.Interface)
		}
		w.out.WriteString("\n")
	}
	for _, s := range c.Storage {
		all := inventory.Bytes(s.Allocatable, false)
		if s.Unlimited {
			all = "without limit"
		}
		fmt.Fprintf(&w.out, "class %s: %s, in use %s, reserved %s\n", s.Class, all, inventory.Bytes(s.InUse, false), inventory.Bytes(s.Reserved, false))
	}
	if c.DefaultClass != "" {
		fmt.Fprintf(&w.out, "default is %s\n", c.DefaultClass)
	}
	if n := c.NodePorts; n != nil {
		fmt.Fprintf(&w.out, "node ports: %d, in use %d, reserved %d, left %d\n", n.Total, n.InUse, n.Reserved, c.Cluster().NodePorts.Available())
	}
	if c.Reserved > 0 {
		fmt.Fprintf(&w.out, "%d addresses reserved\n", c.Reserved)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&w.out, "note: %s\n", n)
	}
}

// cluster prints what is left for package inventory.
func (w *world) cluster() {
	cluster := w.fold.Capacity().Cluster()
	for _, n := range cluster.Closed {
		fmt.Fprintf(&w.out, "none on %s: %s\n", n.Name, n.Why)
	}
	room := inventory.New(cluster, nil, inventory.Levels{}).Room()
	for _, n := range room.Nodes {
		fmt.Fprintf(&w.out, "left on %s: %s\n", n.Name, amounts(n.Available))
	}
	for _, class := range slices.Sorted(maps.Keys(room.Available.Storage)) {
		fmt.Fprintf(&w.out, "left of %s: %s\n", class, inventory.Bytes(room.Available.Storage[class], false))
	}
}

// Objects that are forgotten and added again count once.
func TestForget(t *testing.T) {
	given := []struct {
		kind observed.Kind
		line string
	}{
		{observed.Nodes, "node n1 cpu=16 memory=32Gi disk=50Gi label=zone=a"}, {observed.Namespaces, "namespace a akash1a/1/1/1"},
		{observed.Pods, "pod a n1 cpu=1 memory=1Gi"}, {observed.StorageClasses, "class beta2 default"}, {observed.CSICapacities, "capacity beta2 10Gi zone=a"},
		{observed.Volumes, "volume beta2 1Gi Bound a"}, {observed.Reservations, "reserved akash1a/1/1/1 n1 cpu=2 memory=1Gi"},
	}
	w, again, none := &world{t: t, holds: map[string]inventory.Hold{}}, &world{t: t, holds: map[string]inventory.Hold{}}, &world{t: t, holds: map[string]inventory.Hold{}}
	for _, g := range given {
		w.obey(strings.Fields(g.line))
		again.obey(strings.Fields(g.line))
		again.fold.Forget(g.kind)
		again.obey(strings.Fields(g.line))
		none.obey(strings.Fields(g.line))
		none.fold.Forget(g.kind)
	}
	if got, want := again.print(), w.print(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := none.print(); got != "" {
		t.Errorf("all was forgotten, and there is\n%s", got)
	}
}

func TestAskedForTheDefaultClass(t *testing.T) {
	asked := func(classes ...string) string {
		w := &world{t: t}
		for _, c := range classes {
			w.obey(append([]string{"class"}, strings.Fields(c)...))
		}
		g := inventory.Group{Resources: []inventory.Resource{{Storage: []inventory.Volume{{Attributes: inventory.VolumeAttributes{Class: "default", Persistent: "true"}}, {}}}}}
		got := w.fold.Capacity().Asked(g)
		if g.Resources[0].Storage[0].Attributes.Class != "default" || got.Resources[0].Storage[1].Attributes.Class != "" {
			t.Error("the group that was asked for has changed, or a volume without class got one")
		}
		return got.Resources[0].Storage[0].Attributes.Class
	}
	for want, classes := range map[string][]string{"default": {"beta2"}, "beta3": {"beta2", "beta3 default"}} {
		if got := asked(classes...); got != want {
			t.Errorf("%v: got %s, want %s", classes, got, want)
		}
	}
	if got := asked("default", "beta3 default"); got != "default" {
		t.Errorf("a class of that name: got %s", got)
	}
}

// WithLeases replaces the endpoints that leases have claimed and leaves the earlier usage unchanged.
func TestWithLeases(t *testing.T) {
	var f observed.Fold
	f.Lease("akash1a/1/1/1", "old")
	before := f.Usage()
	now := before.WithLeases(map[[2]string]bool{{"akash1a/1/1/1", "new"}: true, {"akash1a/1/1/1", "newer"}: true, {"akash1b/1/1/1", "new"}: true})
	for order, want := range map[string][2]uint64{"akash1a/1/1/1": {1, 2}, "akash1b/1/1/1": {0, 1}, "akash1c/1/1/1": {0, 0}} {
		if got := [2]uint64{before.Addresses(order), now.Addresses(order)}; got != want {
			t.Errorf("%s has %v addresses, want %v", order, got, want)
		}
	}
	if rest := now.Beyond("akash1a/1/1/1", inventory.Hold{Addresses: 3}); rest.Addresses != 1 {
		t.Errorf("beyond its leases it holds %+v", rest)
	}
}
