package reservation

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Reserve reserves everything that a resource group asks for, for an order, or returns a RefusedError. An order that
// has reserved the same group keeps it, with the new end, if the cluster still has room for it. One that has reserved another
// group, or whose nodes or classes are gone, keeps what it has until the new one is bound.
func (o *Orders) Reserve(
	ctx context.Context, order lease.Order, group inventory.Group, opts Options,
) (*reserved.Claim, Outcome, error) {
	r := &run{Orders: o, order: order, group: group, asked: reserved.Asked(group), opts: opts, begun: time.Now()}
	err := r.do(ctx)
	if err != nil && r.announced && !cluster.IsAway(err) {
		r.withdrawPending(ctx)
	}
	return r.claim, r.outcome, err
}

// run is the work on one order's reservation.
type run struct {
	*Orders
	order lease.Order
	group inventory.Group
	// asked identifies the group.
	asked string
	opts  Options
	begun time.Time

	// room is the capacity apart from reservations and from what the order's own lease uses, inUse the same with that, usage what
	// leases use, pools what is known about addresses; they were read at readAt. Which addresses are claimed is read with the
	// reservations in each step.
	room   capacity.Room
	inUse  capacity.Room
	usage  observed.Usage
	pools  view.Contents
	want   inventory.Group
	readAt time.Time
	// announced is true once a claim of the run may be pending.
	announced bool
	// waits is what the run waits for; empty if it can go on.
	waits string
	// reported is true once the wait was reported.
	reported bool
	// moves is true if the new claim replaces one for another group.
	moves   bool
	claim   *reserved.Claim
	outcome Outcome
}

// do takes steps until the claim is bound.
func (r *run) do(ctx context.Context) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	pause := shortest
	for {
		done, err := r.step(ctx)
		switch {
		case done || err != nil && !again(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(r.begun) > patience:
			return r.timeout(err)
		case err == nil && r.waits == "":
			pause = shortest
			continue
		}
		if err := sleep(ctx, wait.Jitter(pause, 1)); err != nil {
			return err
		}
		pause = min(pause*3/2, longest)
	}
}

func (r *run) timeout(err error) error {
	what := r.waits
	if err != nil {
		what = err.Error()
	}
	return &TimeoutError{Undone: fmt.Sprintf("order %s is not reserved", r.order), After: patience, What: what}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// step lists all reservations and takes the next step.
func (r *run) step(ctx context.Context) (done bool, err error) {
	if err := r.readRoom(ctx); err != nil {
		return false, err
	}
	r.waits = ""
	look, err := r.ledger.Look(ctx, r.group.Addresses() > 0)
	if err != nil {
		return false, err
	}
	all := look.Reservations
	r.addLeased(look.Leased)
	now := r.cluster.Now()
	own, rest := reserved.Find(all, r.order)
	var others []capacity.Claim
	for _, c := range rest {
		others = append(others, piecesOf(c, r.usage, now)...)
	}
	same := own != nil && own.Bound != nil && own.Bound.Asked == r.asked
	switch {
	case own != nil && own.Deleting:
		return r.wait("the order's former reservation to be gone, which is being deleted")
	case own != nil && own.Unreadable != "":
		return false, &UnreadableError{Namespace: r.ledger.Objects.Namespace, Name: own.ObjectName, Why: own.Unreadable}
	case own != nil && own.Bound != nil && own.Bound.Run != r.nonce && own.Bound.Expires == "" && r.opts.Expires > 0:
		return false, &report.EndlessError{Holder: "order " + r.order.String(), Things: []string{"what it has reserved"}}
	case same && (own.Bound.Run == r.nonce || r.inUse.Stands(r.usage.Beyond(r.order.String(), own.Bound.Hold), others)):
		err := r.keep(ctx, own, now)
		return err == nil, err
	case own != nil && own.Pending != nil && own.Pending.Asked != r.asked && !own.Pending.Lapsed(now):
		return r.wait("another run, which reserves something else for the order: " + own.Pending.By)
	case look.Closing:
		return false, &ClosingError{Namespace: r.ledger.Objects.Namespace}
	}
	question := capacity.Reserving{Name: reserved.Name(r.order), Want: r.want, Room: r.room, Own: own.Announced(r.asked, now), Others: others}
	return r.act(ctx, question, own, all, now)
}

// act takes the step that the protocol decides on.
func (r *run) act(
	ctx context.Context, question capacity.Reserving, own *reserved.Claim, all []*reserved.Claim, now time.Time,
) (done bool, err error) {
	switch next := capacity.Decide(question); next.Step {
	case capacity.Announce:
		return false, r.announce(ctx, own, r.part(next.Grant, next.Hold, now))
	case capacity.Bind:
		return r.bind(ctx, own, now)
	case capacity.Evict:
		return false, r.evict(ctx, question, all, next.Evict, now)
	case capacity.Withdraw:
		return false, r.withdraw(ctx, own)
	case capacity.Refuse:
		return false, &RefusedError{Order: r.order, Refusal: next.Refusal, Stays: own != nil && own.Bound != nil, Lost: own != nil && own.Bound != nil && own.Bound.Asked == r.asked}
	case capacity.Wait, capacity.Rest:
	}
	if question.Own != nil && own.Pending.Run == r.nonce && own.Pending.Over(now.Add(pendingFor/2)) { // renew it while the run waits
		part := *own.Pending
		part.Expires = end(now, pendingFor)
		return false, r.announce(ctx, own, &part)
	}
	return r.wait("other commands that reserve now, or have crashed")
}

// readRoom reads the capacity, unless what was read is fresh enough.
func (r *run) readRoom(ctx context.Context) error {
	if !r.readAt.IsZero() && (r.waits == "" || time.Since(r.readAt) < roomLasts) {
		return nil
	}
	var fold observed.Fold
	pools, err := readCluster(ctx, r.cluster, r.cfg, &fold, r.group.Addresses() > 0)
	if err != nil {
		return err
	}
	total := fold.CapacityFor(r.order.String())
	r.pools, r.usage, r.want, r.readAt = pools, fold.Usage(), total.Asked(r.group), time.Now()
	r.room = capacity.Room{Cluster: total.Cluster(), Levels: levels(r.cfg)}
	r.inUse = capacity.Room{Cluster: fold.Capacity().Cluster()}
	return nil
}

// addLeased records the addresses that leases have. Those of the order's own lease count as free.
func (r *run) addLeased(claims []*state.Claim) {
	if r.group.Addresses() == 0 {
		return
	}
	r.usage = r.usage.WithLeases(leasesOf(claims))
	r.inUse.Addresses = addressRoom(r.cfg, r.pools, claims)
	if r.room.Addresses = addressRoom(r.cfg, r.pools, claims); r.room.Addresses != nil {
		r.room.Addresses.InUse -= min(r.room.Addresses.InUse, r.usage.Addresses(r.order.String()))
	}
}

// piecesOf returns what a reservation takes beyond what its order's lease uses.
func piecesOf(c *reserved.Claim, usage observed.Usage, now time.Time) []capacity.Claim {
	return c.Pieces(now, func(h inventory.Hold) inventory.Hold { return usage.Beyond(c.Order.String(), h) })
}

// wait records and reports what the run waits for.
func (r *run) wait(what string) (done bool, err error) {
	if r.waits = what; !r.reported && r.opts.Waiting != nil {
		r.reported = true
		r.opts.Waiting(what)
	}
	return false, nil
}

// end returns when something that begins now ends, rounded up to seconds.
func end(now time.Time, after time.Duration) string {
	return now.Add(after + time.Second - 1).UTC().Format(time.RFC3339)
}

// part returns what the run announces.
func (r *run) part(grant inventory.Grant, hold inventory.Hold, now time.Time) *reserved.Part {
	p := &reserved.Part{Asked: r.asked, Hold: hold, Provider: r.opts.Provider, By: r.by, Run: r.nonce, Expires: end(now, pendingFor)}
	for id, chosen := range grant.SchedulerParams() {
		if chosen != nil {
			if p.Params == nil {
				p.Params = map[uint32]*lease.SchedulerParams{}
			}
			p.Params[id] = chosen
		}
	}
	p.HTTP = reserved.HTTP(r.group)
	return p
}

// Reservation returns what an order has reserved, or nil.
func (o *Orders) Reservation(ctx context.Context, order lease.Order) (*reserved.Claim, error) {
	return o.ledger.Reservation(ctx, order)
}

// List returns the reservations of all orders.
func (o *Orders) List(ctx context.Context) ([]*reserved.Claim, error) {
	return o.ledger.Reservations(ctx, "")
}

// UnreserveIf gives up an order's reservation for which meant is true, as it is when it is deleted, and reports whether there was
// one. The delete is pinned to what was read, and retried if that has changed.
func (o *Orders) UnreserveIf(ctx context.Context, order lease.Order, meant func(*reserved.Claim) bool) (found bool, err error) {
	tried := false
	err = o.cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		claim, err := o.ledger.Reservation(ctx, order)
		switch {
		case again(err):
			return false, nil
		case err != nil:
			return false, err
		case claim == nil || claim.Deleting || !meant(claim):
			found = tried // an earlier delete took effect, but its answer was lost
			return true, nil
		}
		tried = true
		switch err := o.ledger.Objects.Delete(ctx, claim.ObjectName, claim.UID, claim.ResourceVersion); {
		case again(err):
			return false, nil
		case err != nil:
			return false, err
		}
		found = true
		return true, nil
	})
	return found, err
}
