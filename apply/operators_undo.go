package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// undoTime bounds how long a run that takes back what it has done may take.
const undoTime = 30 * time.Second

// keepServed waits until what the run has taken back is gone, where finalizers keep it, and until Akash's operators have
// removed the routes and Services that they had made of it. A claim of which one is there still is kept: nothing is served without one. It is the
// lease's then as if it were reserved, without the run's mark. The error says what is kept, and until when.
func (r *operated) keepServed(ctx context.Context) error {
	operated := func(kind kinds.Kind) bool {
		return slices.Contains(kinds.ClaimLike, kind) && r.snapshot.operators.operated(kind)
	}
	if len(r.leaving) == 0 && !slices.ContainsFunc(r.takenBack, operated) {
		return nil
	}
	r.until = time.Now()
	if ctx.Err() == nil { // else it was interrupted, and ends
		r.until = r.until.Add(min(r.opts.Wait, undoTime))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*undoTime)
	defer cancel()
	s, err := look(ctx, r.Command, r.snapshot, r.group)
	if err != nil {
		return err
	}
	taken := func(c *state.Claim, p state.Part) bool {
		h := r.holds[c.Name()]
		return h != nil && h.took && p.Run == r.nonce &&
			!slices.ContainsFunc(r.before[c.Name()], func(q state.Part) bool { return q.Key == p.Key && q.Run == "" })
	}
	stay, err := r.unremoved(ctx, s, s.theirs[r.group], taken)
	if err != nil {
		return err
	}
	until := map[types.UID]string{}
	for _, o := range stay {
		until[o.live.GetUID()] = "it waits for " + r.toRemove(o)
	}
	for _, o := range r.leaving {
		err := r.gone(ctx, o)
		if err != nil && !errors.Is(err, errTimedOut) {
			return err
		}
		if err != nil {
			stay = append(stay, o)
			until[o.live.GetUID()] = fmt.Sprintf("it waits for %s %s/%s to be gone (finalizers %v); release then gives it up", o.kind.Singular, o.live.GetNamespace(), o.live.GetName(), o.live.GetFinalizers())
		}
	}
	var kept []string
	for _, o := range stay {
		for _, c := range s.held[r.group] {
			for _, p := range c.PartsOf(r.group) {
				if !taken(c, p) || !o.servesPart(c, p) && state.HostName(o.recordOf()) != c.Name() {
					continue
				}
				p.Run, p.Applied = "", false
				r.before[c.Name()] = append(slices.DeleteFunc(slices.Clone(r.before[c.Name()]), func(q state.Part) bool { return q.Key == p.Key }), p)
				kept = append(kept, fmt.Sprintf("%s %s is kept: %s", c.Kind, c.Thing, until[o.live.GetUID()]))
			}
		}
	}
	if len(kept) > 0 {
		return fmt.Errorf("%s", strings.Join(kept, "; "))
	}
	return nil
}
