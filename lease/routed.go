package lease

import "slices"

// Routes is what the lease exposes, without what it runs and without the ports that only its own services reach, save
// those of services to which a route leads: of Akash's formats what a reader gives that is not asked for workloads. Its
// hash is its own. What is kept of a definition, and what its routes carry, is that of Routes: environments and images
// are no part of either. A definition without workloads is returned as it is.
func (d *Definition) Routes() *Definition {
	if d.Workloads == nil {
		return d
	}
	out := *d
	out.Workloads, out.Services = nil, nil
	reached := d.backends()
	for _, s := range d.Services {
		exposes := make([]Expose, 0, len(s.Expose))
		for _, e := range s.Expose {
			if !e.Global && len(e.Hosts) == 0 && e.IP == "" && !reached[s.Name] {
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

// backends are the services that share the traffic of a route.
func (d *Definition) backends() map[string]bool {
	services := map[string]bool{}
	for _, s := range d.Services {
		for _, e := range s.Expose {
			if e.Routing == nil {
				continue
			}
			for _, b := range e.Routing.Backends {
				services[b.Service] = true
			}
		}
	}
	return services
}
