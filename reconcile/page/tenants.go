package page

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
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
		ID: "order/" + r.Order, Order: r.Order, Name: r.Order, Holds: r.Holds(), State: r.State, By: clip(r.By), Message: clip(r.Message),
		Expires: r.Expires, Since: r.Since.Time,
	}
	if owner, rest, ok := strings.Cut(r.Order, "/"); ok {
		out.Order = thing.ShortWallet(owner) + "/" + rest
	}
	return out
}

// HostRow is a host or a path of it.
type HostRow struct {
	ID, Name string
	// URL is where clients reach it, empty if it is not served or is no name of a host.
	URL                             string
	Lease                           Tenant
	Backend, Routed, State, Message string
	Answers                         Answers
	Unclaimed                       bool
	Since                           time.Time
	Expires                         string
}

func hostRow(r *view.HostRow) HostRow {
	out := HostRow{
		ID: "host/" + r.Host + r.Path, Name: r.Host + r.Path, Lease: tenantOf(r.Tenant), Backend: clip(view.Backend(r.Service, r.Port)), Answers: answers(r.Endpoints), Routed: r.RoutedBy(),
		State: r.State, Message: clip(r.Message), Unclaimed: !r.Claimed, Since: r.Since.Time, Expires: r.Expires,
	}
	if r.Routed && len(validation.IsDNS1123Subdomain(r.Host)) == 0 && strings.Contains(r.Host, ".") {
		out.URL = (&url.URL{Scheme: "http", Host: r.Host, Path: r.Path}).String()
	}
	return out
}

// Answers says what answers behind a Service: how many of its endpoints are ready. The zero value is for what is not known.
type Answers struct {
	Text   string
	Silent bool
}

func answers(e *view.Endpoints) Answers {
	switch {
	case e == nil:
		return Answers{}
	case e.Missing != "":
		return Answers{e.Text(), true}
	}
	return Answers{e.Text() + " ready", e.Ready == 0}
}

// AddressRow is a port of a leased address.
type AddressRow struct {
	ID, Address, Port                      string
	Lease                                  Tenant
	Backend, Pool, State, Message, Expires string
	Answers                                Answers
	Unclaimed                              bool
	Since                                  time.Time
}

func addressRow(r *view.IPRow) AddressRow {
	out := AddressRow{
		ID: "address/" + addressText(r), Address: addressText(r), Port: r.PortText(), Lease: tenantOf(r.Tenant), Backend: clip(view.Backend(r.Service, r.ContainerPort)), Answers: answers(r.Endpoints),
		Pool: r.Pool, State: r.State, Message: clip(r.Message), Unclaimed: !r.Claimed, Since: r.Since.Time, Expires: r.Expires,
	}
	if !r.Address.IsValid() {
		out.ID = "endpoint/" + clip(r.SharingKey)
	}
	return out
}

func addressText(r *view.IPRow) string {
	if r.Address.IsValid() {
		return r.Address.String()
	}
	return "none yet"
}

// ProblemRow is a problem, and what mends it.
type ProblemRow struct {
	ID, Kind, Thing, Message, Plan string
	// Command mends it. Copy is true if all of it is plain, so that a shell does what one reads.
	Command string
	Copy    bool
	Since   time.Time
}

func problemRow(p *state.Problem) ProblemRow {
	r := ProblemRow{
		ID: "problem/" + p.Name(), Kind: p.Problem, Thing: p.Thing, Message: clip(p.Message), Plan: p.Plan, Command: p.Repair(), Since: p.Since.Time,
	}
	r.Copy = isPlain(r.Command)
	return r
}

// plain matches a command of plain words, of which some may be quoted.
var plain = regexp.MustCompile(`^(?:[a-zA-Z0-9 ._/:=@%+,-]|'[a-zA-Z0-9 ._/:=@%+,*-]*')+$`)

// isPlain reports whether a shell takes each word of a command as it stands.
func isPlain(command string) bool { return len(command) <= 1000 && plain.MatchString(command) }

// CommandRow is a command that has not ended.
type CommandRow struct {
	ID, By, Version, Phase string
	// Stands describes it in a sentence.
	Stands string
	Since  time.Time
	Leases []Tenant
	// More counts the leases that are not in Leases.
	More int
}

// fewLeases is how many leases of a command are named.
const fewLeases = 5

func commandRow(a *state.Announcement, now time.Time) CommandRow {
	r := CommandRow{
		ID: "command/" + a.Nonce, By: clip(a.By), Version: clip(a.Version), Phase: "Active", Stands: clip(a.Stands(now)), Since: a.Begun,
	}
	switch {
	case a.Unreadable != "":
		r.Phase = view.StateUnreadable
	case a.Phase == state.Fenced, a.Over(now):
		r.Phase = "Crashed"
	case a.Phase == state.Undoing:
		r.Phase = "Undoing"
	case a.Phase == state.Closing:
		r.Phase = "Closing"
	}
	for i, g := range a.Groups {
		if i == fewLeases {
			r.More = len(a.Groups) - fewLeases
			break
		}
		r.Leases = append(r.Leases, groupOf(g))
	}
	return r
}
