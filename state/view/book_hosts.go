package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
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
	// Target is the kind of the holder's route: ingress, httproute, route, tlsroute, or empty.
	Target string `json:"target"`
	// Routed is true if that route takes the host and the path from the configured router now, and leads them to the backend.
	Routed bool `json:"routed"`
	// Unserved says why clients get no answer, NotRouted or NotAnswering, where the holder wants the host served.
	Unserved string `json:"unserved,omitempty"`
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
	// Endpoints are those of the Service, whether or not it is routed now. It is nil without a route, or if they are not known.
	Endpoints *Endpoints `json:"endpoints,omitempty"`
}

func (r HostRow) key() string { return r.Host + r.Path + " " + r.withheldFrom() }

func (r *HostRow) release() {
	r.State, r.Routed, r.Unserved, r.Endpoints = StateReleased, false, "", nil
}

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
	byHost, wants := make([]*state.HostObject, 0, len(objects)), wantsOf(objects)
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
			f.addObjects(of[:prefixLen(of, func(r HostRow) bool { return r.Host == host })], byHost[:n])
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
		if wants.unrouted(&rows[i]) {
			rows[i].Unserved = NotRouted
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
func (f *bookBuilder) addObjects(rows []HostRow, objects []*state.HostObject) {
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
		row.addRoutes(f, own)
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
func (r *HostRow) addRoutes(f *bookBuilder, routes []*state.HostObject) {
	why := ""
	for _, o := range routes {
		not := r.notRouted(f, o)
		if not == "" || !r.Routed {
			r.Target, r.Route = o.Kind, o.Namespace+"/"+o.Name
		}
		if r.Routed = r.Routed || not == ""; why == "" && not != "" {
			why, r.Unaccepted = not, not == o.Unaccepted
		}
	}
	switch {
	case len(routes) == 0 || r.State != StateReserved:
	case r.Routed:
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
			row.addRoutes(f, []*state.HostObject{o})
		case !holder.HasLease || !o.Of(holder.Lease.Group()):
			row.Message = cmp.Or(row.Message, fmt.Sprintf("%s %s/%s serves it too", o.Kind, o.Namespace, o.Name))
		}
	}
	return row
}

// notRouted returns why a route of the holder does not lead the host and the path to the backend of the row, or "". It knows only
// what was read of the route.
func (r *HostRow) notRouted(f *bookBuilder, o *state.HostObject) string {
	part, of := state.Part{Service: r.Service, Port: r.Port}, fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name)
	path, says := r.Path, "the claim"
	if !r.Claimed {
		path, says = o.Routing.Path(o.PathHash), "the ProviderHost"
	}
	differs := o.Routing.Differs(f.cfg, r.Host, path)
	switch {
	case !o.Whole:
		return ""
	case differs != "":
		return of + " " + differs
	case !part.LeadsTo(o.Kind, o.Service, o.Port):
		return fmt.Sprintf("%s routes it to %s, %s says %s", of, backendText(o.Service, o.Port), says, backendText(r.Service, r.Port))
	}
	if why := o.Routing.Unattached(f.in.Gateways, f.in.Namespaces[o.Namespace], r.Host); why != "" {
		return of + ": " + why
	}
	return o.Unaccepted
}

func backendText(service string, port uint16) string {
	if service == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s:%d", service, port)
}

// Why clients get no answer at a host that its holder wants served.
const (
	// NotRouted says that no route leads the host to its backend.
	NotRouted = "NotRouted"
	// NotAnswering says that nothing answers behind the route.
	NotAnswering = "NotAnswering"
)

// Unserved are these reasons.
var Unserved = []string{NotRouted, NotAnswering}

// wants are what leases have made: applied those with a route or a ProviderHost, so that more than reservations is to be expected of
// them, and of each host the one with its ProviderHost.
type wants struct {
	applied  map[lease.Group]bool
	declared map[string]lease.Group
}

func wantsOf(objects []state.HostObject) wants {
	w := wants{map[lease.Group]bool{}, map[string]lease.Group{}}
	for _, o := range objects {
		if o.HasLease {
			w.applied[o.Lease.Group()] = true
			if o.Kind == kinds.ProviderHost.Singular {
				w.declared[o.Host] = o.Lease.Group()
			}
		}
	}
	return w
}

// unrouted reports whether the host is not routed that its holder wants served. A host that is only reserved, handed over or taken by a
// run is not wanted yet; over HTTP only port 80 is routed, and with TLS what is declared.
func (w wants) unrouted(r *HostRow) bool {
	g := r.ID().Group()
	return r.State == StatePending ||
		r.State == StateReserved && w.applied[g] && r.Service != "" && r.Expires == "" && (r.Port == 80 || r.Path == "" && w.declared[r.Host] == g)
}

// Silent returns why nothing answers behind the route of the host, or "" if something may.
func (r *HostRow) Silent() string { return r.Endpoints.Silent(r.Service, r.Port) }
