package state

import (
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Rivals finds requests of one run that ask for what an earlier request of another owner asks for: the same host,
// wildcard or address, or a wildcard and a host that it covers. It returns for each request the earlier requesters, by
// the name of the claim. It skips existing claims, which decide for themselves.
func Rivals(requests []Request, cfg *config.ProviderConfig, claimed func(name string) bool) []map[string]Holder {
	r := rivalFinder{claimed: claimed, first: map[string]requester{}, below: map[string][2]requester{}}
	out := make([]map[string]Holder, len(requests))
	for i, req := range requests {
		note := func(hold Hold, other requester) {
			if out[i] == nil {
				out[i] = map[string]Holder{}
			}
			out[i][hold.Name()] = Holder{Owner: other.lease.Owner, Lease: other.lease, Input: other.at.String()}
		}
		for _, hold := range req.HostHolds() {
			me := requester{req.Lease, hold.At}
			if other, found := r.findHost(hold, me); found {
				note(hold, other)
			}
		}
		if cfg.IP.Mode == config.ModePool {
			continue
		}
		for _, e := range req.Endpoints {
			for _, a := range e.Addresses {
				hold := e.Hold(req.Lease, a)
				if other, found := r.findSame(hold.Name(), requester{req.Lease, e.At}); found {
					note(hold, other)
				}
			}
		}
	}
	return out
}

// requester is a lease that asks for a thing, and the place in the input where it does.
type requester struct {
	lease lease.ID
	at    lease.Place
}

type rivalFinder struct {
	claimed func(string) bool
	// first is the first requester of each claim. below are, by wildcard, the first two requesters with different
	// owners that ask for a host that the wildcard covers.
	first map[string]requester
	below map[string][2]requester
}

// findSame returns the first requester of the claim if it has another owner. It records me if there is none yet.
func (r *rivalFinder) findSame(name string, me requester) (requester, bool) {
	if r.claimed(name) {
		return requester{}, false
	}
	other, known := r.first[name]
	if !known {
		r.first[name] = me
		return requester{}, false
	}
	return other, other.lease.Owner != me.lease.Owner
}

// findHost is findSame for a host or a wildcard. It also finds requesters of hosts that the wildcard covers, or of the
// wildcard that covers the host.
func (r *rivalFinder) findHost(hold Hold, me requester) (requester, bool) {
	name := hold.Name()
	if other, found := r.findSame(name, me); found || r.claimed(name) {
		return other, found
	}
	if strings.HasPrefix(hold.Thing, "*.") {
		for _, other := range r.below[hold.Thing] {
			if other.lease.Owner != "" && other.lease.Owner != me.lease.Owner {
				return other, true
			}
		}
		return requester{}, false
	}
	over := WildcardOver(hold.Thing)
	if over == "" || r.claimed(HostName(over)) {
		return requester{}, false
	}
	switch below := r.below[over]; {
	case below[0].lease.Owner == "":
		r.below[over] = [2]requester{me}
	case below[1].lease.Owner == "" && below[0].lease.Owner != me.lease.Owner:
		r.below[over] = [2]requester{below[0], me}
	}
	other, known := r.first[HostName(over)]
	return other, known && other.lease.Owner != me.lease.Owner
}
