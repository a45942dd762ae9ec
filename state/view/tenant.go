package view

import (
	"strconv"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Tenant is the lease of a row. Sometimes only Owner is known: the labels of other clients' objects may be incomplete.
type Tenant struct {
	// Lease is owner/dseq/gseq/oseq/provider, or empty if it is unknown.
	Lease     string `json:"lease"`
	Owner     string `json:"owner"`
	DSeq      uint64 `json:"dseq"`
	GSeq      uint32 `json:"gseq"`
	OSeq      uint32 `json:"oseq"`
	Provider  string `json:"provider"`
	Namespace string `json:"namespace"`
}

// Labels returns the labels that select the tenant's rows: those that Akash sets on the objects and the namespace of a
// lease.
func (t *Tenant) Labels() map[string]string {
	labels := map[string]string{lease.LabelManaged: "true"}
	if t.Owner != "" {
		labels[lease.LabelOwner] = t.Owner
	}
	if t.DSeq > 0 { // the order of a bid has no provider yet
		labels[lease.LabelDSeq] = strconv.FormatUint(t.DSeq, 10)
		labels[lease.LabelGSeq] = strconv.FormatUint(uint64(t.GSeq), 10)
		labels[lease.LabelOSeq] = strconv.FormatUint(uint64(t.OSeq), 10)
	}
	if t.Lease != "" {
		labels[lease.LabelProvider] = t.Provider
		labels[lease.LabelNamespace] = t.Namespace
	}
	return labels
}

// bookBuilder computes one book. The rows of a lease share their tenant.
type bookBuilder struct {
	cfg     *config.ProviderConfig
	now     time.Time
	tenants map[lease.ID]*Tenant
}

func (f *bookBuilder) tenant(id lease.ID) *Tenant {
	t := f.tenants[id]
	if t == nil {
		t = newTenant(id).complete()
		f.tenants[id] = t
	}
	return t
}

// newTenant returns a tenant without the texts that complete sets.
func newTenant(id lease.ID) *Tenant {
	return &Tenant{Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq, OSeq: id.OSeq, Provider: id.Provider}
}

// complete sets the texts of a tenant whose lease is known.
func (t *Tenant) complete() *Tenant {
	if t.Lease == "" && t.Provider != "" {
		t.Lease, t.Namespace = t.ID().String(), t.ID().Namespace()
	}
	return t
}

// tenantOf returns the tenant that an object's labels name, as far as they do.
func (f *bookBuilder) tenantOf(o state.Labelled) *Tenant {
	if o.HasLease {
		return f.tenant(o.Lease)
	}
	return &Tenant{Owner: o.Owner, Namespace: o.Namespace}
}
