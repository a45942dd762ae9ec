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
)

// Leave gives up the parts of a claim that the deployment group holds and drop selects. It deletes a claim of which
// nobody holds a part any more. The write is pinned to the claim as it was read; ErrAgain means that the claim has
// changed, and the caller has to check again what depends on it. Leave returns the resulting claim, nil if it is gone,
// and whether the group held a part that it gave up. Dropping a note of a withheld part does not count.
func (l Ledger) Leave(
	ctx context.Context, claim *state.Claim, group lease.Group, drop func(state.Part) bool,
) (now *state.Claim, left bool, err error) {
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
		// There was no answer: read the claim to see whether the write took effect.
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

// held counts the parts among the entries; the others are notes of withheld parts.
func held(entries []state.Part) (n int) {
	for _, p := range entries {
		if p.For == "" {
			n++
		}
	}
	return n
}

// Shrink replaces the group's entries by keep. It deletes a claim of which nobody holds a part any more, even if it
// carries notes. It returns the resulting claim, nil if it is gone.
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

// Delete deletes a claim, pinned to what was read.
func (l Ledger) Delete(ctx context.Context, claim *state.Claim) error {
	return l.delete(ctx, claim.Name(), &claim.UID, &claim.ResourceVersion)
}

// delete deletes an object of the ledger, pinned to what was read.
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
