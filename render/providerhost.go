package render

import "github.com/akash-net/kubectl-akash-net/kinds"

// providerHostSpec is the spec of Akash's ProviderHost (provider:
// pkg/apis/akash.network/v2beta2/provider_host.go). DSeq is a number here.
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

// providerHost is the object by which Akash's hostname operator knows the host. Its name is the
// host, so that there cannot be two.
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
