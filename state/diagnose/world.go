// Package diagnose finds problems in a cluster, says how to repair each of them, and explains the state of single
// hosts, addresses, leases and orders. Both look at one World.
package diagnose

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Facts are what was read of the ledger and the cluster. What only problems or only explanations need may be missing for the others.
type Facts struct {
	Config *config.ProviderConfig
	// Now is by the API server's clock.
	Now time.Time
	// Book and Contents are the rows, and what they are computed from: claims, objects of leases, addresses of nodes.
	Book     *view.Book
	Contents view.Contents
	// Uses are the routes and ProviderHosts of each host, AddressUses the Services that use each address, whoever wrote them.
	Uses        map[string][]state.Use
	AddressUses map[netip.Addr][]state.Use
	// Records are this program's DNS records.
	Records []OwnRecord

	// Objects are those of leases, Namespaces the namespaces that exist.
	Objects    []state.OwnObject
	Namespaces map[string]bool
	// Lacks returns what Akash's hostname operator would not find for a ProviderHost of the lease, or ""; nil if the
	// operator does not run, or if that cannot be seen.
	Lacks func(id lease.ID, service string, port uint16) string
	// Definitions are those that the ledger keeps. Manifests say what this program runs, as far as they may be read.
	Definitions []KeptDefinition
	Manifests   []deployed.Manifest
	// ClosedBy is the nonce of the uninstall that has closed the ledger; empty while the ledger is open.
	ClosedBy string
	// Runs are the announcements of commands that are running or have crashed. Own is the nonce of the command that asks.
	Runs []*state.Announcement
	Own  string
	// Lost are the reservations for which the room is gone, by the names of their objects. It is nil if that is unknown.
	Lost map[string]bool
	// Failing are the leases that the reconciler has recorded as failing.
	Failing []state.Failing
	// CrashedAfter is how long a run may go without renewing its announcement before it counts as crashed, and how long
	// nobody may have written for a lease before something missing is a problem.
	CrashedAfter time.Duration

	// Unlike says which HTTP options the route of a host, made by Akash's hostname operator, has instead of those of the
	// definition with which its lease was last applied.
	Unlike map[string]string
	// Routers are those that report on routes, Reports their reports on the routes of each host.
	Routers state.Routers
	Reports map[string][]state.Report
	// Unserved says what an Ingress lacks in its status if no controller serves it, by namespace/name.
	Unserved map[string]string
	// Unrecorded says, for hosts without a DNS record, what is still missing.
	Unrecorded map[string]string
	// Suspended are the leases that the reconciler leaves as they are.
	Suspended map[lease.Group]bool
}

// KeptDefinition is a definition that the ledger keeps.
type KeptDefinition struct {
	state.ObjectRef
	// Def is the definition. It is nil if it cannot be read; Unreadable says why.
	Def        *lease.Definition
	Unreadable string
	// Run is the nonce of the run that wrote it, Written the time of the write.
	Run     string
	Written time.Time
}

// World is the facts, found by what they are about.
type World struct {
	Facts
	// claims are by the names of their objects, sharing those of an endpoint and its addresses by the sharing key, the endpoint first.
	claims  map[string]*state.Claim
	sharing map[string][]*state.Claim
	// tenants are what deployment groups have.
	tenants map[lease.Group]*tenant
	// services are the leased ports by the sharing key that their Services ask with.
	services map[string][]*state.ServiceObject
	// declarations are the ProviderHosts by host, and the ProviderLeasedIPs by sharing key and port.
	declarations map[[2]string]*state.OwnObject
	// named are the Services of leases by namespace and name. written are the UIDs of the objects that this program wrote.
	named   map[[2]string]*state.OwnObject
	written map[string]bool
	// runs are the announcements by nonce. working are the deployment groups on which a command is at work: what it writes is not read at one
	// moment.
	runs    map[string]*state.Announcement
	working map[lease.Group]bool
	records map[string][]OwnRecord
	pools   *state.PoolIndex
	// routed are the uses by each route, once somebody wants to know.
	routed map[types.UID][]state.Use
	// hosts and ips are the rows of the book.
	hosts map[string][]view.HostRow
	ips   map[netip.Addr][]view.IPRow
}

// tenant is what a deployment group has.
type tenant struct {
	// objects are all of its objects, uses those that use a host or an address.
	objects []*state.OwnObject
	uses    map[string][]*state.OwnObject
	// ports are its Services by the port that they serve.
	ports map[string][]*state.ServiceObject
	// entered is true if it has an entry on a claim. hashes are those of the definitions that its objects were rendered from, written is
	// when one of them was last written.
	entered bool
	hashes  map[string]bool
	written time.Time
	// kept is the readable definition that the ledger keeps, asks what that asks for, once somebody wants to know.
	kept  *KeptDefinition
	asks  *asked
	hosts []view.HostRow
	ips   []view.IPRow
}

// NewWorld returns the facts in a form in which each is found at once.
func NewWorld(f Facts) *World {
	w := &World{
		Facts: f, claims: make(map[string]*state.Claim, len(f.Contents.Claims)), sharing: map[string][]*state.Claim{}, tenants: map[lease.Group]*tenant{},
		services: map[string][]*state.ServiceObject{}, declarations: map[[2]string]*state.OwnObject{}, named: map[[2]string]*state.OwnObject{},
		written: map[string]bool{}, runs: map[string]*state.Announcement{}, working: map[lease.Group]bool{}, records: recordsByHost(f.Records), pools: state.NewPoolIndex(f.Contents.Pools),
		hosts: map[string][]view.HostRow{}, ips: map[netip.Addr][]view.IPRow{},
	}
	w.indexClaims()
	for i := range f.Contents.Services {
		s := &f.Contents.Services[i]
		if w.services[s.SharingKey] = append(w.services[s.SharingKey], s); s.HasLease {
			of, key := w.of(s.Lease.Group()), state.PortKey(s.Protocol, s.Port)
			if of.ports == nil {
				of.ports = map[string][]*state.ServiceObject{}
			}
			of.ports[key] = append(of.ports[key], s)
		}
	}
	w.indexObjects()
	for _, a := range f.Runs {
		w.runs[a.Nonce] = a
		for _, g := range a.Groups {
			w.working[g] = w.working[g] || a.Nonce != w.Own && !a.Dead(w.Now, w.CrashedAfter)
		}
	}
	for i := range f.Definitions {
		if k := &f.Definitions[i]; k.Def != nil {
			of := w.of(k.Def.Lease.Group())
			of.kept, of.written = k, latest(of.written, k.Written)
		}
	}
	for _, r := range f.Book.Hosts {
		of := w.of(r.ID().Group())
		w.hosts[r.Host], of.hosts = append(w.hosts[r.Host], r), append(of.hosts, r)
	}
	for _, r := range f.Book.IPs {
		of := w.of(r.ID().Group())
		w.ips[r.Address], of.ips = append(w.ips[r.Address], r), append(of.ips, r)
	}
	return w
}

// indexClaims finds claims. What says that it is no claim, and has the name of one, keeps others from claiming.
func (w *World) indexClaims() {
	for _, c := range w.Contents.Claims {
		w.claims[c.Name()] = c
		for _, g := range c.Writers() {
			w.of(g).entered = true
		}
		if c.SharingKey != "" {
			w.sharing[c.SharingKey] = append(w.sharing[c.SharingKey], c)
		}
	}
	for _, of := range w.sharing {
		slices.SortStableFunc(of, func(a, b *state.Claim) int { return a.Addr().Compare(b.Addr()) })
	}
	other := &state.Claim{Unreadable: "an object of another kind has its name"}
	for _, r := range w.Contents.Reservations {
		w.claims[r.ObjectName] = other
	}
	for i := range w.Definitions {
		w.claims[w.Definitions[i].Name] = other
	}
}

// indexObjects finds the objects of leases.
func (w *World) indexObjects() {
	for i := range w.Objects {
		o := &w.Objects[i]
		w.written[o.UID] = o.Ours
		switch o.Kind {
		case kinds.Service.Singular:
			if at := [2]string{o.Namespace, o.Name}; w.named[at] == nil {
				w.named[at] = o
			}
		case kinds.ProviderHost.Singular:
			w.declarations[[2]string{o.Name}] = o
		case kinds.ProviderLeasedIP.Singular:
			w.declarations[[2]string{o.SharingKey, o.Port.Key()}] = o
		}
		g := o.Lease.Group()
		if o.HasLease {
			w.of(g).add(o)
		}
		if o.Ours && !o.Deleting && o.Definition != "" && !w.servesForAnother(o) {
			of := w.of(g)
			if of.hashes == nil {
				of.hashes = map[string]bool{}
			}
			of.hashes[o.Definition] = true
		}
	}
}

// add adds an object to what the group has.
func (of *tenant) add(o *state.OwnObject) {
	of.objects, of.written = append(of.objects, o), latest(of.written, o.Written)
	if of.uses == nil {
		of.uses = map[string][]*state.OwnObject{}
	}
	for i, u := range o.Uses {
		if thing := u.Thing(); !slices.ContainsFunc(o.Uses[:i], func(v state.Use) bool { return v.Thing() == thing }) {
			of.uses[thing] = append(of.uses[thing], o)
		}
	}
}

// of returns what a deployment group has.
func (w *World) of(g lease.Group) *tenant {
	of := w.tenants[g]
	if of == nil {
		of = &tenant{}
		w.tenants[g] = of
	}
	return of
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// claim returns a claim by the name of its object, or nil.
func (w *World) claim(name string) *state.Claim { return w.claims[name] }
