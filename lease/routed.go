package lease

import "slices"

// Routes is the definition as a reader that is not asked for workloads gives it: what the lease exposes, without what
// it runs and without the ports that only its own services reach. Its hash is its own. What is kept of a definition,
// and what its routes carry, is that of Routes: environments and images are no part of either. A definition without
// workloads is returned as it is.
func (d *Definition) Routes() *Definition {
	if d.Workloads == nil {
		return d
	}
	out := *d
	out.Workloads, out.Services = nil, nil
	for _, s := range d.Services {
		exposes := make([]Expose, 0, len(s.Expose))
		for _, e := range s.Expose {
			if !e.Global && len(e.Hosts) == 0 && e.IP == "" {
				continue
			}
			e.Peer, e.Sequence, e.SaysAs = "", 0, false
			exposes = append(exposes, e)
		}
		if len(exposes) > 0 {
			s.Expose = slices.Clip(exposes)
			out.Services = append(out.Services, s)
		}
	}
	out.Hash = Sum(&out)
	return &out
}
