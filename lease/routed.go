package lease

import "slices"

// Routes returns the definition without its workloads, as a reader that is not asked for workloads reads it from
// Akash's formats: without ports that only services of the lease reach, except those of services that are backends of a
// route. The ledger and the routes keep only this part, so that they contain no environment and no image. A definition
// without workloads is returned unchanged.
func (d *Definition) Routes() *Definition {
	if d.Workloads == nil {
		return d
	}
	out := *d
	out.Workloads, out.Services = nil, d.routed()
	return &out
}

// routed returns the services with the ports that Routes keeps.
func (d *Definition) routed() []Service {
	var out []Service
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
			out = append(out, s)
		}
	}
	return out
}

// backends returns the names of the services that share the traffic of a route.
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
