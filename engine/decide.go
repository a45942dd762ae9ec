package engine

import (
	"cmp"
	"time"

	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Decide records the decisions of a step. It reports whether there were any: then Next is to be called again.
func (w *World) Decide(place int, s Step) bool {
	f := w.leases[place]
	for at, a := range s.Picks {
		if former, had := f.picks[at]; had {
			f.passed[former] = true
		}
		f.picks[at] = a
	}
	if s.Refused != nil {
		f.failed = s.Refused
	}
	for _, e := range s.Tells {
		if f.told[e.Once] = true; e.Of != (Key{}) && e.Once == "" {
			did := f.done[e.Of]
			did.action, did.told = cmp.Or(did.action, report.Unchanged), true
			f.done[e.Of] = did
			w.told[e.Of] = true
		}
	}
	if d := s.Passed; d != nil {
		k, body := d.key(), render.Rendered(d.Object)
		w.lives[k] = seenLive{live: body, sent: w.now, answered: w.now, at: w.Clock, wrote: body.Object}
		f.done[k] = done{action: report.Created}
		delete(f.refusals, k)
	}
	if s.Served != nil {
		f.served[*s.Served] = true
	}
	if s.Stays != nil {
		f.stays[s.Stays.old.key()] = *s.Stays
	}
	if s.Budgeted && f.began.IsZero() {
		f.began = w.Clock
	}
	return s.decides()
}

// End records how the work on a lease has ended.
func (w *World) End(place int, o *Outcome) {
	w.leases[place].outcome, w.leases[place].ended = o, w.Send()
}

// Fail ends the work on a lease with an error of the executor's own.
func (w *World) Fail(place int, err error) {
	w.leases[place].failed = cmp.Or(w.leases[place].failed, err)
}

// Outcome returns how the work on a lease has ended, nil before.
func (w *World) Outcome(place int) *Outcome { return w.leases[place].outcome }

// Yield lets a lease go on although others that it waits for have not ended: they wait for it.
func (w *World) Yield(place int) { w.leases[place].yields = true }

// At sets the times: the API server's, and that of a steady clock.
func (w *World) At(server, steady time.Time) { w.Time, w.Clock = server, steady }
