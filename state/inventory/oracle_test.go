package inventory_test

import (
	"maps"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// oracle implements the algorithm of Akash's inventory a second time, from its description instead of the code under
// test and in numbers that cannot wrap. It records what is taken by names such as "n1 cpu", "class beta2", "ports",
// "ips".
type oracle struct {
	cluster   inventory.Cluster
	addresses *inventory.Addresses
	levels    inventory.Levels
	taken     map[string]*big.Int
}

// left returns what is left of an amount after taken[key].
func (o *oracle) left(a inventory.Amount, key string) *big.Int {
	all := big.NewInt(a.Allocatable)
	if a.Allocatable == -1 {
		all.SetInt64(math.MaxInt64)
	}
	all.Sub(all, big.NewInt(a.Allocated))
	if t := o.taken[key]; t != nil {
		all.Sub(all, t)
	}
	if all.Sign() < 0 {
		return new(big.Int)
	}
	return all
}

func (o *oracle) take(a inventory.Amount, key string, n uint64) bool {
	wanted := new(big.Int).SetUint64(n)
	if wanted.Cmp(o.left(a, key)) > 0 {
		return false
	}
	if o.taken[key] != nil {
		wanted.Add(wanted, o.taken[key])
	}
	o.taken[key] = wanted
	return true
}

// try runs a function and undoes what it has taken if it fails.
func (o *oracle) try(do func() bool) bool {
	before := maps.Clone(o.taken)
	if do() {
		return true
	}
	o.taken = before
	return false
}

func level(f float64, v uint64) uint64 {
	if f <= 1 || v == 0 {
		return v
	}
	return max(uint64(math.Round(float64(v)*(1/f))), 1)
}

// ask answers a request: the reason why it does not fit, or the nodes and the model of each resource.
func (o *oracle) ask(g inventory.Group, reserves bool) (inventory.Reason, []string) {
	sequences, ports := map[uint32]bool{}, uint64(0)
	for _, r := range g.Resources {
		for _, e := range r.Endpoints {
			switch e.Kind {
			case "LEASED_IP":
				sequences[e.Sequence] = true
			case "RANDOM_PORT":
				ports++
			}
		}
	}
	ips := uint64(len(sequences))
	if reserves && ips > 0 {
		if o.addresses == nil {
			return "no-leased-ips", nil
		}
		free := new(big.Int).SetUint64(o.addresses.Total)
		free.Sub(free, new(big.Int).SetUint64(o.addresses.InUse))
		if t := o.taken["ips"]; t != nil {
			free.Sub(free, t)
		}
		if free.Cmp(new(big.Int).SetUint64(ips)) < 0 {
			return "insufficient-ips", nil
		}
	}
	places := make([]string, len(g.Resources))
	if !o.try(func() bool {
		if o.cluster.NodePorts != nil && !o.take(*o.cluster.NodePorts, "ports", ports) {
			return false
		}
		for i := len(g.Resources) - 1; i >= 0; i-- {
			ok := false
			if places[i], ok = o.place(g.Resources[i]); !ok {
				return false
			}
		}
		return true
	}) {
		return "insufficient-capacity", nil
	}
	return "", places
}

func (o *oracle) place(r inventory.Resource) (string, bool) {
	placed, wishes, model := []string{}, r.GPU.Attributes, ""
	for _, n := range o.cluster.Nodes {
		for uint32(len(placed)) < r.Count {
			chosen, everywhere := "", false
			if !o.try(func() bool { var ok bool; chosen, ok, everywhere = o.replica(n, r, wishes); return ok }) {
				if everywhere {
					return "", false
				}
				break
			}
			placed = append(placed, n.Name)
			if chosen != "" {
				wishes, model = []string{chosen}, chosen
			}
		}
	}
	return strings.Join(placed, " ") + " " + model, uint32(len(placed)) == r.Count && len(o.cluster.Nodes) > 0
}

func (o *oracle) replica(n inventory.Node, r inventory.Resource, wishes []string) (chosen string, ok, everywhere bool) {
	if !o.take(n.CPU, n.Name+" cpu", level(o.levels.CPU, r.CPU)) {
		return "", false, false
	}
	if units := level(o.levels.GPU, r.GPU.Units); units > 0 {
		if o.left(n.GPU, n.Name+" gpu").Sign() == 0 {
			return "", false, false
		}
		if chosen = cardFor(n.Cards, units, wishes); chosen == "" || !o.take(n.GPU, n.Name+" gpu", units) {
			return "", false, false
		}
	}
	if !o.take(n.Memory, n.Name+" memory", level(o.levels.Memory, r.Memory)) {
		return "", false, false
	}
	for _, v := range r.Storage {
		size, class := level(o.levels.Storage, v.Size), v.Attributes.Class
		switch {
		case v.Attributes.Persistent != "true" && class == "ram":
			ok = o.take(n.Memory, n.Name+" memory", size)
		case v.Attributes.Persistent != "true":
			ok = o.take(n.EphemeralStorage, n.Name+" disk", size)
		case class == "" || class == "ram":
			return "", false, true
		case !strings.Contains(" "+strings.Join(n.StorageClasses, " ")+" ", " "+class+" "):
			return "", false, false
		default:
			for _, s := range o.cluster.Storage {
				if s.Class == class {
					ok, everywhere = o.take(s.Amount, "class "+class, size), true
					break
				}
			}
			if !ok || !everywhere {
				return "", false, true
			}
		}
		if !ok {
			return "", false, false
		}
		ok, everywhere = false, false
	}
	return chosen, true, false
}

// cardFor returns the attribute of the model of the n-th matching GPU. It is empty if there are fewer, or if the
// request cannot be parsed.
func cardFor(cards []inventory.Card, n uint64, wishes []string) string {
	wanted := map[string][2]string{} // vendor/model: memory and interface
	for _, a := range wishes {
		p := strings.Split(a, "/")
		if len(p) < 4 || len(p)%2 == 1 || p[0] != "vendor" || p[2] != "model" || p[1] != "nvidia" && p[1] != "amd" {
			return ""
		}
		var has [2]string
		for i := 4; i < len(p); i += 2 {
			switch p[i] {
			case "ram":
				q, err := resource.ParseQuantity(p[i+1])
				if err != nil || !strings.HasSuffix(p[i+1], "i") {
					return ""
				}
				has[0] = big.NewInt(q.Value()/(1<<30)).String() + "Gi"
			case "interface":
				if has[1] = p[i+1]; has[1] != "pcie" && has[1] != "sxm" {
					return ""
				}
			}
		}
		wanted[p[1]+"/"+p[3]] = has
	}
	for _, c := range cards {
		has, ok := wanted[c.Vendor+"/"+c.Name]
		if !ok {
			if has, ok = wanted[c.Vendor+"/*"]; !ok {
				continue
			}
		}
		bus := strings.ToLower(c.Interface)
		if strings.HasPrefix(bus, "sxm") {
			bus = "sxm"
		}
		if has[0] != "" && has[0] != c.MemorySize || has[1] != "" && has[1] != bus {
			continue
		}
		if n--; n == 0 {
			out := "vendor/" + c.Vendor + "/model/" + c.Name
			if has[0] != "" {
				out += "/ram/" + has[0]
			}
			if has[1] != "" {
				out += "/interface/" + has[1]
			}
			return out
		}
	}
	return ""
}

// For any reservations and requests, the inventory gives the oracle's answer, replica by replica.
func TestTheInventoryIsAsDescribed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]float64{0, 1, 1.5, 2, 100})
		o := &oracle{cluster: drawCluster(t), taken: map[string]*big.Int{},
			levels: inventory.Levels{CPU: f.Draw(t, "cpu"), GPU: f.Draw(t, "gpu"), Memory: f.Draw(t, "memory"), Storage: f.Draw(t, "storage")}}
		if rapid.Bool().Draw(t, "addresses") {
			few := rapid.SampledFrom([]uint64{0, 1, 2, 3, 5, math.MaxUint64})
			o.addresses = &inventory.Addresses{Total: few.Draw(t, "total"), InUse: few.Draw(t, "in use")}
		}
		inv := inventory.New(o.cluster, o.addresses, o.levels)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			g, reserves := drawGroup(t), rapid.Bool().Draw(t, "asks")
			r := inventory.Reservation{State: rapid.SampledFrom([]inventory.ReservationState{inventory.Pending, inventory.Active}).Draw(t, "state"),
				AddressesConfirmed: rapid.Bool().Draw(t, "confirmed"), Group: g}
			if !reserves && r.State == inventory.Active {
				inv.Count(r)
				o.lease(g, !r.AddressesConfirmed)
				continue
			}
			want, places := o.ask(g, reserves)
			var grant inventory.Grant
			var refusal *inventory.Refusal
			if reserves {
				grant, refusal = inv.Reserve(g)
			} else {
				grant, refusal = inv.Count(r)
			}
			o.lease(g, reserves && want == "" || !reserves && !r.AddressesConfirmed)
			got, gotPlaces := inventory.Reason(""), []string(nil)
			if refusal != nil {
				got = refusal.Reason
			} else {
				gotPlaces = granted(grant)
			}
			if got != want || refusal == nil && !cmp.Equal(places, gotPlaces) {
				t.Fatalf("%+v: got %q %q (%v), want %q %q", g, got, gotPlaces, refusal, want, places)
			}
		}
	})
}

// lease records the addresses of a group.
func (o *oracle) lease(g inventory.Group, counts bool) {
	if counts {
		sum := new(big.Int).SetUint64(g.Addresses())
		if t := o.taken["ips"]; t != nil {
			sum.Add(sum, t)
		}
		o.taken["ips"] = sum
	}
}

func granted(g inventory.Grant) []string {
	places := make([]string, len(g.Resources))
	for i, r := range g.Resources {
		places[i] = strings.Join(r.Nodes, " ") + " "
		if r.Params != nil {
			places[i] += strings.Join(r.GPUAttributes, " ")
		}
	}
	return places
}
