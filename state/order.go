package state

import "slices"

// Wish names the claims that one lease of a command touches.
type Wish struct {
	// Asks are the claims that the lease asks for. Gives are those that it holds and no longer asks for.
	Asks, Gives []string
	// Alone is false for a lease whose result matters to every other lease.
	Alone bool
}

// WishOf returns the claims that the request asks for, and the held ones that it gives up. It lists an IP endpoint by
// its own name, because its address may not be known yet.
func WishOf(request Request, held []*Claim) Wish {
	w := Wish{Alone: len(request.Endpoints) == 0}
	for _, hold := range request.HostHolds() {
		w.Asks = append(w.Asks, hold.Name())
	}
	for _, e := range request.Endpoints {
		w.Asks = append(w.Asks, EndpointName(e.SharingKey))
		for _, a := range e.Addresses {
			w.Asks = append(w.Asks, AddressName(a))
		}
	}
	gives := func(name string) {
		if !slices.Contains(w.Asks, name) {
			w.Gives = append(w.Gives, name)
		}
	}
	for _, c := range held {
		gives(c.Name())
		if c.Kind == Address {
			gives(EndpointName(c.SharingKey))
		}
	}
	return w
}

// Serving is the order in which a command serves its leases.
type Serving struct {
	// Order lists the indexes of the leases. After lists, by lease, the leases that must be served before it.
	Order []int
	After [][]int
	// Alone is true, by lease, if the result for the lease changes nothing for the others: it asks for hosts only, and
	// no other lease touches one of them. A lease that fails gives back what another lease of its owner would get, or
	// an address that could go to any other lease.
	Alone []bool
}

// touch is a lease that asks for a claim or gives it up. below is true if it does so with a host that the wildcard of
// the claim covers.
type touch struct {
	lease        int
	gives, below bool
}

// Serve orders the leases of a command. Leases that ask for the same thing keep the order of the input, after a lease
// that gives it up. A wildcard and a host that it covers count as the same thing. In a circle of leases that wait for
// each other, the first in the input is served first.
func Serve(wishes []Wish) Serving {
	s := Serving{After: make([][]int, len(wishes)), Alone: make([]bool, len(wishes))}
	touched, due := touches(wishes), make([]map[int]bool, len(wishes))
	for i, w := range wishes {
		due[i], s.Alone[i] = map[int]bool{}, w.Alone
		asks := func(name string, below bool) {
			for _, other := range touched[name] {
				if other.lease == i || below && other.below {
					continue
				}
				s.Alone[i] = false
				if other.gives || other.lease < i {
					due[i][other.lease] = true
				}
			}
		}
		for _, name := range w.Asks {
			asks(name, false)
			if over := wildcardName(name); over != "" {
				asks(over, true)
			}
		}
	}
	for served := make([]bool, len(wishes)); len(s.Order) < len(wishes); {
		next := -1
		for i := range wishes {
			if !served[i] && (next < 0 || len(due[i]) == 0) {
				if next = i; len(due[i]) == 0 {
					break
				}
			}
		}
		served[next], s.Order = true, append(s.Order, next)
		for other := range due[next] { // next was served first of a circle: they follow it
			due[other][next] = true
		}
		for i := range wishes {
			if due[i][next] && !served[i] {
				delete(due[i], next)
				s.After[i] = append(s.After[i], next)
			}
		}
	}
	return s
}

// wildcardName returns the name of the claim on the wildcard that covers the host of a claim. It returns "" for any
// other claim.
func wildcardName(name string) string {
	if over := WildcardOver(name); over != "" && HostName(over) != name {
		return HostName(over)
	}
	return ""
}

// touches returns the leases that touch each claim.
func touches(wishes []Wish) map[string][]touch {
	out := map[string][]touch{}
	for i, w := range wishes {
		add := func(names []string, gives bool) {
			for _, name := range names {
				out[name] = append(out[name], touch{i, gives, false})
				if over := wildcardName(name); over != "" {
					out[over] = append(out[over], touch{i, gives, true})
				}
			}
		}
		add(w.Asks, false)
		add(w.Gives, true)
	}
	return out
}
