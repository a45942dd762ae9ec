// Package reservation holds for orders what their bids promise: it looks, announces, looks again and binds, as package
// state/protocol/capacity decides. The claims are objects of the ledger; docs/cluster-service.md has the protocol.
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
	// pendingFor is for how long an announced claim stands for its run. A run that goes on renews it.
	pendingFor = 20 * time.Second
	// patience is for how long a run waits for others: longer than a claim stands whose run has crashed.
	patience = 2 * time.Minute
	// roomLasts is for how long a run that waits relies on what it has read of nodes and pods.
	roomLasts = 2 * time.Second
)

// Orders reserves for orders in a cluster. One serves one command.
type Orders struct {
	cluster *cluster.Cluster
	cfg     *config.ProviderConfig
	ledger  ledger.Ledger
	nonce   string
	by      string
}

// New reserves in a cluster. In a dry run of it nothing is kept.
func New(c *cluster.Cluster, cfg *config.ProviderConfig) *Orders {
	return &Orders{cluster: c, cfg: cfg, ledger: ledger.New(c, cfg.LedgerNamespace), nonce: state.NewNonce(c.Now()), by: turn.WhoRuns()}
}

// Options say how something is reserved.
type Options struct {
	// Expires is for how long it is held; 0 holds it until it is given up. What is held without an end stays so.
	Expires time.Duration
	// Provider has won the order; empty for a bid.
	Provider string
	// Waiting is told, once, what a run waits for; nil tells nobody.
	Waiting func(what string)
	// Binds is asked before each write that changes what the order has reserved; nil lets all be written.
	Binds Binds
}

// Binds is told what an order has reserved, as it was listed, and what takes its place. An error ends the run, and is its
// own: what the run has announced is taken back.
type Binds func(was *reserved.Claim, becomes *reserved.Part) error

// Outcome is what became of a reservation.
type Outcome string

// The outcomes.
const (
	// Made: nothing was reserved before.
	Made Outcome = "reserved"
	// Moved: another group was reserved before.
	Moved Outcome = "moved"
	// Renewed: the same group was, and its end or its provider is another now.
	Renewed Outcome = "renewed"
	// Unchanged: nothing was written.
	Unchanged Outcome = "unchanged"
)

// RefusedError says that a group does not fit. Nothing was changed.
type RefusedError struct {
	Order lease.Order
	// Lease is the one that was won for the order; zero for a bid.
	Lease   lease.ID
	Refusal *inventory.Refusal
	// Stays is true where the order has a reservation for another group, which it keeps.
	Stays bool
}

func (e *RefusedError) Error() string {
	s := fmt.Sprintf("order %s cannot be reserved: %s", e.Order, e.Refusal)
	if e.Stays {
		s += "; what it has reserved stays"
	}
	return s
}

// TimeoutError says that others were in the way for too long. What the run had announced or claimed was taken back.
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

// UnreadableError is a reservation of which nobody knows what it takes: nothing can be reserved beside it.
type UnreadableError struct{ Namespace, Name, Why string }

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("reservation %s cannot be read, so nobody knows what it takes: %s; look who wrote it, and delete it where nothing rests on it: kubectl -n %s delete lease.coordination.k8s.io/%s",
		e.Name, e.Why, e.Namespace, e.Name)
}

// ClosingError says that the ledger is being uninstalled.
type ClosingError struct{ Namespace string }

func (e *ClosingError) Error() string {
	return fmt.Sprintf("the ledger in namespace %s is being uninstalled, and takes no reservations. Let the uninstall end, or reopen the ledger with: kubectl akash-net install", e.Namespace)
}

// readable refuses where a claim cannot be read.
func (o *Orders) readable(all []*reserved.Claim) error {
	for _, c := range all {
		if c.Unreadable != "" && !c.Deleting {
			return &UnreadableError{Namespace: o.ledger.Namespace, Name: c.ObjectName, Why: c.Unreadable}
		}
	}
	return nil
}

// again is true for an error after which all is listed again and decided anew.
func again(err error) bool { return errors.Is(err, ledger.ErrAgain) }
