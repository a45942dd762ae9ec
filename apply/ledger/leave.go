package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Leave gives up parts of a claim that the deployment group holds: those for which drop says so.
// Where other parts remain they stay; a claim of which nobody holds a part any more is deleted. The
// write is pinned to the claim as it was read: ErrAgain says that it has moved since, so that what
// rests on it has to be looked at again before anything is given up. The answer is the claim as it is then,
// nil where it is gone, and whether anything was given up that the group held; a note that something is
// withheld goes without a word.
func (l Ledger) Leave(ctx context.Context, claim *state.Claim, group lease.Group, drop func(state.Part) bool) (now *state.Claim, left bool, err error) {
	entries := claim.Entries(group)
	keep := slices.DeleteFunc(slices.Clone(entries), drop)
	if len(keep) == len(entries) || claim.Deleting || claim.Unreadable != "" {
		return claim, false, nil
	}
	left = held(keep) < held(entries)
	var why error
	err = l.Retrying(ctx, func(ctx context.Context) (bool, error) {
		if now, why = l.Shrink(ctx, claim, group, keep); why == nil || !errors.Is(why, ErrAgain) || !cluster.IsUnclear(why) {
			return why == nil, why
		}
		// No answer came: whether the write took effect shows when the claim is read.
		switch now, err = l.Get(ctx, claim.Name()); {
		case err != nil:
			return Retry(err)
		case now != nil && now.UID == claim.UID && now.ResourceVersion == claim.ResourceVersion:
			return false, nil
		case now != nil && now.UID == claim.UID && slices.ContainsFunc(now.Entries(group), drop):
			return false, ErrAgain
		}
		return true, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = cmp.Or(why, err)
	}
	return now, left && err == nil, err
}

// Restore gives the parts that a run has marked the state that they had before the run: those that
// were not held are given up. The answer says whether any were.
func (l Ledger) Restore(ctx context.Context, name string, group lease.Group, nonce string, before []state.Part) (bool, error) {
	return l.rework(ctx, name, group, func(entries []state.Part) ([]state.Part, bool) {
		return protocol.GiveBack(entries, nonce, before)
	})
}

// rework makes what the deployment group has written on a claim what change makes of it, and says
// whether the group holds less than before. It reads again and tries again until it has its way; a claim
// that is gone is left.
func (l Ledger) rework(ctx context.Context, name string, group lease.Group, change func([]state.Part) (keep []state.Part, changed bool)) (bool, error) {
	var left bool
	err := l.Retrying(ctx, func(ctx context.Context) (bool, error) {
		claim, err := l.Get(ctx, name)
		if err != nil {
			return Retry(err)
		}
		if claim == nil || claim.Deleting || claim.Unreadable != "" {
			return true, nil
		}
		entries := claim.Entries(group)
		keep, changed := change(entries)
		if !changed {
			return true, nil
		}
		_, err = l.Shrink(ctx, claim, group, keep)
		// What was unclear and is gone when it is read again was given up.
		left = left || held(keep) < held(entries) && (err == nil || cluster.IsUnclear(err))
		return Retry(err)
	})
	return left, err
}

// held counts the parts among the entries; the others are notes of what is withheld.
func held(entries []state.Part) (n int) {
	for _, p := range entries {
		if p.For == "" {
			n++
		}
	}
	return n
}

// Shrink makes the group's entries those to keep. A claim of which nobody holds a part any more is
// deleted, whoever waits for it. The answer is the claim as it is now, nil where it is gone.
func (l Ledger) Shrink(ctx context.Context, claim *state.Claim, group lease.Group, keep []state.Part) (*state.Claim, error) {
	kept := slices.ContainsFunc(keep, func(p state.Part) bool { return p.For == "" })
	others := slices.ContainsFunc(claim.Parts, func(p state.Part) bool { return p.Lease.Group() != group })
	switch {
	case !kept && !others:
		return nil, l.Delete(ctx, claim)
	case len(keep) > 0:
		return l.Put(ctx, claim, group, keep)
	}
	return l.Withdraw(ctx, claim, group)
}

// Delete removes a claim that is exactly as it was read.
func (l Ledger) Delete(ctx context.Context, claim *state.Claim) error {
	return l.delete(ctx, claim.Name(), &claim.UID, &claim.ResourceVersion)
}

// delete deletes an object of the ledger that is exactly as it was read.
func (l Ledger) delete(ctx context.Context, name string, uid *types.UID, version *string) error {
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: uid, ResourceVersion: version}}
	err := l.cluster.Write(ctx, func(write context.Context) error { return l.client().Delete(write, name, opts) })
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	default:
		return l.again(ctx, err, "delete")
	}
}
