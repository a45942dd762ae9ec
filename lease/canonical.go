package lease

import (
	"cmp"
	"slices"
	"strings"
)

// canonical sorts services, IP endpoints and exposes, and clears values that equal Akash's defaults. Exposes have the
// order of Akash's manifest: port, protocol, global before internal, then path, then the connecting service.
func canonical(d *Definition) {
	slices.SortStableFunc(d.Services, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(d.IPEndpoints, func(a, b IPEndpoint) int { return cmp.Compare(a.Name, b.Name) })
	for i := range d.Services {
		exposes := d.Services[i].Expose
		for j := range exposes {
			e := &exposes[j]
			if e.As == e.Port {
				e.As = 0
			}
			e.HTTP = e.HTTP.WithoutDefaults()
			if e.Path == "/" {
				e.Path = ""
			}
			e.Routing = e.Routing.canonical()
		}
		slices.SortStableFunc(exposes, compareExpose)
	}
}

func compareExpose(a, b Expose) int {
	globalFirst := 0
	if a.Global != b.Global {
		globalFirst = 1
		if a.Global {
			globalFirst = -1
		}
	}
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), globalFirst,
		cmp.Compare(a.Path, b.Path), cmp.Compare(a.Peer, b.Peer))
}

// hostNames returns the names of the hosts, sorted.
func (e *Expose) hostNames() []string {
	names := make([]string, len(e.Hosts))
	for i, h := range e.Hosts {
		names[i] = h.Name
	}
	slices.Sort(names)
	return names
}

// WithoutDefaults clears the options that equal Akash's defaults; it is the reverse of WithDefaults.
func (o HTTPOptions) WithoutDefaults() HTTPOptions {
	d := HTTPOptions{}.WithDefaults()
	if o.MaxBodySize == d.MaxBodySize {
		o.MaxBodySize = 0
	}
	if o.ReadTimeout == d.ReadTimeout {
		o.ReadTimeout = 0
	}
	if o.SendTimeout == d.SendTimeout {
		o.SendTimeout = 0
	}
	if o.NextTries == d.NextTries {
		o.NextTries = 0
	}
	if len(o.NextCases) == 0 || slices.Equal(o.NextCases, d.NextCases) {
		o.NextCases = nil
	}
	return o
}

// canonical returns a copy of the routing with the default termination filled in, the default weight cleared, and lists
// without a meaningful order sorted. It returns nil if the routing sets nothing.
func (r *Routing) canonical() *Routing {
	if r == nil {
		return nil
	}
	out := *r
	if r.TLS != nil {
		tls := *r.TLS
		switch {
		case tls.Termination != "":
		case tls.DestinationCASecretName != "":
			tls.Termination = Reencrypt
		default:
			tls.Termination = Edge
		}
		tls.Issuer = tls.Issuer.canonical()
		out.TLS = &tls
	}
	if len(r.Backends) > 0 && r.Weight != nil && *r.Weight == DefaultWeight {
		out.Weight = nil
	}
	out.Backends = slices.SortedStableFunc(slices.Values(r.Backends), func(a, b Backend) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), cmp.Compare(a.Port, b.Port))
	})
	out.Annotations = slices.SortedStableFunc(slices.Values(r.Annotations), func(a, b RouteAnnotation) int {
		return strings.Compare(a.Key, b.Key)
	})
	return out.OrNil()
}

// certManager is the API group of cert-manager's own issuers.
const certManager = "cert-manager.io"

// canonical clears cert-manager's own API group. If group and kind are both empty, it sets the kind Issuer, which is
// cert-manager's default.
func (i *Issuer) canonical() *Issuer {
	if i == nil {
		return nil
	}
	out := *i
	if out.Group == certManager {
		out.Group = ""
	}
	if out.Kind == "" && out.Group == "" {
		out.Kind = "Issuer"
	}
	return &out
}
