package state

import (
	"cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// At returns where the input asks for the first thing.
func (r Request) At() lease.Place {
	for _, w := range r.Hosts {
		return w.At
	}
	for _, e := range r.Endpoints {
		return e.At
	}
	return lease.Place{}
}

// PlaceOf returns where the input asks for a part of a claim: the place of its path or port, otherwise that of the thing.
func (r Request) PlaceOf(h Hold, p Part) lease.Place {
	for _, w := range r.Hosts {
		if !h.Kind.HasPorts() && w.Host == h.Thing && cmp.Or(w.Path, "/") == cmp.Or(p.Path, "/") {
			return w.At
		}
	}
	for _, e := range r.Endpoints {
		for _, w := range e.Ports {
			if h.Kind.HasPorts() && e.SharingKey == h.SharingKey && w.Key() == p.Key {
				return w.At
			}
		}
	}
	return h.At
}
