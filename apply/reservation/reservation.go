// Package reservation reserves for orders what their bids promise: it reads, announces, reads again and binds, as
// package state/protocol/capacity decides. The claims are objects of the ledger; docs/orders.md describes the
// protocol.
package reservation

import (
	"errors"
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
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
			"kubectl akash-net unreserve --order %[1]s gives up what a bid that was lost has reserved", e.Order, e.Refusal)
	}
	s := fmt.Sprintf("order %s cannot be reserved: %s", e.Order, e.Refusal)
	if e.Stays {
		s += "; what it has reserved stays"
	}
	return s
}

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
