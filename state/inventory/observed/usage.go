package observed

import (
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Usage is what leases use, by order.
type Usage struct {
	used   map[string]map[string]inventory.Amounts
	stored map[string]map[string]uint64
	ports  map[string]uint64
	leased map[string]map[string]bool
}

// Usage computes what leases use.
func (f *Fold) Usage() Usage {
	u := Usage{
		used: map[string]map[string]inventory.Amounts{}, stored: map[string]map[string]uint64{},
		ports: map[string]uint64{}, leased: f.leased,
	}
	for k, a := range f.used {
		if order, ok := f.orders[k.namespace]; ok {
			inner(u.used, order)[k.of] = u.used[order][k.of].Plus(a)
		}
	}
	for k, size := range f.stored {
		if order, ok := f.orders[k.namespace]; ok {
			inner(u.stored, order)[k.of] = inventory.Sum(u.stored[order][k.of], size)
		}
	}
	for namespace, ports := range f.ports {
		if order, ok := f.orders[namespace]; ok {
			u.ports[order] += f.inRange(ports)
		}
	}
	return u
}

// WithLeases returns the usage with other IP endpoints that leases have claimed, as pairs of an order and a sharing key
// (see Fold.Lease).
func (u Usage) WithLeases(leases map[[2]string]bool) Usage {
	u.leased = map[string]map[string]bool{}
	for l := range leases {
		inner(u.leased, l[0])[l[1]] = true
	}
	return u
}

// Addresses returns how many addresses the lease of an order has: one per IP endpoint.
func (u Usage) Addresses(order string) uint64 { return uint64(len(u.leased[order])) }

// Beyond returns what the reservation of an order holds beyond what its lease uses.
func (u Usage) Beyond(order string, h inventory.Hold) inventory.Hold {
	rest := h.Minus(inventory.Hold{Storage: u.stored[order], Addresses: u.Addresses(order), NodePorts: u.ports[order]})
	rest.Nodes = beyond(h.Nodes, u.used[order])
	rest.Cards = nil
	for node := range h.Cards {
		// A pod requests GPUs of a vendor and does not say which: those that its reservation has chosen stay chosen.
		limit := inventory.Sum(rest.Nodes[node].GPU, u.used[order][node].GPU)
		if cards := h.CardsWithin(node, limit); cards != nil {
			set(&rest.Cards, node, cards)
		}
	}
	return rest
}

func inner[V any](m map[string]map[string]V, key string) map[string]V {
	if m[key] == nil {
		m[key] = map[string]V{}
	}
	return m[key]
}

// beyond returns what a reservation holds beyond what the pods of its lease request. Together the two are the larger of
// both. Pods may run on other nodes than the reserved ones: what they request there is subtracted from the reserved
// nodes, starting with the last.
func beyond(reserved, used map[string]inventory.Amounts) map[string]inventory.Amounts {
	left := inventory.Hold{Nodes: reserved}.Total().Minus(inventory.Hold{Nodes: used}.Total())
	out := map[string]inventory.Amounts{}
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		rest := reserved[name].Minus(used[name]).Least(left)
		left = left.Minus(rest)
		out[name] = rest
	}
	return out
}
