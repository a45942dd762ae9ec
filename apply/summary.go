package apply

import (
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// summary is how the lease of the run stands.
func (r *objects) summary() *Summary {
	s := &Summary{Withheld: len(r.withheldHosts) + len(r.withheldPorts), Changed: r.changed, Took: time.Since(r.start)}
	for _, h := range r.holds {
		if !h.want.Kind.HasPorts() {
			s.Hosts = append(s.Hosts, h.want.Thing)
			if r.unrouted(h.want.Thing) {
				s.Unrouted++
			}
		} else if h.want.Kind == state.Address {
			s.Addresses = append(s.Addresses, h.want.Thing)
		}
	}
	s.Addresses = append(s.Addresses, r.grants...)
	slices.Sort(s.Hosts)
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
	return s
}

// unrouted is true for a host of the definition that is only claimed.
func (r *objects) unrouted(host string) bool {
	return r.def != nil && slices.ContainsFunc(r.def.Unrouted(), func(h lease.Host) bool { return h.Name == host })
}
