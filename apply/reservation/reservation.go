// Package reservation reserves for orders what their bids promise: it reads, announces, reads again and binds, as
// package state/protocol/capacity decides. The claims are objects of the ledger; docs/orders.md describes the
// protocol.
package reservation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

const (
	// pendingFor is how long an announced claim is valid. Its run renews it while it works.
	pendingFor = 20 * time.Second
	// patience is how long a run waits for others: longer than the claim of a crashed run is valid.
	patience = 2 * time.Minute
	// roomLasts is how long a waiting run uses what it has read of nodes and pods.
	roomLasts = 2 * time.Second
)

// Orders reserves for orders in a cluster. Each command uses its own.
type Orders struct {
	cluster *cluster.Cluster
	cfg     *config.ProviderConfig
	ledger  ledger.Ledger
	nonce   string
	by      string
}

// New returns the Orders of a cluster.
func New(c *cluster.Cluster, cfg *config.ProviderConfig) *Orders {
	return &Orders{cluster: c, cfg: cfg, ledger: ledger.New(c, cfg.LedgerNamespace), nonce: state.NewNonce(c.Now()), by: turn.WhoRuns()}
}

// Options configure a reservation.
type Options struct {
	// Expires is after what time the reservation ends; 0 means never. A reservation without an end keeps having none.
	Expires time.Duration
	// Provider has won the order; empty for a bid.
	Provider string
	// Waiting is called once with what the run waits for; it may be nil.
	Waiting func(what string)
	// Binds is called before each write that changes what the order has reserved; it may be nil.
	Binds Binds
}

// Binds receives a reservation as it was listed and what replaces it. An error ends the run, which withdraws what it
// has announced.
type Binds func(was *reserved.Claim, becomes *reserved.Part) error

// Outcome is the result of reserving.
type Outcome string

// The outcomes.
const (
	// Made: nothing was reserved before.
	Made Outcome = "reserved"
	// Moved: another group was reserved before, or the same where it no longer fits.
	Moved Outcome = "moved"
	// Renewed: the same group was reserved, with another end or provider.
	Renewed Outcome = "renewed"
	// Unchanged: nothing was written.
	Unchanged Outcome = "unchanged"
)

// RefusedError reports that a resource group does not fit. Nothing was changed.
type RefusedError struct {
	Order lease.Order
	// Lease is the lease that was won for the order; zero for a bid.
	Lease   lease.ID
	Refusal *inventory.Refusal
	// Stays is true if the order keeps what it has reserved. Lost is true if that is for the same group, and no longer fits.
	Stays, Lost bool
}

func (e *RefusedError) Error() string {
	if e.Lost {
		return fmt.Sprintf("what order %s has reserved no longer fits the cluster, and there is no other room: %s; what it has reserved stays. Run this again when there is room; "+
			"kubectl akash-net order release %[1]s gives up what a bid that was lost has reserved", e.Order, e.Refusal)
	}
	s := fmt.Sprintf("order %s cannot be reserved: %s", e.Order, e.Refusal)
	if e.Stays {
		s += "; what it has reserved stays"
	}
	return s
}

// ExitCode says how a command ends with the error.
func (*RefusedError) ExitCode() int { return report.ExitHeld }

// TimeoutError reports that others were in the way for too long. What the run had announced or claimed was withdrawn.
type TimeoutError struct {
	// Undone is what was not done.
	Undone string
	After  time.Duration
	// What the run has waited for.
	What string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s: timed out after %s waiting for %s", e.Undone, e.After, e.What)
}

// ExitCode says how a command ends with the error.
func (*TimeoutError) ExitCode() int { return report.ExitTimeout }

// Advice says what follows of it.
func (*TimeoutError) Advice() string {
	return "Nothing was changed; try again."
}

// UnreadableError reports that what the order itself has reserved cannot be read.
type UnreadableError struct{ Namespace, Name, Why string }

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the reservation of the order, lease.coordination.k8s.io/%s in namespace %s, cannot be read: %s; look who wrote it. "+
		"Where nothing rests on it, delete it: kubectl akash-net repair %s/%s", e.Name, e.Namespace, e.Why, state.UnreadableClaim, e.Name)
}

// ClosingError reports that the ledger is being uninstalled.
type ClosingError struct{ Namespace string }

func (e *ClosingError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s is being uninstalled, and takes no reservations. "+
		"Let the uninstall end, or reopen the ledger with: kubectl akash-net install", e.Namespace)
}

// again reports whether everything has to be listed and decided again after an error.
func again(err error) bool { return errors.Is(err, ledger.ErrAgain) }

// Claim turns the reservation of an order into that of the lease that was won: without end, and with its provider. It
// never lets go of what the order holds. If the order holds nothing, Claim reserves as for a bid; if it holds another
// resource group, that one is kept until the new one is reserved. Claim returns the scheduling parameters of the chosen
// GPUs, by the IDs of resource units; units without GPUs have none. binds may refuse the change (Options.Binds).
func Claim(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID, asked resources.Group,
	binds Binds,
) (map[uint32]*lease.SchedulerParams, error) {
	claim, _, err := New(c, cfg).Reserve(ctx, id.Order(), inventory.GroupOf(asked), Options{Provider: id.Provider, Binds: binds})
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		refused.Lease = id
	}
	if err != nil {
		return nil, err
	}
	return Params(claim.Bound), nil
}

// Release gives up the reservation of a lease, and reports whether there was one. It leaves a bid's reservation, and
// that of the order's lease with another provider.
func Release(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID) (found bool, err error) {
	return New(c, cfg).UnreserveIf(ctx, id.Order(), func(claim *reserved.Claim) bool {
		return claim.Bound != nil && claim.Bound.Provider == id.Provider
	})
}

// Params returns the scheduling parameters that a reservation has chosen.
func Params(p *reserved.Part) map[uint32]*lease.SchedulerParams {
	out := map[uint32]*lease.SchedulerParams{}
	for id, chosen := range p.Params {
		if chosen != nil {
			out[id] = chosen
		}
	}
	return out
}

// Lost returns the names of the reservations that no longer fit the cluster, of which everything but the capacity was read. It reads
// nodes and pods only if something is bound, and returns nil if the user may not.
func Lost(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, in view.Contents) (map[string]bool, error) {
	if !slices.ContainsFunc(in.Reservations, func(c *reserved.Claim) bool { return c.Bound != nil }) {
		return nil, nil
	}
	var fold observed.Fold
	_, err := readCluster(ctx, c, cfg, &fold, false)
	if apierrors.IsForbidden(err) || cluster.IsMissingKind(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lost(cfg, in, &fold, c.Now()), nil
}

// lost returns the names of the reservations that no longer fit a capacity, and have not ended by then.
func lost(cfg *config.ProviderConfig, in view.Contents, fold *observed.Fold, now time.Time) map[string]bool {
	usage := fold.Usage().WithLeases(leasesOf(in.Claims))
	room := capacity.Room{Cluster: fold.Capacity().Cluster(), Addresses: view.Addresses(cfg, in)}
	return reserved.Lost(in.Reservations, room, now, func(c *reserved.Claim) inventory.Hold {
		return usage.Beyond(c.Order.String(), c.Bound.Hold)
	})
}

// UnservedError reports that a configuration has fewer addresses than orders have reserved.
type UnservedError struct {
	// Reserved is how many addresses orders have reserved beyond what their leases have, Left how many are left for them.
	Reserved, Left uint64
	// By are the orders, each with its number of addresses.
	By []string
}

func (e *UnservedError) Error() string {
	return fmt.Sprintf("the configuration has too few addresses for what orders have reserved: %d reserved of %d that are not in use:\n  %s\n"+
		"Nothing was changed: keep the addresses in ip.ranges, or give up what a bid that was lost has reserved: "+
		"kubectl akash-net order release ORDER", e.Reserved, e.Left, first(20, e.By, "\n  "))
}

// ExitCode says how a command ends with the error.
func (*UnservedError) ExitCode() int { return report.ExitHeld }

// first joins the first names and the number of the others.
func first(most int, names []string, separator string) string {
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, separator)
}

// CheckAddresses returns an UnservedError if orders have reserved more addresses than the next configuration leaves them, and
// it leaves fewer than the former one, which is nil if it is unknown.
func CheckAddresses(ctx context.Context, c *cluster.Cluster, was, next *config.ProviderConfig) error {
	look, err := ledger.New(c, next.LedgerNamespace).Look(ctx, true)
	if err != nil {
		return err
	}
	found := &UnservedError{}
	usage := observed.Usage{}.WithLeases(leasesOf(look.Leased))
	for _, claim := range look.Reservations {
		order := claim.Order.String()
		if n := usage.Beyond(order, claim.Hold()).Addresses; n > 0 && !claim.Over(c.Now()) {
			found.Reserved += n
			found.By = append(found.By, fmt.Sprintf("order %s: %d", order, n))
		}
	}
	if found.Reserved == 0 {
		return nil
	}
	pools, err := book.ReadPools(ctx, c)
	if err != nil {
		return err
	}
	found.Left = left(next, pools, look.Leased)
	if found.Reserved <= found.Left || was != nil && left(was, pools, look.Leased) <= found.Left {
		return nil
	}
	slices.Sort(found.By)
	return found
}

// left returns how many addresses a configuration has that nobody uses.
func left(cfg *config.ProviderConfig, pools view.Contents, claims []*state.Claim) uint64 {
	room := addressRoom(cfg, pools, claims)
	if room == nil {
		return 0
	}
	return room.Free(0)
}
