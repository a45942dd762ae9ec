package objects

import (
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Summary is how the lease of the run stands.
func (r *Objects) Summary() *report.Summary {
	s := &report.Summary{Withheld: len(r.WithheldHosts) + len(r.WithheldPorts), Changed: r.Changed, Took: time.Since(r.Start)}
	for _, h := range r.Holds {
		if !h.Want.Kind.HasPorts() {
			s.Hosts = append(s.Hosts, h.Want.Thing)
			if r.unrouted(h.Want.Thing) {
				s.Unrouted++
			}
		} else if h.Want.Kind == state.Address {
			s.Addresses = append(s.Addresses, h.Want.Thing)
		}
	}
	s.Addresses = append(s.Addresses, r.grants...)
	slices.Sort(s.Hosts)
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
	return s
}

// unrouted is true for a host of the definition that is only claimed.
func (r *Objects) unrouted(host string) bool {
	return r.Def != nil && slices.ContainsFunc(r.Def.Unrouted(), func(h lease.Host) bool { return h.Name == host })
}
