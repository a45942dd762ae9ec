package diagnose

import (
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// signsOfLife tell a run that works from one that has crashed: a run writes the claims that it takes one
// after the other, then the objects of its lease, and each write is a sign of life for all that it holds.
type signsOfLife struct {
	// runs are when a claim with the mark of a run was last written, groups when an object of a
	// deployment group was.
	runs   map[string]time.Time
	groups map[lease.Group]time.Time
}

func newSignsOfLife(claims []*state.Claim, objects []state.OwnObject) signsOfLife {
	s := signsOfLife{runs: map[string]time.Time{}, groups: map[lease.Group]time.Time{}}
	for _, c := range claims {
		for _, p := range c.Parts {
			if p.Run != "" {
				s.runs[p.Run] = latest(s.runs[p.Run], c.Updated)
			}
		}
	}
	for i := range objects {
		if o := &objects[i]; o.HasLease {
			g := o.Lease.Group()
			s.groups[g] = latest(s.groups[g], o.Written)
		}
	}
	return s
}

// last is when the run that has marked a part last wrote anything.
func (s signsOfLife) last(p state.Part) time.Time {
	return latest(s.runs[p.Run], s.groups[p.Lease.Group()])
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
