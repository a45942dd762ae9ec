package view

import (
	"strconv"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Tenant is the lease that a row belongs to. Only Owner may be known: the labels of foreign
// objects are not always whole.
type Tenant struct {
	// Lease is owner/dseq/gseq/oseq/provider, empty where it is not known.
	Lease     string `json:"lease"`
	Owner     string `json:"owner"`
	DSeq      uint64 `json:"dseq"`
	GSeq      uint32 `json:"gseq"`
	OSeq      uint32 `json:"oseq"`
	Provider  string `json:"provider"`
	Namespace string `json:"namespace"`
}

// Labels are the labels by which the tenant's rows are selected: those that Akash writes on the
// objects and the namespace of a lease.
func (t *Tenant) Labels() map[string]string {
	labels := map[string]string{lease.LabelManaged: "true"}
	if t.Owner != "" {
		labels[lease.LabelOwner] = t.Owner
	}
	if t.Lease != "" {
		labels[lease.LabelDSeq] = strconv.FormatUint(t.DSeq, 10)
		labels[lease.LabelGSeq] = strconv.FormatUint(uint64(t.GSeq), 10)
		labels[lease.LabelOSeq] = strconv.FormatUint(uint64(t.OSeq), 10)
		labels[lease.LabelProvider] = t.Provider
		labels[lease.LabelNamespace] = t.Namespace
	}
	return labels
}

// folder computes one book. The rows of a lease share their tenant.
type folder struct {
	cfg     *config.ProviderConfig
	now     time.Time
	tenants map[lease.ID]*Tenant
}

func (f *folder) tenant(id lease.ID) *Tenant {
	t := f.tenants[id]
	if t == nil {
		t = newTenant(id).complete()
		f.tenants[id] = t
	}
	return t
}

// newTenant is a tenant without the texts that complete makes.
func newTenant(id lease.ID) *Tenant {
	return &Tenant{Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq, OSeq: id.OSeq, Provider: id.Provider}
}

// complete makes the texts of a tenant of whom the lease is known.
func (t *Tenant) complete() *Tenant {
	if t.Lease == "" && t.Provider != "" {
		t.Lease, t.Namespace = t.ID().String(), t.ID().Namespace()
	}
	return t
}

// tenantOf is the tenant that an object's labels name, as far as they do.
func (f *folder) tenantOf(o state.Labelled) *Tenant {
	if o.HasLease {
		return f.tenant(o.Lease)
	}
	return &Tenant{Owner: o.Owner, Namespace: o.Namespace}
}
