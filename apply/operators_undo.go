package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// undoTime bounds how long a run that takes back what it has done may take.
const undoTime = 30 * time.Second

// operated is true for what one of Akash's operators makes a route or a Service of.
func (o operators) operated(kind kinds.Kind) bool {
	return o.hostname && kind == kinds.ProviderHost || o.ip && kind == kinds.ProviderLeasedIP
}

// keepServed waits until Akash's operators have removed the routes and Services that they had made of what the
// run has taken back. A claim of which one is there still is kept: nothing is served without one. It is the
// lease's then as if it were reserved, without the run's mark. The error says what is kept, and until when.
func (r *run) keepServed(ctx context.Context) error {
	operated := func(kind kinds.Kind) bool {
		return slices.Contains(kinds.ClaimLike, kind) && r.snapshot.operators.operated(kind)
	}
	if !slices.ContainsFunc(r.takenBack, operated) {
		return nil
	}
	r.until = time.Now()
	if ctx.Err() == nil { // else it was interrupted, and ends
		r.until = r.until.Add(min(r.opts.Wait, undoTime))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*undoTime)
	defer cancel()
	s, err := r.look(ctx, r.snapshot, r.group)
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
	var kept []string
	for _, o := range stay {
		for _, c := range s.held[r.group] {
			for _, p := range c.PartsOf(r.group) {
				if !taken(c, p) || !o.servesPart(c, p) {
					continue
				}
				p.Run, p.Applied = "", false
				r.before[c.Name()] = append(slices.DeleteFunc(slices.Clone(r.before[c.Name()]), func(q state.Part) bool { return q.Key == p.Key }), p)
				kept = append(kept, fmt.Sprintf("%s %s is kept: it waits for %s", c.Kind, c.Thing, r.toRemove(o)))
			}
		}
	}
	if len(kept) > 0 {
		return fmt.Errorf("%s", strings.Join(kept, "; "))
	}
	return nil
}
