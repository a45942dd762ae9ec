package lease

import (
	"cmp"
	"slices"
	"strings"
)

// canonical sorts, and leaves out what equals a default. The order of exposes is that of Akash's
// manifest: by port, protocol, global first; then by path, and by the service that may connect.
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
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), globalFirst, cmp.Compare(a.Path, b.Path), cmp.Compare(a.Peer, b.Peer))
}

// WithoutDefaults is the reverse of WithDefaults: what equals Akash's defaults is left out.
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

// canonical is what the routing says, with defaults filled in or left out, and lists whose order
// means nothing sorted; nil where it says nothing.
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
	out.Backends = sorted(r.Backends, func(a, b Backend) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), cmp.Compare(a.Port, b.Port))
	})
	out.Annotations = sorted(r.Annotations, func(a, b RouteAnnotation) int { return strings.Compare(a.Key, b.Key) })
	if out.TLS == nil && out.Weight == nil && len(out.Backends) == 0 && out.Sticky == nil && len(out.RequestHeaders) == 0 &&
		len(out.ResponseHeaders) == 0 && len(out.Annotations) == 0 && len(out.Labels) == 0 {
		return nil
	}
	return &out
}

// certManager is the group of cert-manager's own issuers.
const certManager = "cert-manager.io"

// canonical fills in the kind of cert-manager's issuers that its annotations stand for too, and
// leaves out its group.
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

func sorted[T any](list []T, compare func(a, b T) int) []T {
	list = slices.Clone(list)
	slices.SortStableFunc(list, compare)
	return list
}
