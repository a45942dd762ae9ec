package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// HostRow is one host, or one path of it that has its own holder.
type HostRow struct {
	Host string `json:"host"`
	// Path is empty for the root path, which includes all paths that are not held separately.
	Path    string `json:"path,omitempty"`
	*Tenant `json:",inline"`
	// Service and Port are the backend.
	Service string `json:"service"`
	Port    uint16 `json:"port"`
	// Unaccepted is true for a Pending host whose route no controller has accepted yet.
	Unaccepted bool `json:"-"`
	// Target is the kind of route that serves the host: ingress, httproute, route, tlsroute, or empty.
	Target string `json:"target"`
	// Route is the namespace and the name of that route, with a slash between them, or empty.
	Route string `json:"-"`
	// State is Active, Pending, Transferring, Reserved, Expired, Claiming, Withheld, Terminating or Unreadable. A host
	// without a claim is Active, Pending or Reserved.
	State string `json:"state"`
	// Claimed is false for a host that only Akash's objects declare. Another tenant's provider may reassign it without
	// asking the ledger.
	Claimed bool `json:"claimed"`
	// Rendered is true for a host without a claim of which an object says from which definition it was rendered.
	Rendered bool `json:"-"`
	// Since is when the owner claimed the host, or its object was created. It is zero for one that is withheld: nothing says since when.
	Since metav1.Time `json:"since"`
	// From is the deployment group whose route still serves the host after a transfer.
	From string `json:"from,omitempty"`
	// Expires is when a hold ends, in RFC 3339. It is empty for a claim without an end.
	Expires string `json:"expires,omitempty"`
	Message string `json:"message,omitempty"`
	// Endpoints are those of the Service to which the host is routed. It is nil if no route leads there, or if they are not known.
	Endpoints *Endpoints `json:"endpoints,omitempty"`
}

func (r HostRow) key() string { return r.Host + r.Path + " " + r.withheldFrom() }

// withheldFrom distinguishes the rows of leases that wait for the same host.
func (r HostRow) withheldFrom() string {
	if r.State == StateWithheld {
		return r.Lease
	}
	return ""
}

// hosts returns all host rows by name: the rows of claims, as hostRows makes them, and those of hosts that have objects
// but no claim.
func (f *bookBuilder) hosts(rows []HostRow, objects []state.HostObject) []HostRow {
	slices.SortFunc(rows, compareHosts)
	byHost := make([]*state.HostObject, 0, len(objects))
	for i, o := range objects {
		if !o.Redirect {
			byHost = append(byHost, &objects[i])
		}
	}
	slices.SortStableFunc(byHost, func(a, b *state.HostObject) int { return cmp.Compare(a.Host, b.Host) })
	var unclaimed []HostRow
	for len(byHost) > 0 {
		host := byHost[0].Host
		n := prefixLen(byHost, func(o *state.HostObject) bool { return o.Host == host })
		first, found := slices.BinarySearchFunc(rows, host, func(r HostRow, host string) int { return cmp.Compare(r.Host, host) })
		if found {
			of := rows[first:]
			addObjects(of[:prefixLen(of, func(r HostRow) bool { return r.Host == host })], byHost[:n])
		} else {
			unclaimed = append(unclaimed, f.unclaimedHost(host, byHost[:n]))
		}
		byHost = byHost[n:]
	}
	rows = append(rows, unclaimed...)
	for i := range rows {
		rows[i].complete()
		if rows[i].held() && (state.Part{Expires: rows[i].Expires}).Ended(f.now) {
			rows[i].State = StateExpired
		}
	}
	slices.SortFunc(rows, compareHosts)
	return rows
}

func compareHosts(a, b HostRow) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path), cmp.Compare(a.withheldFrom(), b.withheldFrom()))
}

// prefixLen returns how many elements at the start of a list match.
func prefixLen[T any](list []T, of func(T) bool) int {
	if n := slices.IndexFunc(list, func(e T) bool { return !of(e) }); n >= 0 {
		return n
	}
	return len(list)
}

// held reports whether the row is of a holder, whose hold may have expired.
func (r *HostRow) held() bool {
	return r.State != StateWithheld && r.State != StateTerminating && r.State != StateUnreadable
}

// hostRows returns the rows of a claim on a host. The claim alone decides: tenants are incomplete, and neither objects
// nor expiry are considered yet.
func hostRows(c *state.Claim) []HostRow {
	row := HostRow{Host: c.Thing, Claimed: true, Since: metav1.NewTime(c.Created), Message: c.Unreadable}
	var never time.Time
	if len(c.Parts) == 0 {
		row.Tenant, row.State = &Tenant{Owner: c.Owner}, claimState(c, state.Part{}, StateReserved, never)
		return []HostRow{row}
	}
	rows := make([]HostRow, 0, len(c.Parts)+len(c.Waits))
	for i, p := range c.Parts {
		if i == 0 || p.Lease != c.Parts[i-1].Lease {
			row.Tenant = newTenant(p.Lease)
		}
		row.Path = strings.TrimSuffix(p.Path, "/")
		row.Service, row.Port, row.From = p.Service, p.Port, p.From
		row.State, row.Expires = claimState(c, p, StateReserved, never), p.Expires
		if row.State == StateClaiming {
			row.Message = c.AtWork
		}
		rows = append(rows, row)
	}
	for _, w := range c.Waits {
		rows = append(rows, HostRow{
			Host: c.Thing, Path: strings.TrimSuffix(w.Path, "/"), Tenant: newTenant(w.Lease).complete(), Service: w.Service, Port: w.Port,
			State: StateWithheld, Message: c.Withholder(w),
		})
	}
	return rows
}

// addObjects adds the objects of a host to its rows.
func addObjects(rows []HostRow, objects []*state.HostObject) {
	holds := func(o *state.HostObject) bool {
		return slices.ContainsFunc(rows, func(r HostRow) bool {
			return r.State != StateWithheld && (o.Of(r.ID().Group()) || r.servedBy(o))
		})
	}
	for i := range rows {
		row := &rows[i]
		if row.State == StateWithheld || row.Provider == "" {
			continue
		}
		var own []*state.HostObject
		for _, o := range objects {
			switch {
			case o.Kind == kinds.ProviderHost.Singular || o.PathHash != lease.PathHash(row.Path):
			case o.Of(row.ID().Group()):
				own = append(own, o)
			case !holds(o):
				row.Message = cmp.Or(row.Message, fmt.Sprintf("%s %s/%s serves it too", o.Kind, o.Namespace, o.Name))
			}
		}
		row.addRoutes(own)
		if i := slices.IndexFunc(objects, func(o *state.HostObject) bool {
			return o.Kind != kinds.ProviderHost.Singular && o.PathHash == lease.PathHash(row.Path) && row.servedBy(o)
		}); i >= 0 && (row.State == StateReserved || row.State == StatePending) {
			row.Target, row.Route = objects[i].Kind, objects[i].Namespace+"/"+objects[i].Name
			row.State, row.Message = StateTransferring, state.Transferring(row.From)
		}
	}
}

// servedBy reports whether the object still serves the host for its holder after a transfer.
func (r *HostRow) servedBy(o *state.HostObject) bool {
	return r.From != "" && o.HasLease && o.Lease.Group().String() == r.From
}

// addRoutes sets the state of a row from the routes of its holder. If several exist, one that serves decides.
func (r *HostRow) addRoutes(routes []*state.HostObject) {
	why, live := "", false
	for _, o := range routes {
		not := r.notLive(o)
		if not == "" || !live {
			r.Target, r.Route = o.Kind, o.Namespace+"/"+o.Name
		}
		if live = live || not == ""; why == "" && not != "" {
			why, r.Unaccepted = not, not == o.Unaccepted
		}
	}
	switch {
	case len(routes) == 0 || r.State != StateReserved:
	case live:
		r.State, r.Unaccepted = StateActive, false
	case r.Message != "":
		r.State, r.Message = StatePending, why+"; "+r.Message
	default:
		r.State, r.Message = StatePending, why
	}
}

// claimState returns the state of a part of a claim. seen is the state according to the objects.
func claimState(c *state.Claim, p state.Part, seen string, now time.Time) string {
	switch {
	case c.Unreadable != "":
		return StateUnreadable
	case c.Deleting:
		return StateTerminating
	case c.PartEnded(p, now):
		return StateExpired
	case p.Run != "":
		return StateClaiming
	}
	return seen
}

// unclaimedHost returns the row of a host without a claim: that of its ProviderHost, else of its oldest route.
func (f *bookBuilder) unclaimedHost(host string, objects []*state.HostObject) HostRow {
	slices.SortFunc(objects, func(a, b *state.HostObject) int {
		if (a.Kind == kinds.ProviderHost.Singular) != (b.Kind == kinds.ProviderHost.Singular) {
			if a.Kind == kinds.ProviderHost.Singular {
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
		Rendered: slices.ContainsFunc(objects, func(o *state.HostObject) bool { return o.Rendered }),
	}
	for _, o := range objects {
		switch {
		case o.Kind == kinds.ProviderHost.Singular:
		case row.Target == "" && (o == holder || holder.HasLease && o.Of(holder.Lease.Group())):
			row.Target, row.Route, row.State = o.Kind, o.Namespace+"/"+o.Name, StateActive
			if o.Unaccepted != "" {
				row.State, row.Message, row.Unaccepted = StatePending, o.Unaccepted, true
			}
		case !holder.HasLease || !o.Of(holder.Lease.Group()):
			row.Message = cmp.Or(row.Message, fmt.Sprintf("%s %s/%s serves it too", o.Kind, o.Namespace, o.Name))
		}
	}
	return row
}

// notLive returns why a route of the holder does not serve the host as claimed, or "". It knows only what was read of
// the route.
func (r *HostRow) notLive(o *state.HostObject) string {
	part := state.Part{Service: r.Service, Port: r.Port}
	switch {
	case !o.Whole:
		return ""
	case !part.LeadsTo(o.Kind, o.Service, o.Port):
		return fmt.Sprintf("%s %s/%s routes it to %s, the claim says %s",
			o.Kind, o.Namespace, o.Name, backendText(o.Service, o.Port), backendText(r.Service, r.Port))
	}
	return o.Unaccepted
}

func backendText(service string, port uint16) string {
	if service == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s:%d", service, port)
}
