package reservation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// AddressesError reports that orders have reserved all free addresses.
type AddressesError struct {
	Lease lease.ID
	// By are the orders that have reserved addresses.
	By []string
}

func (e *AddressesError) Error() string {
	return fmt.Sprintf("no address is free for lease %s: the rest is reserved by %s; "+
		"kubectl akash-net order release gives up what a bid that was lost has reserved", e.Lease, first(3, e.By, ", "))
}

// ExitCode says how a command ends with the error.
func (*AddressesError) ExitCode() int { return report.ExitHeld }

// rivalPatience is how long a lease waits for a run that has claimed addresses and may give them back. After that it
// treats them as taken.
const rivalPatience = 25 * time.Second

// Leasing is a lease that has claimed addresses.
type Leasing struct {
	Lease lease.ID
	// Mark is the mark of its run.
	Mark string
	// Ledger is the ledger that it has claimed them with.
	Ledger ledger.Ledger
	// Waiting is called once with what the lease waits for.
	Waiting func(what string)
	// begun is when it first checked, seen when it first saw the claims of other runs, by their marks.
	begun time.Time
	seen  map[string]time.Time
}

// waitsFor reports whether the lease waits for the run of a mark, which may give back what it has claimed.
func (l Leasing) waitsFor(mark string) bool {
	if mark == "" || !capacity.Yields(mark, l.Mark) {
		return false
	}
	since, known := l.seen[mark]
	if !known {
		l.seen[mark] = time.Now()
	}
	return !known || time.Since(since) < rivalPatience
}

// LeaveAddresses checks, after a lease has claimed addresses, whether enough addresses are left for what the orders of
// other leases have reserved. It waits for orders that are about to reserve and for leases that may give back claims,
// and deletes expired reservations that are in the way. It returns an AddressesError if the lease has to give its
// claims back. A dry run does not wait.
func LeaveAddresses(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, l Leasing) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	const others = "commands that reserve or claim the remaining addresses, or have crashed"
	o := New(c, cfg)
	o.ledger = l.Ledger
	l.begun, l.seen = time.Now(), map[string]time.Time{}
	reportWaiting := sync.OnceFunc(func() { l.Waiting(others) })
	for pause := shortest; ; pause = min(pause*3/2, longest) {
		look, err := o.ledger.Look(ctx, false)
		if err != nil || !reservesAddresses(look, l.Lease.Order()) {
			return err
		}
		left, err := o.leavesAddresses(ctx, l)
		switch {
		case left || err != nil && !again(err):
			return err
		case err == nil && !c.Waits():
			return nil
		case time.Since(l.begun) > patience:
			return &TimeoutError{Undone: fmt.Sprintf("the addresses of lease %s are not claimed", l.Lease), After: patience, What: others}
		}
		if err == nil && pause > shortest {
			reportWaiting()
		}
		if err := sleep(ctx, wait.Jitter(pause, 1)); err != nil {
			return err
		}
	}
}

// reservesAddresses reports whether an order other than the lease's own has reserved addresses.
func reservesAddresses(look ledger.Look, order lease.Order) bool {
	_, others := reserved.Find(look.Reservations, order)
	return slices.ContainsFunc(others, func(c *reserved.Claim) bool { return c.Hold().Addresses > 0 })
}

// leavesAddresses checks once, and takes the step that the protocol decides on.
func (o *Orders) leavesAddresses(ctx context.Context, l Leasing) (left bool, err error) {
	pools, err := book.ReadPools(ctx, o.cluster)
	if err != nil {
		return false, err
	}
	look, err := o.ledger.Look(ctx, true)
	if err != nil {
		return false, err
	}
	room := addressRoom(o.cfg, pools, look.Leased)
	if room == nil {
		return true, nil
	}
	leased := capacity.Leased{Addresses: *room, Yielding: l.yielding(look.Leased)}
	now := o.cluster.Now()
	_, others := reserved.Find(look.Reservations, l.Lease.Order())
	usage := observed.Usage{}.WithLeases(leasesOf(look.Leased))
	var orders []capacity.Claim
	var by []string
	for _, c := range others {
		pieces := piecesOf(c, usage, now)
		orders = append(orders, pieces...)
		if slices.ContainsFunc(pieces, func(p capacity.Claim) bool { return p.Bound && !p.Over && p.Hold.Addresses > 0 }) {
			by = append(by, "order "+c.Order.String())
		}
	}
	switch step, names := capacity.Beside(leased, orders); step {
	case capacity.Rest:
		return true, nil
	case capacity.Evict:
		return false, o.remove(ctx, look.Reservations, names, now)
	case capacity.Refuse:
		return false, &AddressesError{Lease: l.Lease, By: by}
	default:
		return false, nil
	}
}

// yielding counts the IP endpoints that are claimed only by runs for which the lease waits.
func (l Leasing) yielding(claims []*state.Claim) uint64 {
	endpoints := map[string]bool{}
	for _, c := range claims {
		isLasting := func(p state.Part) bool { return !l.waitsFor(p.Run) }
		if c.Kind.HasPorts() && c.Held() && !slices.ContainsFunc(c.Parts, isLasting) {
			endpoints[c.SharingKey] = true
		}
	}
	return uint64(len(endpoints))
}
