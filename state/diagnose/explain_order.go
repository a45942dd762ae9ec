package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// maxNodesNamed limits the nodes of a reservation that are named. The others are counted.
const maxNodesNamed = 20

// OrderFacts is the input of the explanation of an order.
type OrderFacts struct {
	Order lease.Order
	// Claim is the reservation of the order, or nil.
	Claim *reserved.Claim
	// Beyond returns the part of a hold that the lease of the order does not use. It is nil if that could not be read;
	// Unread says why.
	Beyond func(inventory.Hold) inventory.Hold
	Unread string
	// LedgerNamespace is the namespace of the claims. Now is by the API server's clock.
	LedgerNamespace string
	Now             time.Time
}

// Explain explains what the order has reserved.
func (f OrderFacts) Explain() Explanation {
	x := Explanation{Subject: "order/" + f.Order.String()}
	c := f.Claim
	if c == nil {
		x.Summary, x.Missing = fmt.Sprintf("order %s has reserved nothing", f.Order), true
		return x
	}
	row := view.NewOrderRow(c, f.Now)
	x.Summary = f.summary(row)
	x.fact("It stands since %s: lease.coordination.k8s.io/%s in namespace %s%s.",
		state.Stamp(c.Created), c.ObjectName, f.LedgerNamespace, lastBy(row.By))
	switch row.State {
	case view.StateUnreadable:
		f.addUnreadable(&x, "It takes no room.")
		return x
	case view.StateTerminating:
		x.fact("It takes no room any more. The order can reserve anew when it is gone.")
		if len(c.Finalizers) > 0 {
			x.fact("It is kept by finalizers, until who put them there removes them: %s.", strings.Join(c.Finalizers, ", "))
			x.next("kubectl -n %s edit lease.coordination.k8s.io/%s", f.LedgerNamespace, c.ObjectName)
		}
		return x
	}
	if c.Unreadable != "" {
		f.addUnreadable(&x, "What is bound can be read, and counts.")
	}
	f.addNodes(&x, c.Part().Hold)
	f.addEnd(&x, row)
	f.addMove(&x)
	f.addUse(&x)
	return x
}

// addUnreadable adds why the reservation cannot be read, what of it counts, and whom that concerns.
func (f OrderFacts) addUnreadable(x *Explanation, counts string) {
	x.fact("It cannot be understood: %s. %s Its order can reserve nothing else until it is deleted; other orders can.", f.Claim.Unreadable, counts)
	x.next("look who wrote it, and delete it where nothing rests on it: kubectl akash-net repair %s/%s", state.UnreadableClaim, f.Claim.ObjectName)
}

// summary describes the reservation in one sentence.
func (f OrderFacts) summary(row view.OrderRow) string {
	holds := "nothing"
	if part := f.Claim.Part(); part != nil {
		holds = cmp.Or(part.Hold.Words(part.Models()), holds)
	}
	switch row.State {
	case view.StateUnreadable:
		return fmt.Sprintf("the reservation of order %s cannot be read", f.Order)
	case view.StateTerminating:
		return fmt.Sprintf("the reservation of order %s is being deleted", f.Order)
	case view.StatePending:
		return fmt.Sprintf("a run reserves %s for order %s", holds, f.Order)
	case view.StateExpired:
		return fmt.Sprintf("what order %s has reserved is over: %s", f.Order, holds)
	case view.StateLeased:
		return fmt.Sprintf("order %s has reserved %s, for its lease at %s", f.Order, holds, row.Provider)
	}
	return fmt.Sprintf("order %s has reserved %s, for a bid", f.Order, holds)
}

func lastBy(by string) string {
	if by == "" {
		return ""
	}
	return ", last written by " + by
}

// addNodes adds what the hold takes of each node.
func (f OrderFacts) addNodes(x *Explanation, h inventory.Hold) {
	names := slices.Sorted(maps.Keys(h.Nodes))
	for _, name := range names[:min(len(names), maxNodesNamed)] {
		one := inventory.Hold{Nodes: map[string]inventory.Amounts{name: h.Nodes[name]}}
		x.fact("Node %s: %s.", name, cmp.Or(one.Words(nil), "nothing"))
	}
	if more := len(names) - maxNodesNamed; more > 0 {
		x.fact("%d more nodes.", more)
	}
}

// addEnd adds when the reservation ends, and how to end or keep it.
func (f OrderFacts) addEnd(x *Explanation, row view.OrderRow) {
	unreserve := "kubectl akash-net order release " + f.Order.String()
	switch row.State {
	case view.StatePending:
		x.fact("Pending: its run binds it once it fits together with all others. Expires at %s unless the run renews it.", row.Expires)
		return
	case view.StateExpired:
		x.fact("It ended at %s: whoever needs the room removes it.", row.Expires)
		x.next("%s", unreserve)
		return
	case view.StateLeased:
		x.next("the lease gives it up with what it runs: kubectl akash-net release %s", f.Order.Group())
	default:
		x.next("where the bid is lost: %s", unreserve)
		x.next("where it is won: kubectl akash-net apply -f FILE --lease %s/PROVIDER --workloads", f.Order)
	}
	if row.Expires != "" {
		x.fact("It ends at %s.", row.Expires)
		return
	}
	x.fact("It has no end: it stands until it is given up.")
}

// addMove adds what the reservation is being moved to.
func (f OrderFacts) addMove(x *Explanation) {
	p := f.Claim.Pending
	if f.Claim.Bound == nil || p == nil {
		return
	}
	what, by := cmp.Or(p.Hold.Words(p.Models()), "nothing"), cmp.Or(p.By, "nobody that is known")
	if p.Over(f.Now) {
		x.fact("A run of %s has not moved it to %s: what it announced ended at %s.", by, what, p.Expires)
		return
	}
	x.fact("A run of %s moves it to %s. Until that is bound the larger of both is taken; the announcement stands until %s.",
		by, what, p.Expires)
}

// addUse adds what the lease uses of the reservation.
func (f OrderFacts) addUse(x *Explanation) {
	hold := f.Claim.Part().Hold
	switch {
	case f.Beyond == nil:
		x.fact("What its lease uses of it could not be read: %s.", strings.TrimSuffix(f.Unread, "."))
		return
	case f.Claim.Bound == nil:
		return
	}
	rest := f.Beyond(hold).Words(nil)
	switch used := hold.Minus(f.Beyond(hold)).Words(nil); {
	case used == "":
		x.fact("Nothing of it is in use.")
	case rest == "":
		x.fact("All of it is in use by the lease's pods, volumes and addresses.")
	default:
		x.fact("In use by the lease's pods, volumes and addresses: %s. Kept for it: %s.", used, rest)
	}
}

// IP explains an address.
func (w *World) IP(a netip.Addr) Explanation {
	x := Explanation{Subject: a.String()}
	claim := w.claim(state.AddressName(a))
	rows := w.ips[a]
	others := claim.Squatters(w.AddressUses[a])
	nodes := slices.DeleteFunc(slices.Clone(w.Contents.NodeUses), func(u state.Use) bool { return u.Address != a })
	pool, inPool := w.Config.PoolFor(a)
	switch {
	case claim != nil:
		x.Summary = fmt.Sprintf("%s is held by %s%s", a, state.Holders(claim), verdictOf(rows, addressStanding))
		x.fact("Claimed since %s for IP endpoint %s, by %s.", state.Stamp(claim.Created), endpointOf(claim.SharingKey), managers(claim))
	case len(rows)+len(others) > 0:
		x.Summary = fmt.Sprintf("%s has no claim, but a Service uses it%s", a, verdictOf(rows, addressStanding))
	case inPool && len(nodes) > 0:
		x.Summary = a.String() + " is a node's: no lease gets it"
	case inPool:
		x.Summary = a.String() + " is free"
	default:
		x.Summary, x.Missing = a.String()+" is none of the provider's addresses", true
		x.next("kubectl akash-net state pools")
	}
	switch served := w.pools.Of(a); {
	case served != nil && inPool && served.Name != pool:
		x.fact("Pool %s serves it. By ip.ranges it would be in pool %s: an address stays in the pool that has it.", served.Name, pool)
	case served != nil:
		x.fact("Pool %s serves it.", served.Name)
	case inPool:
		x.fact("It belongs to pool %s, which does not have it yet: apply adds it for the lease.", pool)
	}
	for _, u := range nodes {
		x.fact("It is an address of %s: %s.", u, state.NodeAddressMeans)
	}
	if len(state.InRanges(w.Config, nodes)) > 0 {
		x.next("kubectl akash-net config edit (%s)", state.ExcludeAddress(a))
	}
	x.addClaimTroubles(w, claim)
	for _, r := range rows {
		x.addIPRow(r)
	}
	for _, u := range others {
		x.addSquatter(claim, u)
	}
	return x
}

// claimedEndpoint explains a claim on an IP endpoint whose addresses MetalLB chooses.
func (w *World) claimedEndpoint(claim *state.Claim) Explanation {
	x := Explanation{Subject: claim.Thing}
	x.fact("It is held by %s.", state.Holders(claim))
	x.addClaimed(w, claim)
	x.fact("MetalLB chooses its addresses, from pool %s (ip.mode: pool).", w.Config.IP.Pool)
	x.addClaimTroubles(w, claim)
	for _, r := range w.Book.IPs {
		if r.SharingKey == claim.SharingKey {
			x.addIPRow(r)
		}
	}
	return x
}

func (x *Explanation) addIPRow(r view.IPRow) {
	port := portOf(r)
	switch r.State {
	case view.StateWithheld:
		x.fact("%s is withheld from lease %s: %s.", port, r.Lease, r.Message)
		endpoint := endpointOf(r.SharingKey)
		x.next("two deployments of an owner that name an IP endpoint alike share its address, and each port has one holder; "+
			"rename the endpoint (%s), or: kubectl akash-net transfer %s --to %s", endpoint, cmp.Or(addressOf(r), endpoint), r.Lease)
		return
	case view.StateActive:
		x.fact("%s is routed: MetalLB granted %s to Service %s/%s of lease %s.", port, r.Address, r.Namespace, r.Object, r.Lease)
		x.addEndpoints(r.Endpoints, r.Namespace, r.Object, r.Port)
	case view.StatePending:
		x.fact("%s is pending: MetalLB has not granted it to Service %s/%s of lease %s.", port, r.Namespace, r.Object, r.Lease)
		x.next("kubectl -n %s describe service %s (MetalLB's events say why)", r.Namespace, r.Object)
		x.addEndpoints(r.Endpoints, r.Namespace, r.Object, r.Port)
	case view.StateTransferring:
		x.fact("%s is held by lease %s; %s.", port, r.Lease, r.Message)
		x.next("the Services of the new lease are made with: kubectl akash-net apply -f FILE")
		return
	case view.StateReserved:
		x.fact("%s is held by lease %s, and no Service of it uses it.", port, r.Lease)
	}
	if r.Message != "" && r.State != view.StateClaiming && r.State != view.StateUnreadable {
		x.fact("%s.", r.Message)
	}
}

// portOf names the port of a row.
func portOf(r view.IPRow) string {
	if r.Port == 0 {
		return "the address"
	}
	return fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
}

func addressOf(r view.IPRow) string {
	if r.Address.IsValid() {
		return r.Address.String()
	}
	return ""
}

func endpointOf(sharingKey string) string {
	_, endpoint, ok := strings.Cut(sharingKey, "-ip-")
	if !ok {
		return sharingKey
	}
	return endpoint
}

// addSquatter adds a Service that uses the address and does not belong to its holder.
func (x *Explanation) addSquatter(c *state.Claim, u state.Use) {
	if c == nil {
		x.fact("%s%s.", u.Takes("it"), leaseOf(u))
		return
	}
	x.fact("%s%s: it is not the holder's.", u.Takes("it"), leaseOf(u))
	x.next("%s (take the address out of it)", u.Edit())
}
