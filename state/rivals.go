package state

import (
	"slices"
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

// Before says for each request of one run which earlier ones are served before it: the last that asks for the same host,
// wildcard, address or IP endpoint. So of several that ask for the same thing the first in the input gets it, however many
// are served at a time.
func Before(requests []Request) [][]int {
	last, before := map[string]int{}, make([][]int, len(requests))
	for i, req := range requests {
		for _, name := range req.claims() {
			if earlier, asked := last[name]; asked && earlier != i && !slices.Contains(before[i], earlier) {
				before[i] = append(before[i], earlier)
			}
			last[name] = i
		}
	}
	return before
}

// claims are the names of the claims that a request asks for. An IP endpoint without an address is one by itself.
func (r Request) claims() (names []string) {
	for _, hold := range r.HostHolds() {
		names = append(names, hold.Name())
	}
	for _, e := range r.Endpoints {
		names = append(names, EndpointName(e.SharingKey))
		for _, a := range e.Addresses {
			names = append(names, AddressName(a))
		}
	}
	return names
}

// Alone says of each request of one run whether what becomes of it changes nothing for the others: it asks for hosts
// only, and no other request asks for one of them, of whichever owner. A lease that fails gives back what another of its
// owner would get, and an address that any other could be given.
func Alone(requests []Request) []bool {
	asked := map[string]int{}
	for _, req := range requests {
		for _, name := range req.claims() {
			asked[name]++
		}
	}
	alone := make([]bool, len(requests))
	for i, req := range requests {
		alone[i] = len(req.Endpoints) == 0 && !slices.ContainsFunc(req.claims(), func(name string) bool { return asked[name] > 1 })
	}
	return alone
}
