package protocol

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Settle decides how a run ends its work on a claim with the UID. final returns the group's entries without marks; ok
// is false if a part is gone.
func Settle(
	claim *state.Claim, uid types.UID, group lease.Group, final func(*state.Claim) (parts []state.Part, ok bool),
) (Next, []state.Part) {
	if claim == nil || claim.Deleting || claim.UID != uid || claim.Owner != group.Owner {
		return Yield, nil
	}
	parts, ok := final(claim)
	switch {
	case !ok:
		return Yield, nil
	case slices.EqualFunc(parts, claim.Entries(group), state.Part.Same):
		return Rest, nil
	}
	return Write, parts
}

// GiveBack returns the entries that a group keeps when the run with the nonce gives back what it took: an entry with
// the run's mark becomes what it was before, or is removed. changed is false if no entry has the mark.
func GiveBack(entries []state.Part, nonce string, before []state.Part) (keep []state.Part, changed bool) {
	for _, p := range entries {
		i := slices.IndexFunc(before, func(q state.Part) bool { return q.Key == p.Key })
		switch {
		case p.Run != nonce:
			keep = append(keep, p)
		case i >= 0:
			was := before[i]
			if was.Bound = was.Bound || p.Bound; p.Expires == "" {
				was.Expires = "" // the run has made it a claim, which never becomes a hold
			}
			keep, changed = append(keep, was), true
		default:
			changed = true
		}
	}
	return keep, changed
}

// Before returns which of the earlier entries GiveBack restores. It restores an entry with the mark of another run of
// the lease only if the lease's objects serve it. Otherwise that run has ended without the entry, or will notice when
// it settles, and restoring its mark could leave a claim that belongs to nobody.
func Before(before []state.Part, served bool) []state.Part {
	if served {
		return before
	}
	return slices.DeleteFunc(slices.Clone(before), func(p state.Part) bool { return p.Run != "" })
}
