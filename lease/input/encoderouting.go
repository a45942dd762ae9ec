package input

import "github.com/akash-net/kubectl-akash-net/lease"

// TLS is a lease.TLS.
type TLS struct {
	Termination             string  `json:"termination,omitempty"`
	Insecure                string  `json:"insecure,omitempty"`
	SecretName              string  `json:"secretName,omitempty"`
	DestinationCASecretName string  `json:"destinationCASecretName,omitempty"`
	Issuer                  *Issuer `json:"issuer,omitempty"`
}

// Issuer is a lease.Issuer.
type Issuer struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"`
	Group string `json:"group,omitempty"`
}

// Backend is a lease.Backend.
type Backend struct {
	Service string `json:"service"`
	Port    uint16 `json:"port,omitempty"`
	Weight  uint16 `json:"weight"`
}

// Sticky is a lease.Sticky.
type Sticky struct {
	Cookie   string `json:"cookie,omitempty"`
	SameSite string `json:"sameSite,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Headers are the header rules of a lease.Routing.
type Headers struct {
	Request  []Header `json:"request,omitempty"`
	Response []Header `json:"response,omitempty"`
}

// Header is a lease.HeaderRule.
type Header struct {
	Name   string `json:"name"`
	Action string `json:"action"`
	Value  string `json:"value,omitempty"`
}

func encodeRouting(r *lease.Routing, out *Expose) {
	if t := r.TLS; t != nil {
		out.TLS = &TLS{
			Termination: string(t.Termination), Insecure: string(t.Insecure),
			SecretName: t.SecretName, DestinationCASecretName: t.DestinationCASecretName,
		}
		if t.Issuer != nil {
			issuer := Issuer(*t.Issuer)
			out.TLS.Issuer = &issuer
		}
	}
	out.Weight = r.Weight
	for _, b := range r.Backends {
		out.AlternateBackends = append(out.AlternateBackends, Backend{Service: b.Service, Port: b.Port, Weight: b.Weight})
	}
	if s := r.Sticky; s != nil {
		out.Sticky = &Sticky{Cookie: s.Cookie, SameSite: s.SameSite, Disabled: s.Disabled}
	}
	if len(r.RequestHeaders)+len(r.ResponseHeaders) > 0 {
		out.Headers = &Headers{Request: encodeHeaders(r.RequestHeaders), Response: encodeHeaders(r.ResponseHeaders)}
	}
	if len(r.Annotations) > 0 {
		out.Annotations = make(map[string]string, len(r.Annotations))
		for _, a := range r.Annotations {
			out.Annotations[a.Key] = a.Value
		}
	}
	out.Labels = r.Labels
}

func encodeHeaders(rules []lease.HeaderRule) []Header {
	var out []Header
	for _, r := range rules {
		h := Header{Name: r.Name, Action: "Set", Value: r.Value}
		if r.Delete {
			h.Action = "Delete"
		}
		out = append(out, h)
	}
	return out
}
