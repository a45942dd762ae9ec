package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// AllTransient reports whether unfinished runs hold everything that an error names: they may release it.
func AllTransient(err error) bool {
	refused, ok := errors.AsType[*report.HeldError](err)
	return ok && !slices.ContainsFunc(refused.Held, func(h report.HeldThing) bool { return !h.By.Running })
}

// uses returns the objects that use a thing without a claim.
func (r *Claims) uses(h state.Hold) []state.Use {
	return r.Snapshot.Uses(h, r.Group.Owner, func(name string) bool { return r.Snapshot.Claim(name) != nil })
}

// TakeOnce decides on one thing and takes its free parts; it reads the claim and decides again after a conflict. If
// fresh is true it reads the claim first; otherwise the first decision uses the snapshot.
func (r *Claims) TakeOnce(ctx context.Context, h state.Hold, fresh bool) error {
	name := h.Name()
	claim := r.Snapshot.Claim(name)
	if known := r.Holds[name]; known != nil {
		claim = known.Claim
	}
	var why error
	err := r.Ledger.Retrying(ctx, func(ctx context.Context) (done bool, err error) {
		if fresh {
			if claim, why = r.Ledger.Get(ctx, name); why != nil {
				return ledger.Retry(why)
			}
		}
		fresh = true
		done, why = r.attempt(ctx, h, claim)
		if why != nil {
			return ledger.Retry(why)
		}
		return done, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		if claim != nil && claim.Deleting && why == nil {
			by := claim.HeldBy()
			by.Reason = "its claim is being deleted: kubectl akash-net explain " + state.Typed(h.Thing)
			return &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{{Kind: h.Kind, Thing: h.Thing, By: by, At: h.At}}}
		}
		return fmt.Errorf("%s %s could not be claimed: %w", h.Kind, h.Thing, cmp.Or(why, ledger.ErrAgain))
	}
	return err
}
