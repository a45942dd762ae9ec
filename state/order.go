package state

import (
	"container/heap"
	"slices"
	"strings"
)

// Wish is what a lease of a command touches, as names of claims, and of their parts.
type Wish struct {
	// Asks are the claims, and parts of them, that the lease asks for, Gives those that it holds and does not ask for any more.
	Asks, Gives []string
	// Alone is false for a lease whose end matters to others whatever they ask for.
	Alone bool
}

// WishOf is what a request asks for, and gives up of what its deployment group holds, or has objects for (under: the names of
// claims). An IP endpoint is asked for by itself, as its address may not be known yet.
func WishOf(request Request, held []*Claim, under []string) Wish {
	w := Wish{Alone: len(request.Endpoints) == 0}
	asks := func(name string, parts []Part) {
		w.Asks = append(w.Asks, name)
		for _, p := range parts {
			w.Asks = append(w.Asks, partName(name, p))
		}
	}
	for _, hold := range request.HostHolds() {
		asks(hold.Name(), hold.Parts)
	}
	for _, e := range request.Endpoints {
		asks(EndpointName(e.SharingKey), e.EndpointHold(request.Lease).Parts)
		for _, a := range e.Addresses {
			asks(AddressName(a), nil)
		}
	}
	gives := func(name string) {
		if !slices.Contains(w.Asks, name) {
			w.Gives = append(w.Gives, name)
		}
	}
	for _, c := range held {
		gives(c.Name())
		of := c.Name()
		if c.Kind == Address {
			of = EndpointName(c.SharingKey)
			gives(of)
		}
		for _, p := range c.PartsOf(request.Lease.Group()) {
			if p.For == "" && slices.Contains(w.Asks, of) { // else all of it is given
				gives(partName(of, p))
			}
		}
	}
	for _, name := range under {
		gives(name)
	}
	return w
}

// partName is the name of a part of a claim; none of a claim has a space.
func partName(claim string, p Part) string { return claim + " " + p.Key }

// GivesAddress is true for a lease that gives up an address.
func (w Wish) GivesAddress() bool {
	return slices.ContainsFunc(w.Gives, func(name string) bool { return strings.HasPrefix(name, addressPrefix) })
}

// Serving is the order in which the leases of a command are served.
type Serving struct {
	// Order are the places of the leases. After has for each lease, by its place, those that are served before it. Given says
	// of each whether it has to read again then: one of these gives up what it asks for, or takes a port of the same endpoint.
	Order []int
	After [][]int
	Given []bool
	// Alone says of each lease whether what becomes of it changes nothing for the others: it asks for hosts only, and no
	// other lease touches one of them. A lease that fails gives back what another of its owner would get, and an address that
	// any other could be given.
	Alone []bool
}

// touch is a lease that asks for a claim or gives it up, or does so with a host below the wildcard that the claim is for.
type touch struct {
	lease        int
	gives, below bool
}

// Serve orders the leases of a command. Of those that ask for the same thing the first in the input comes first, and those that
// give it up come before them, in the order of the input: the last of these leaves nothing of it. A wildcard and a host below it
// count as the same thing. Where leases give to each other in a circle, the first of them in the input is served first.
func Serve(wishes []Wish) Serving {
	due, givers, alone := dues(wishes)
	s := Serving{After: make([][]int, len(wishes)), Given: make([]bool, len(wishes)), Alone: alone}
	follow, free, served := make([][]int, len(wishes)), &places{}, make([]bool, len(wishes))
	for i := range wishes {
		for other := range due[i] {
			follow[other] = append(follow[other], i)
		}
		if len(due[i]) == 0 {
			*free = append(*free, i) // in order, and so a heap
		}
	}
	for first := 0; len(s.Order) < len(wishes); {
		next := 0
		if free.Len() > 0 {
			next = heap.Pop(free).(int)
		} else {
			for served[first] {
				first++
			}
			next = first
		}
		served[next], s.Order = true, append(s.Order, next)
		for other := range due[next] { // a circle
			if !due[other][next] {
				due[other][next] = true
				follow[next] = append(follow[next], other)
			}
		}
		slices.Sort(follow[next])
		for _, i := range follow[next] {
			if !due[i][next] || served[i] {
				continue
			}
			delete(due[i], next)
			s.After[i], s.Given[i] = append(s.After[i], next), s.Given[i] || givers[i][next]
			if len(due[i]) == 0 {
				heap.Push(free, i)
			}
		}
	}
	return s
}

// places are a heap of the places of leases (heap.Interface).
type places []int

func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i] < p[j] }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// Push adds a place.
func (p *places) Push(place any) { *p = append(*p, place.(int)) }

// Pop takes the last place off.
func (p *places) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// isPort reports whether a name is that of a port of an IP endpoint. Akash has one ProviderLeasedIP for it, whichever addresses
// the leases name: who asks for it later has to see it.
func isPort(name string) bool {
	return strings.HasPrefix(name, endpointPrefix) && strings.Contains(name, " ")
}

// dues are the leases that each lease is to follow, and those of all that give it something; alone is Serving.Alone.
func dues(wishes []Wish) (due, givers []map[int]bool, alone []bool) {
	touched := touches(wishes)
	due, givers, alone = make([]map[int]bool, len(wishes)), make([]map[int]bool, len(wishes)), make([]bool, len(wishes))
	for i, w := range wishes {
		due[i], givers[i], alone[i] = map[int]bool{}, map[int]bool{}, w.Alone
		asks := func(name string, below bool) {
			for _, other := range touched[name] {
				if other.lease == i || below && other.below {
					continue
				}
				alone[i] = false
				if other.gives || other.lease < i && isPort(name) {
					givers[i][other.lease] = true
				}
				if other.gives || other.lease < i {
					due[i][other.lease] = true
				}
			}
		}
		for _, name := range w.Asks {
			asks(name, false)
			if over := nameAbove(name); over != "" {
				asks(over, true)
			}
		}
		for _, name := range w.Gives {
			for _, other := range touched[name] {
				if other.gives && !other.below && other.lease < i {
					due[i][other.lease] = true
				}
			}
		}
	}
	for i := range wishes { // who gives to the other comes first, whatever else both ask for
		for other := range givers[i] {
			if !givers[other][i] {
				delete(due[other], i)
			}
		}
	}
	return due, givers, alone
}

// nameAbove is the name of the claim on the wildcard that covers a claim's host; empty for any other claim, and for a part.
func nameAbove(name string) string {
	if strings.Contains(name, " ") {
		return ""
	}
	if over := WildcardOver(name); over != "" && HostName(over) != name {
		return HostName(over)
	}
	return ""
}

// touches are the leases that touch each claim.
func touches(wishes []Wish) map[string][]touch {
	out := map[string][]touch{}
	for i, w := range wishes {
		add := func(names []string, gives bool) {
			for _, name := range names {
				out[name] = append(out[name], touch{i, gives, false})
				if over := nameAbove(name); over != "" {
					out[over] = append(out[over], touch{i, gives, true})
				}
			}
		}
		add(w.Asks, false)
		add(w.Gives, true)
	}
	return out
}
