package render

import (
	"strconv"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// providerLeasedIPSpec is the spec of Akash's ProviderLeasedIP (provider:
// pkg/apis/akash.network/v2beta2/provider_lease_ip.go).
type providerLeasedIPSpec struct {
	ExternalPort uint16         `json:"external_port"`
	LeaseID      LeaseIDSpec    `json:"lease_id"`
	Port         uint16         `json:"port"`
	Protocol     lease.Protocol `json:"protocol"`
	ServiceName  string         `json:"service_name"`
	SharingKey   string         `json:"sharing_key"`
}

// LeaseIDSpec is a lease ID in Akash's objects. Here DSeq is a string.
type LeaseIDSpec struct {
	DSeq     string `json:"dseq"`
	GSeq     uint32 `json:"gseq"`
	OSeq     uint32 `json:"oseq"`
	Owner    string `json:"owner"`
	Provider string `json:"provider"`
}

// NewLeaseIDSpec returns the lease ID as Akash's objects have it.
func NewLeaseIDSpec(id lease.ID) LeaseIDSpec {
	return LeaseIDSpec{
		DSeq: strconv.FormatUint(id.DSeq, 10), GSeq: id.GSeq, OSeq: id.OSeq, Owner: id.Owner, Provider: id.Provider,
	}
}

// providerLeasedIP renders the object through which Akash's IP operator knows the leased port. The last three labels
// have no prefix, as in Akash's own objects.
func (l *leased) providerLeasedIP(service string, e lease.Expose) Object {
	key := lease.SharingKey(l.id.Owner, e.IP)
	return NewCustom(kinds.ProviderLeasedIP, Meta{
		Annotations: l.annotations(),
		Labels: l.labelsAnd(
			"service-name", service,
			"external-port", strconv.Itoa(int(e.ExternalPort())),
			"proto", string(e.Protocol)),
		Name:      lease.LeasedIPName(key, e.Protocol, e.ExternalPort()),
		Namespace: l.cfg.ManifestNamespace,
	}, providerLeasedIPSpec{
		ExternalPort: e.ExternalPort(),
		LeaseID:      NewLeaseIDSpec(l.id),
		Port:         e.Port,
		Protocol:     e.Protocol,
		ServiceName:  service,
		SharingKey:   key,
	})
}
