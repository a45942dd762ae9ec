package render

import "github.com/akash-net/kubectl-akash-net/kinds"

// providerHostSpec is the spec of Akash's ProviderHost (provider: pkg/apis/akash.network/v2beta2/provider_host.go).
// Here DSeq is a number.
type providerHostSpec struct {
	DSeq         uint64 `json:"dseq"`
	ExternalPort uint16 `json:"external_port"`
	GSeq         uint32 `json:"gseq"`
	Hostname     string `json:"hostname"`
	OSeq         uint32 `json:"oseq"`
	Owner        string `json:"owner"`
	Provider     string `json:"provider"`
	ServiceName  string `json:"service_name"`
}

// providerHost renders the object through which Akash's hostname operator knows the host. It is named after the host,
// so a second one cannot exist.
func (l *leased) providerHost(r route) Object {
	return NewCustom(kinds.ProviderHost, Meta{
		Annotations: l.annotations(),
		Labels:      l.labels,
		Name:        r.host,
		Namespace:   l.cfg.ManifestNamespace,
	}, providerHostSpec{
		DSeq:         l.id.DSeq,
		ExternalPort: r.port,
		GSeq:         l.id.GSeq,
		Hostname:     r.host,
		OSeq:         l.id.OSeq,
		Owner:        l.id.Owner,
		Provider:     l.id.Provider,
		ServiceName:  r.service,
	})
}
