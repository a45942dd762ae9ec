package page

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Tenant is the lease of a row: its name as far as it is known, in short, and where its row is.
type Tenant struct{ Short, Name, Link string }

func tenantOf(t *view.Tenant) Tenant {
	switch {
	case t == nil:
		return Tenant{}
	case t.Lease != "":
		return Tenant{fmt.Sprintf("%s/%d", thing.ShortWallet(t.Owner), t.DSeq), t.Lease, anchor("lease", t.Lease)}
	case t.Owner != "":
		return Tenant{Short: thing.ShortWallet(t.Owner), Name: lease.Clip(t.Owner)}
	}
	return Tenant{Short: t.Namespace, Name: t.Namespace}
}

func groupOf(g lease.Group) Tenant {
	return Tenant{fmt.Sprintf("%s/%d", thing.ShortWallet(g.Owner), g.DSeq), g.String(), "./?q=" + url.QueryEscape(g.String()) + "#leases"}
}

// anchor returns the link to the row of a thing.
func anchor(kind, name string) string { return "#" + kind + "/" + name }

// LeaseRow is a lease and what it holds.
type LeaseRow struct {
	ID                       string
	Lease                    Tenant
	Namespace, State         string
	Hosts, Addresses         []Name
	MoreHosts, MoreAddresses int
	Workloads, Reason        string
	Since                    time.Time
	Suspended                bool
}

// Name is the name of a thing, and where its row is.
type Name struct{ Text, Link string }

// fewNames is how many hosts or addresses of a lease are named.
const fewNames = 4

func leaseRow(r *view.LeaseRow) LeaseRow {
	out := LeaseRow{ID: "lease/" + r.Lease, Lease: tenantOf(r.Tenant), Namespace: r.Namespace, State: leaseState(r), Since: r.Since.Time, Suspended: r.Suspended}
	out.Hosts, out.MoreHosts = names("host", r.Hosts)
	out.Addresses, out.MoreAddresses = names("address", r.Addresses)
	if w := r.Workloads; w != nil {
		out.Workloads, out.Reason = string(w.State), clip(w.Reason)
	}
	return out
}

// leaseState returns the state of a lease. It has none if it only runs workloads.
func leaseState(r *view.LeaseRow) string {
	if r.State == "" {
		return "Running"
	}
	return r.State
}

func names(kind string, all []string) (out []Name, more int) {
	for i, name := range all {
		if i == fewNames {
			return out, len(all) - i
		}
		out = append(out, Name{name, anchor(kind, name)})
	}
	return out, 0
}

// OrderRow is the reservation of an order.
type OrderRow struct {
	ID, Order, Name, Holds, State, By, Message, Expires string
	Since                                               time.Time
}

func orderRow(r *view.OrderRow) OrderRow {
	out := OrderRow{
		ID: "order/" + r.Order, Order: r.Order, Name: r.Order, Holds: r.Words(r.Models), State: r.State, By: clip(r.By), Message: clip(r.Message),
		Expires: r.Expires, Since: r.Since.Time,
	}
	if owner, rest, ok := strings.Cut(r.Order, "/"); ok {
		out.Order = thing.ShortWallet(owner) + "/" + rest
	}
	return out
}
