package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// HostRow is one host, or one path of it that has a holder of its own.
type HostRow struct {
	Host string `json:"host"`
	// Path is empty for the root, which is the whole host where no other path is held.
	Path    string `json:"path,omitempty"`
	*Tenant `json:",inline"`
	// Service and Port are the backend.
	Service string `json:"service"`
	Port    uint16 `json:"port"`
	// Target is the kind of route that serves the host: ingress, httproute, route, tlsroute, or empty.
	Target string `json:"target"`
	// State is Active, Reserved, Expired, Claiming, Withheld, Terminating or Unreadable. What has no claim is Active
	// or Reserved as it is seen.
	State string `json:"state"`
	// Claimed is false for what only Akash's objects stand for: another tenant's provider may hand
	// it on without asking the ledger.
	Claimed bool        `json:"claimed"`
	Since   metav1.Time `json:"since"`
	// Expires is when a hold ends, as RFC 3339; empty for what is held for good.
	Expires string `json:"expires,omitempty"`
	Message string `json:"message,omitempty"`
}

func (r HostRow) key() string { return r.Host + r.Path + " " + r.withheldFrom() }

// withheldFrom tells the rows of those apart from whom the host is withheld.
func (r HostRow) withheldFrom() string {
	if r.State == StateWithheld {
		return r.Lease
	}
	return ""
}

// hosts lists the hosts that are claimed, and those that objects stand for without a claim, by
// name.
func (f *folder) hosts(claims []*Claim, objects []HostObject) []HostRow {
	byHost := make(map[string][]HostObject, len(objects))
	for _, o := range objects {
		if !o.Redirect {
			byHost[o.Host] = append(byHost[o.Host], o)
		}
	}
	rows := make([]HostRow, 0, max(len(claims), len(byHost)))
	for _, c := range claims {
		if c.Kind != Address {
			rows = f.claimedHost(rows, c, byHost[c.Thing])
			delete(byHost, c.Thing)
		}
	}
	for host, objects := range byHost {
		rows = append(rows, f.unclaimedHost(host, objects))
	}
	slices.SortFunc(rows, func(a, b HostRow) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path), cmp.Compare(a.withheldFrom(), b.withheldFrom()))
	})
	return rows
}

func (f *folder) claimedHost(rows []HostRow, c *Claim, objects []HostObject) []HostRow {
	row := HostRow{Host: c.Thing, Claimed: true, Since: metav1.NewTime(c.Created), Message: c.Unreadable}
	if len(c.Parts) == 0 {
		row.Tenant, row.State = &Tenant{Owner: c.Owner}, f.claimState(c, Part{}, StateReserved)
		return append(rows, row)
	}
	for _, p := range c.Parts {
		row.Tenant = f.tenant(p.Lease)
		row.Path = strings.TrimSuffix(p.Path, "/")
		row.Service, row.Port = p.Service, p.Port
		row.Target, row.Message = "", c.Unreadable
		seen := StateReserved
		for _, o := range objects {
			switch {
			case o.Kind == providerHost || o.PathHash != lease.PathHash(p.Path):
			case o.of(p.Lease.Group()):
				row.Target, seen = o.Kind, StateActive
			case !slices.ContainsFunc(c.Parts, func(p Part) bool { return o.of(p.Lease.Group()) }):
				row.Message = cmp.Or(row.Message, fmt.Sprintf("%s %s/%s serves it too", o.Kind, o.Namespace, o.Name))
			}
		}
		row.State, row.Expires = f.claimState(c, p, seen), p.Expires
		rows = append(rows, row)
	}
	for _, w := range c.Waits {
		row := HostRow{
			Host: c.Thing, Path: strings.TrimSuffix(w.Path, "/"), Tenant: f.tenant(w.Lease), Service: w.Service, Port: w.Port,
			State: StateWithheld, Since: metav1.NewTime(c.Created), Message: c.withholder(w),
		}
		rows = append(rows, row)
	}
	return rows
}

// withholder says who holds the part that is waited for.
func (c *Claim) withholder(wait Part) string {
	if p := c.Part(wait.For); p != nil {
		return fmt.Sprintf("held by deployment %d", p.Lease.DSeq)
	}
	return "free since; the next apply takes it"
}

// claimState is how a part of a claim stands; seen is what the objects say of it.
func (f *folder) claimState(c *Claim, p Part, seen string) string {
	switch {
	case c.Unreadable != "":
		return StateUnreadable
	case c.Deleting:
		return StateTerminating
	case p.Ended(f.now):
		return StateExpired
	case p.Run != "":
		return StateClaiming
	}
	return seen
}

// unclaimedHost shows a host by its ProviderHost or, without one, by the oldest of its routes.
func (f *folder) unclaimedHost(host string, objects []HostObject) HostRow {
	slices.SortFunc(objects, func(a, b HostObject) int {
		if (a.Kind == providerHost) != (b.Kind == providerHost) {
			if a.Kind == providerHost {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind))
	})
	holder := objects[0]
	row := HostRow{
		Host: host, Tenant: f.tenantOf(holder.Labelled), Service: holder.Service, Port: holder.Port,
		State: StateReserved, Since: metav1.NewTime(holder.Since),
	}
	for _, o := range objects {
		switch {
		case o.Kind == providerHost:
		case row.Target == "" && (o == holder || holder.HasLease && o.of(holder.Lease.Group())):
			row.Target, row.State = o.Kind, StateActive
		case !holder.HasLease || !o.of(holder.Lease.Group()):
			row.Message = cmp.Or(row.Message, fmt.Sprintf("%s %s/%s serves it too", o.Kind, o.Namespace, o.Name))
		}
	}
	return row
}
