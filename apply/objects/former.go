package objects

import (
	"context"
	"fmt"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// KeepForOthers returns the objects that do not serve another lease since a transfer, and reports the others, which the
// next apply of that lease deletes. It reads the claims, because a transfer may be newer than the snapshot.
func (r *Objects) KeepForOthers(ctx context.Context, objects []observed.Owned) ([]observed.Owned, error) {
	claims := map[string]*state.Claim{}
	var rest []observed.Owned
	for _, o := range objects {
		var keeps *state.Part
		for _, name := range r.Snapshot.ClaimsNear(o) {
			claim, read := claims[name]
			if !read {
				var err error
				if claim, err = observed.ReadClaim(ctx, r.Ledger, name); err != nil {
					return nil, err
				}
				claims[name] = claim
			}
			for _, p := range claim.FormerOf(o.Group) {
				if observed.StandsFor(o, claim, p) {
					keeps = &p
				}
			}
		}
		if keeps == nil {
			rest = append(rest, o)
			continue
		}
		if r.keptFor[o.Live.GetUID()] {
			continue
		}
		r.keptFor[o.Live.GetUID()] = true
		r.Event(report.Left, o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName(),
			fmt.Sprintf("it is kept for lease %s until that is applied", keeps.Lease.Group()))
	}
	return rest, nil
}
