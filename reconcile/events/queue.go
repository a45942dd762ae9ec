package events

import "github.com/akash-net/kubectl-akash-net/lease"

// queue says which events are carried out next: those of one deployment group in the order in which they came, those of others beside
// them.
type queue struct {
	// waiting are the events that have not begun, in the order in which they came. busy are the groups with one that has.
	waiting []*event
	busy    map[lease.Group]bool
}

// add adds an event behind all others.
func (q *queue) add(e *event) { q.waiting = append(q.waiting, e) }

// next begins events of one type, at most so many, for which one command does the same: the first that no other one of its group is
// before, and those that follow.
func (q *queue) next(most int) (begun []*event) {
	blocked, rest := map[lease.Group]bool{}, q.waiting[:0:0]
	for _, e := range q.waiting {
		g := e.Lease.Group()
		if q.busy[g] || blocked[g] || len(begun) == most || len(begun) > 0 && begun[0].Type != e.Type {
			blocked[g] = true
			rest = append(rest, e)
			continue
		}
		blocked[g] = true
		begun = append(begun, e)
	}
	for _, e := range begun {
		q.busy[e.Lease.Group()] = true
	}
	q.waiting = rest
	return begun
}

// done ends an event.
func (q *queue) done(e *event) { delete(q.busy, e.Lease.Group()) }
