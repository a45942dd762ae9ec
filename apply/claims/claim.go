package claims

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// attempt tries once to take a thing. If it returns neither done nor an error, the caller must read the claim and try
// again.
func (r *Claims) attempt(ctx context.Context, h state.Hold, claim *state.Claim) (done bool, err error) {
	var uses []state.Use
	if claim == nil {
		uses = r.uses(h)
	}
	known := r.Holds[h.Name()]
	taken := protocol.Take(protocol.Taking{
		Want: r.applying(h), Claim: claim, Nonce: r.Nonce, Patient: r.patient, Relied: r.Marking || r.Options.Turn.Succeeds(r.Group),
		Decide:  func(c *state.Claim, p state.Part) state.Finding { return r.decide(h, p, c, uses) },
		Pending: r.PendingUntil(),
		Took:    known != nil && known.Took, Anew: known != nil && known.Anew,
	})
	for _, w := range taken.Withheld {
		if err := r.withhold(h, w.Part, w.By); err != nil {
			return false, err
		}
	}
	switch taken.Next {
	case protocol.Yield:
		return false, &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{{Kind: h.Kind, Thing: h.Thing, By: taken.By, At: h.At}}}
	case protocol.Read:
		return false, nil
	case protocol.Evict:
		return false, r.evict(ctx, claim)
	case protocol.Write:
		return r.put(ctx, taken)
	}
	if len(taken.Parts) == 0 {
		return true, nil
	}
	if taken.Took && known == nil {
		r.Event(report.Claimed, string(h.Kind), "", h.Thing, "")
	}
	r.Hold(&Held{Want: taken.Want, Claim: claim, Took: taken.Took, Anew: taken.Anew})
	return true, nil
}

// put writes the taken parts, and keeps the other parts and notes of the group.
func (r *Claims) put(ctx context.Context, taken protocol.Taken) (bool, error) {
	want, claim, parts, anew := taken.Want, taken.Claim, taken.Parts, taken.Anew
	if claim == nil {
		claim = want.Claim()
	}
	if claim.SharingKey != want.SharingKey {
		rekeyed := *claim
		rekeyed.SharingKey = want.SharingKey
		claim = &rekeyed
	}
	for _, p := range claim.Entries(r.Group) {
		if !slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key || q.Key == p.For }) {
			parts = append(parts, p)
		}
	}
	if err := r.ChangeClaim(plan.Claim, claim, parts); err != nil {
		return false, err
	}
	r.remember(want.Name(), claim)
	now, err := r.Ledger.Put(ctx, claim, r.Group, parts)
	if err != nil {
		if cluster.IsUnclear(err) {
			r.Unclear[want.Name()] = &Held{Want: want, Claim: claim, Took: true}
		}
		return false, err
	}
	if !protocol.Holds(now, r.Group, parts) {
		return false, ledger.ErrAgain
	}
	r.Hold(&Held{Want: want, Claim: now, Took: true, Anew: anew})
	if !anew { // only the mark is new
		r.Wrote(nil)
		return true, nil
	}
	r.Event(report.Claimed, string(want.Kind), "", want.Thing, "")
	return true, nil
}

// remember keeps what the group has on a claim before the run's first write, for Rollback: the entries that were read
// last without the run's own mark. Rollback does not restore what the lease has given up since an earlier read.
func (r *Claims) remember(name string, claim *state.Claim) {
	entries := claim.Entries(r.Group)
	if _, known := r.Before[name]; known && slices.ContainsFunc(entries, func(p state.Part) bool { return p.Run == r.Nonce }) {
		return
	}
	if h := r.Holds[name]; h != nil && h.Took {
		return
	}
	r.Before[name] = entries
}

// evict removes expired parts from a claim, pinned to the version that was read. It deletes a claim that has only
// expired parts; otherwise it removes those of one group, because a write changes one group. The caller must read the
// claim again.
func (r *Claims) evict(ctx context.Context, claim *state.Claim) error {
	now := r.Cluster.Now()
	if claim.Ended(now) {
		return r.Ledger.Delete(ctx, claim)
	}
	for _, g := range claim.Groups() {
		var keep []state.Part
		parts := claim.Entries(g)
		for _, p := range parts {
			if !p.Ended(now) {
				keep = append(keep, p)
			}
		}
		if len(keep) < len(parts) {
			_, err := r.Ledger.Shrink(ctx, claim, g, keep)
			return err
		}
	}
	return nil
}
