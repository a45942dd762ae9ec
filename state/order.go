package state

import "slices"

// Wish is what a lease of a command touches, as names of claims.
type Wish struct {
	// Asks are the claims that the lease asks for, Gives those that it holds and does not ask for any more.
	Asks, Gives []string
	// Alone is false for a lease whose end matters to others whatever they ask for.
	Alone bool
}

// WishOf is what a request asks for, and gives up of what its deployment group holds. An IP endpoint is asked for by itself,
// as its address may not be known yet.
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

// Serving is the order in which the leases of a command are served.
type Serving struct {
	// Order are the places of the leases. After has for each lease, by its place, those that are served before it.
	Order []int
	After [][]int
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

// Serve orders the leases of a command. Of those that ask for the same thing the first in the input comes first, and one that
// gives it up comes before them. A wildcard and a host below it count as the same thing. Where leases give to each other in a
// circle, the first of them in the input is served first.
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
			if over := nameAbove(name); over != "" {
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
		for other := range due[next] { // a circle
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

// nameAbove is the name of the claim on the wildcard that covers a claim's host; empty for any other claim.
func nameAbove(name string) string {
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
