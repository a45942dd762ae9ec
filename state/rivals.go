package state

import (
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Rivals finds, among the requests of one run, those that ask for what an earlier request of another
// owner asks for: the same host, wildcard or address, or a wildcard and a host that it covers. The
// answer has for each request the earlier one by the name of the claim. What the ledger has is left
// out: the claim decides there.
func Rivals(requests []Request, cfg *config.ProviderConfig, claimed func(name string) bool) []map[string]Holder {
	r := rivalFinder{claimed: claimed, first: map[string]asker{}, below: map[string][2]asker{}}
	out := make([]map[string]Holder, len(requests))
	for i, req := range requests {
		note := func(hold Hold, other asker) {
			if out[i] == nil {
				out[i] = map[string]Holder{}
			}
			out[i][hold.Name()] = Holder{Owner: other.lease.Owner, Lease: other.lease, Input: other.at.String()}
		}
		for _, hold := range req.HostHolds() {
			me := asker{req.Lease, hold.At}
			if other, found := r.host(hold, me); found {
				note(hold, other)
			}
		}
		if cfg.IP.Mode == config.ModePool {
			continue
		}
		for _, e := range req.Endpoints {
			for _, a := range e.Addresses {
				hold := e.Hold(req.Lease, a)
				if other, found := r.same(hold.Name(), asker{req.Lease, e.At}); found {
					note(hold, other)
				}
			}
		}
	}
	return out
}

// asker is a lease that asks for a thing, and where it does.
type asker struct {
	lease lease.ID
	at    lease.Place
}

type rivalFinder struct {
	claimed func(string) bool
	// first is who asks for a claim first; below are the first two owners that ask for hosts which a
	// wildcard covers.
	first map[string]asker
	below map[string][2]asker
}

// same is the earlier asker of another owner for a claim.
func (r *rivalFinder) same(name string, me asker) (asker, bool) {
	if r.claimed(name) {
		return asker{}, false
	}
	other, known := r.first[name]
	if !known {
		r.first[name] = me
		return asker{}, false
	}
	return other, other.lease.Owner != me.lease.Owner
}

// host is same for a host or a wildcard, with those that it covers or that cover it.
func (r *rivalFinder) host(hold Hold, me asker) (asker, bool) {
	name := hold.Name()
	if other, found := r.same(name, me); found || r.claimed(name) {
		return other, found
	}
	if strings.HasPrefix(hold.Thing, "*.") {
		for _, other := range r.below[hold.Thing] {
			if other.lease.Owner != "" && other.lease.Owner != me.lease.Owner {
				return other, true
			}
		}
		return asker{}, false
	}
	over := WildcardOver(hold.Thing)
	if over == "" || r.claimed(HostName(over)) {
		return asker{}, false
	}
	switch below := r.below[over]; {
	case below[0].lease.Owner == "":
		r.below[over] = [2]asker{me}
	case below[1].lease.Owner == "" && below[0].lease.Owner != me.lease.Owner:
		r.below[over] = [2]asker{below[0], me}
	}
	other, known := r.first[HostName(over)]
	return other, known && other.lease.Owner != me.lease.Owner
}
