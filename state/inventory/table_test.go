package inventory_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// The rules of the inventory, one by one: testdata has a block for each, which begins with an empty cluster.
// `go test ./state/inventory -rewrite` writes what the inventory answers now.
//
//	node NAME cpu=4[:1] memory=8Gi disk=50Gi gpu=2 card=nvidia/a100/80Gi/SXM4 class=beta2
//	storage CLASS 100Gi[:20Gi]
//	levels cpu=2 gpu=1 memory=1.5 storage=1
//	addresses TOTAL IN-USE
//	ports TOTAL[:IN-USE]                 node ports; without the line nobody says how many there are
//	pending|active|confirmed RESOURCES   an earlier reservation; confirmed: active, its addresses in use
//	want RESOURCES                       a request
//	room                                 what is left
//
// An amount after a colon is given out already. Resources are separated by a semicolon, each with
// [id=1] [count=1] cpu=1 memory=1Gi gpu=1 attr=vendor/nvidia/model/* disk=1Gi ram=1Gi class=CLASS/1Gi
// volume=SIZE/CLASS/PERSISTENT ip=1.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			q := &question{t: t}
			for line := range strings.Lines(d.Input) {
				q.obey(strings.Fields(line))
			}
			return q.out.String()
		})
	})
}

type question struct {
	t         *testing.T
	cluster   inventory.Cluster
	addresses *inventory.Addresses
	levels    inventory.Levels
	inv       *inventory.Inventory
	out       strings.Builder
}

func (q *question) obey(words []string) {
	if len(words) == 0 {
		return
	}
	args := words[1:]
	switch words[0] {
	case "node":
		q.cluster.Nodes = append(q.cluster.Nodes, q.node(args))
	case "storage":
		q.cluster.Storage = append(q.cluster.Storage, inventory.Storage{Class: args[0], Amount: q.amount(args[1], 1)})
	case "ports":
		ports := q.amount(args[0], 1)
		q.cluster.NodePorts = &ports
	case "levels":
		for _, a := range args {
			key, value, _ := strings.Cut(a, "=")
			f, err := strconv.ParseFloat(value, 64)
			q.check(err)
			*map[string]*float64{"cpu": &q.levels.CPU, "gpu": &q.levels.GPU, "memory": &q.levels.Memory, "storage": &q.levels.Storage}[key] = f
		}
	case "addresses":
		q.addresses = &inventory.Addresses{Total: q.number(args[0]), InUse: q.number(args[1])}
	case "pending", "active", "confirmed":
		r := inventory.Reservation{State: inventory.Pending, Group: q.group(args)}
		if words[0] != "pending" {
			r.State, r.AddressesConfirmed = inventory.Active, words[0] == "confirmed"
		}
		if _, refusal := q.inventory().Count(r); refusal != nil {
			fmt.Fprintf(&q.out, "%s, does not fit any more: %s\n", words[0], refusal)
		}
	case "want":
		q.want(q.group(args))
	case "room":
		q.room()
	default:
		q.t.Fatalf("unknown word %s", words[0])
	}
}

func (q *question) inventory() *inventory.Inventory {
	if q.inv == nil {
		q.inv = inventory.New(q.cluster, q.addresses, q.levels)
	}
	return q.inv
}

func (q *question) want(g inventory.Group) {
	grant, refusal := q.inventory().Reserve(g)
	if refusal != nil {
		fmt.Fprintf(&q.out, "%s: %s\n", refusal.Reason, refusal)
		return
	}
	q.out.WriteString("fits")
	if grant.Addresses > 0 {
		fmt.Fprintf(&q.out, ", %d addresses", grant.Addresses)
	}
	placement, params := grant.Placement(), grant.SchedulerParams()
	for _, id := range slices.Sorted(maps.Keys(placement)) {
		fmt.Fprintf(&q.out, "; %d on %s", id, strings.Join(placement[id], " "))
		if p := params[id]; p != nil {
			fmt.Fprintf(&q.out, " with %s/%s, runtime class %q", p.Resources.GPU.Vendor, p.Resources.GPU.Model, p.RuntimeClass)
		}
	}
	for _, r := range grant.Resources {
		if len(r.GPUAttributes) > 0 && r.GPUUnits > 0 {
			fmt.Fprintf(&q.out, "; %d has %s", r.ID, strings.Join(r.GPUAttributes, " "))
		}
	}
	q.out.WriteString("\n")
}

func (q *question) room() {
	room := q.inventory().Room()
	tell := func(what string, all, left inventory.Amounts) {
		fmt.Fprintf(&q.out, "%s cpu %d/%d memory %d/%d disk %d/%d gpu %d/%d", what, left.CPU, all.CPU, left.Memory, all.Memory,
			left.EphemeralStorage, all.EphemeralStorage, left.GPU, all.GPU)
	}
	for _, n := range room.Nodes {
		tell(n.Name, n.Allocatable, n.Available)
		q.out.WriteString("\n")
	}
	tell("all", room.Allocatable.Amounts, room.Available.Amounts)
	for _, class := range slices.Sorted(maps.Keys(room.Available.Storage)) {
		fmt.Fprintf(&q.out, " %s %d/%d", class, room.Available.Storage[class], room.Allocatable.Storage[class])
	}
	a := room.Addresses
	fmt.Fprintf(&q.out, "\naddresses: capacity %d, allocated %d, available %d, of it reserved %d\n%d pending, %d active\n",
		a.Capacity, a.Allocated, a.Available, room.Reserved, room.Pending, room.Active)
}

func (q *question) node(args []string) inventory.Node {
	n := inventory.Node{Name: args[0]}
	for _, a := range args[1:] {
		switch key, value, _ := strings.Cut(a, "="); key {
		case "cpu":
			n.CPU = q.amount(value, 1000)
		case "memory":
			n.Memory = q.amount(value, 1)
		case "disk":
			n.EphemeralStorage = q.amount(value, 1)
		case "gpu":
			n.GPU = q.amount(value, 1)
		case "class":
			n.StorageClasses = append(n.StorageClasses, value)
		case "card":
			c := strings.Split(value, "/")
			n.Cards = append(n.Cards, inventory.Card{Vendor: c[0], Name: c[1], MemorySize: c[2], Interface: c[3]})
		default:
			q.t.Fatalf("unknown key %s", key)
		}
	}
	return n
}

func (q *question) group(args []string) inventory.Group {
	g := inventory.Group{Name: "g"}
	if len(args) == 0 {
		return g
	}
	for n, text := range strings.Split(strings.Join(args, " "), ";") {
		r := inventory.Resource{ID: uint32(n + 1), Count: 1}
		for _, a := range strings.Fields(text) {
			q.wish(&r, a)
		}
		g.Resources = append(g.Resources, r)
	}
	return g
}

func (q *question) wish(r *inventory.Resource, a string) {
	key, value, _ := strings.Cut(a, "=")
	volume := func(size string, a inventory.VolumeAttributes) {
		r.Storage = append(r.Storage, inventory.Volume{Name: fmt.Sprintf("v%d", len(r.Storage)), Size: q.number(size), Attributes: a})
	}
	switch key {
	case "id":
		r.ID = uint32(q.number(value))
	case "count":
		r.Count = uint32(q.number(value))
	case "cpu":
		r.CPU = uint64(q.amount(value, 1000).Allocatable)
	case "memory":
		r.Memory = q.number(value)
	case "gpu":
		r.GPU.Units = q.number(value)
	case "attr":
		r.GPU.Attributes = append(r.GPU.Attributes, value)
	case "disk":
		volume(value, inventory.VolumeAttributes{})
	case "ram":
		volume(value, inventory.VolumeAttributes{Class: "ram", Persistent: "false"})
	case "class":
		class, size, _ := strings.Cut(value, "/")
		volume(size, inventory.VolumeAttributes{Class: class, Persistent: "true"})
	case "volume":
		v := strings.Split(value, "/")
		volume(v[0], inventory.VolumeAttributes{Class: v[1], Persistent: v[2]})
	case "ip":
		r.Endpoints = append(r.Endpoints, inventory.Endpoint{Kind: inventory.LeasedIP, Sequence: uint32(q.number(value))})
	case "port":
		r.Endpoints = append(r.Endpoints, inventory.Endpoint{Kind: inventory.EndpointKind(value)})
	default:
		q.t.Fatalf("unknown key %s", key)
	}
}

// amount parses ALLOCATABLE[:ALLOCATED] in units of the given number of base units.
func (q *question) amount(s string, unit int64) inventory.Amount {
	all, given, _ := strings.Cut(s, ":")
	read := func(s string) int64 {
		if s == "-1" {
			return -1
		}
		v, err := resource.ParseQuantity(s)
		q.check(err)
		if unit == 1000 {
			return v.MilliValue()
		}
		return v.Value()
	}
	a := inventory.Amount{Allocatable: read(all)}
	if given != "" {
		a.Allocated = read(given)
	}
	return a
}

func (q *question) number(s string) uint64 {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n
	}
	return uint64(q.amount(s, 1).Allocatable)
}

func (q *question) check(err error) {
	q.t.Helper()
	if err != nil {
		q.t.Fatal(err)
	}
}
