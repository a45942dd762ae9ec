package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// undoTime bounds how long undoing may wait for deletions.
const undoTime = 30 * time.Second

// KeepServed waits until finalizers and Akash's operators have let go of the objects that the run has undone. It keeps
// the claims of those that remain, because nothing may be served without a claim. These claims become reservations of
// the lease, without the run's mark. The error names what is kept, and until when.
func (r *Operated) KeepServed(ctx context.Context) error {
	operated := func(kind kinds.Kind) bool {
		return slices.Contains(kinds.ClaimLike, kind) && r.Snapshot.Operators.Operated(kind)
	}
	if len(r.Leaving()) == 0 && !slices.ContainsFunc(r.TakenBack(), operated) {
		return nil
	}
	r.WaitAnew(0)
	if ctx.Err() == nil { // do not wait after an interrupt
		r.WaitAnew(min(r.Options.Wait, undoTime))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*undoTime)
	defer cancel()
	s, err := observed.Look(ctx, r.Command, r.Snapshot, r.Group.Owner)
	if err != nil {
		return err
	}
	taken := func(c *state.Claim, p state.Part) bool {
		h := r.Holds[c.Name()]
		return h != nil && h.Took && p.Run == r.Nonce &&
			!slices.ContainsFunc(r.Before[c.Name()], func(q state.Part) bool { return q.Key == p.Key && q.Run == "" })
	}
	stay, err := r.awaitRemoved(ctx, r.leftByOperators(s, taken))
	if err != nil {
		return err
	}
	until := map[types.UID]string{}
	for _, o := range stay {
		until[o.Live.GetUID()] = "it waits for " + WaitingForRemoval(o)
	}
	for _, o := range r.Leaving() {
		err := r.Gone(ctx, o)
		if err != nil && !errors.Is(err, report.ErrTimedOut) {
			return err
		}
		if err != nil {
			stay = append(stay, o)
			until[o.Live.GetUID()] = fmt.Sprintf("it waits for %s %s/%s to be gone (finalizers %v); release then gives it up",
				o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName(), o.Live.GetFinalizers())
		}
	}
	var kept []string
	for _, o := range stay {
		for _, c := range s.Held[r.Group] {
			for _, p := range c.PartsOf(r.Group) {
				if !taken(c, p) || !o.ServesPart(c, p) && state.HostName(o.RecordOf()) != c.Name() {
					continue
				}
				r.keepPart(c.Name(), p)
				kept = append(kept, fmt.Sprintf("%s %s is kept: %s", c.Kind, c.Thing, until[o.Live.GetUID()]))
			}
		}
	}
	if len(kept) > 0 {
		return errors.New(strings.Join(kept, "; "))
	}
	return nil
}

// keepPart makes undoing leave a part as a reservation.
func (r *Operated) keepPart(claim string, p state.Part) {
	p.Run, p.Applied = "", false
	others := slices.DeleteFunc(slices.Clone(r.Before[claim]), func(q state.Part) bool { return q.Key == p.Key })
	r.Before[claim] = append(others, p)
}
