package model

import "fmt"

// Result is what a search has found.
type Result struct {
	// States is the number of states that can be reached.
	States int
	// TwoWinners, Vanished, AllLost and Stuck are ways to a bad state, empty where there is none: a
	// host below another owner's bound wildcard; a lease without the claim that it has won; an end
	// at which no client has won, or at which a claim is left that none has won, though none has
	// crashed; a state from which not all clients can come to an end.
	TwoWinners, Vanished, AllLost, Left, Stuck []string
}

// Search walks through all states that the clients of the world can reach.
func (w *World) Search() Result {
	type node struct {
		from int
		back []int
		good bool
	}
	var (
		start  moment
		nodes  = []node{{from: -1}}
		states = []moment{start}
		index  = map[moment]int{start: 0}
		result Result
	)
	way := func(i int) (out []string) {
		for ; i >= 0; i = nodes[i].from {
			out = append([]string{w.describe(states[i])}, out...)
		}
		return out
	}
	note := func(found *[]string, bad bool, i int) {
		if bad && *found == nil {
			*found = way(i)
		}
	}
	var ends []int
	for i := 0; i < len(states); i++ {
		s := states[i]
		note(&result.TwoWinners, w.twoWinners(&s), i)
		note(&result.Vanished, w.vanished(&s), i)
		if w.ended(&s) {
			nodes[i].good = true
			ends = append(ends, i)
			note(&result.AllLost, s.crashes == 0 && w.count(&s, Won)+w.count(&s, Released) == 0, i)
			note(&result.Left, s.crashes == 0 && w.left(&s), i)
		}
		for _, step := range w.next(s) {
			to, known := index[step.to]
			if !known {
				to = len(states)
				index[step.to] = to
				states, nodes = append(states, step.to), append(nodes, node{from: i})
			}
			if step.live {
				nodes[to].back = append(nodes[to].back, i)
			}
		}
	}
	for len(ends) > 0 {
		i := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		for _, from := range nodes[i].back {
			if !nodes[from].good {
				nodes[from].good = true
				ends = append(ends, from)
			}
		}
	}
	for i := range nodes {
		note(&result.Stuck, !nodes[i].good, i)
	}
	result.States = len(states)
	return result
}

func (w *World) ended(s *moment) bool {
	for i := range w.Clients {
		if !s.runners[i].phase.ended() {
			return false
		}
	}
	return true
}

func (w *World) count(s *moment, p Phase) (n int) {
	for i := range w.Clients {
		if s.runners[i].phase == p {
			n++
		}
	}
	return n
}

// relies is true for a client that writes routes, or has: it has passed its check.
func relies(p Phase) bool { return p == Settle || p == Won }

// twoWinners is true where a host stands, and is relied on, below another owner's bound wildcard,
// and where two owners rely on one thing.
func (w *World) twoWinners(s *moment) bool {
	for i, c := range w.Clients {
		if wildcard(c.Thing) || !relies(s.runners[i].phase) {
			continue
		}
		host, over := s.claims[c.Thing], s.claims[w.Over[c.Thing]]
		if host.owner == c.Owner && over.bound && over.owner != c.Owner {
			return true
		}
	}
	for i, c := range w.Clients {
		for j, d := range w.Clients {
			both := s.runners[i].phase == Won && s.runners[j].phase == Won
			if both && c.Owner != d.Owner && (c.Thing == d.Thing || !wildcard(c.Thing) && w.Over[c.Thing] == d.Thing) {
				return true
			}
		}
	}
	return false
}

// vanished is true where a client has won and the claim is not its owner's any more, although none
// of the owner's has released it.
func (w *World) vanished(s *moment) bool {
	for i, c := range w.Clients {
		if s.runners[i].phase != Won || s.claims[c.Thing].owner == c.Owner {
			continue
		}
		released := false
		for j, d := range w.Clients {
			released = released || d.Owner == c.Owner && d.Thing == c.Thing && s.runners[j].phase == Released
		}
		if !released {
			return true
		}
	}
	return false
}

// left is true where a claim stands at the end that none of its owner's clients has won.
func (w *World) left(s *moment) bool {
	for thing, c := range s.claims {
		won := c.uid == 0
		for i, d := range w.Clients {
			won = won || d.Owner == c.owner && d.Thing == thing && s.runners[i].phase == Won
		}
		if !won {
			return true
		}
	}
	return false
}

// describe is a state in words, for the way to a bad one.
func (w *World) describe(s moment) string {
	phases := [...]string{"read", "take", "check", "bind", "settle", "undo", "won", "lost", "released", "crashed"}
	text := ""
	for i, c := range w.Clients {
		text += fmt.Sprintf("client %d of owner %d on %d: %-8s ", i, c.Owner, c.Thing, phases[s.runners[i].phase])
	}
	for thing, c := range s.claims {
		if c.uid != 0 {
			text += fmt.Sprintf("[%d: owner %d mark %d bound %v] ", thing, c.owner, c.mark, c.bound)
		}
	}
	return text
}
