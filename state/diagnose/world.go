// Package diagnose finds problems in a cluster, says how to repair each of them, and explains the state of single
// hosts, addresses, leases and orders. Both look at one World.
package diagnose

import (
	"cmp"
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
	// Reports are the routers' reports on the routes of each host.
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
	// objects are those of leases by namespace and name, kind first. written are the UIDs of those that this program wrote.
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

// row is a path of a host, or a port of an address or an endpoint, that an object of a lease serves or declares, with the claim on it.
type row struct {
	o *state.OwnObject
	// thing is the host, the address or the endpoint, key that of the part. service and port are the backend.
	thing, key string
	service    string
	port       uint16
	claim      *state.Claim
	part       *state.Part
	// former is the part that the object serves for another lease since a transfer.
	former *state.Part
	// declared is the ProviderHost or the ProviderLeasedIP that declares it, nil if there is none; made is which of the two kinds does.
	declared *state.OwnObject
	made     string
}

// rows returns what an object serves or declares.
func (w *World) rows(o *state.OwnObject) []row {
	if isPort(o) {
		return []row{w.portRow(o)}
	}
	rows := make([]row, 0, len(o.Uses))
	for _, u := range o.Uses {
		rows = append(rows, w.row(o, u))
	}
	return rows
}

// isPort reports whether an object is a Service or a ProviderLeasedIP.
func isPort(o *state.OwnObject) bool {
	return o.Kind == kinds.Service.Singular || o.Kind == kinds.ProviderLeasedIP.Singular
}

// row returns a host or an address that an object uses.
func (w *World) row(o *state.OwnObject, u state.Use) row {
	r := row{
		o: o, thing: u.Thing(), key: u.PartKey(o), service: u.Service, port: u.Port, claim: w.claims[claimName(u)], made: kinds.ProviderHost.Singular,
	}
	r.part, r.former = r.claim.Part(r.key), r.claim.ServesFor(o.Lease.Group(), r.key, u.Redirect)
	if r.declared = w.declarations[[2]string{u.Host}]; u.Address.IsValid() {
		r.made, r.declared = kinds.ProviderLeasedIP.Singular, w.declarations[[2]string{o.SharingKey, r.key}]
	}
	return r
}

// portRow returns the port of an endpoint that an object serves or declares, whatever address it has: on the claim on the endpoint or on
// one of its addresses.
func (w *World) portRow(o *state.OwnObject) row {
	r := row{
		o: o, thing: o.SharingKey, key: o.Port.Key(), service: o.Port.Service, port: o.Port.Port, made: kinds.ProviderLeasedIP.Singular,
	}
	r.claim, r.part = w.portOf(o)
	r.former = w.claims[state.EndpointName(o.SharingKey)].ServesFor(o.Lease.Group(), r.key, false)
	r.declared = w.declarations[[2]string{o.SharingKey, r.key}]
	return r
}

// portOf returns the part for a port of an endpoint. It prefers one of the object's own group: several groups may hold the same port of an
// endpoint, each on another address.
func (w *World) portOf(o *state.OwnObject) (c *state.Claim, part *state.Part) {
	for _, claim := range w.sharing[o.SharingKey] {
		held := claim.Part(o.Port.Key())
		if held == nil || claim.Unreadable != "" || !claim.Kind.HasPorts() {
			continue
		}
		if o.Of(held.Lease.Group()) {
			return claim, held
		}
		if part == nil {
			c, part = claim, held
		}
	}
	return c, part
}

// claim returns a claim by the name of its object, or nil.
func (w *World) claim(name string) *state.Claim { return w.claims[name] }

func claimName(u state.Use) string {
	if u.Address.IsValid() {
		return state.AddressName(u.Address)
	}
	return state.HostName(u.Host)
}

// servesForAnother reports whether the object still serves another lease after a transfer. That lease's apply deletes
// it; an apply of its own lease leaves it as it is.
func (w *World) servesForAnother(o *state.OwnObject) bool {
	g := o.Lease.Group()
	switch {
	case o.SharingKey != "":
		return slices.ContainsFunc(w.sharing[o.SharingKey], func(c *state.Claim) bool { return c.ServesFor(g, o.Port.Key(), false) != nil })
	case len(o.Uses) == 0: // it belongs to a route with the same name
		host, _, _ := lease.ParseRouteName(o.Name)
		return len(w.claims[state.HostName(host)].FormerOf(g)) > 0
	}
	return slices.ContainsFunc(o.Uses, func(u state.Use) bool { return w.row(o, u).former != nil })
}

// service returns a Service of its lease, or of one of the groups, that serves the port of a ProviderLeasedIP, or nil.
func (w *World) service(o *state.OwnObject, groups ...lease.Group) *state.ServiceObject {
	for _, g := range append(groups, o.Lease.Group()) {
		for _, s := range w.of(g).ports[o.Port.Key()] {
			if s.SharingKey == o.SharingKey || s.Service == o.Port.Service { // another sharing key is another problem
				return s
			}
		}
	}
	return nil
}

// isUnknown reports whether a claim on an endpoint or one of its addresses cannot be read. The holders of its ports
// are unknown then.
func (w *World) isUnknown(sharingKey string) bool {
	return slices.ContainsFunc(w.sharing[sharingKey], func(c *state.Claim) bool { return c.Kind.HasPorts() && c.Unreadable != "" })
}

// elsewhere returns the claims on other addresses of the same family on which a deployment group holds the port
// with the key, settled and without an end. It returns nothing if the group holds the port on the used address too.
func (w *World) elsewhere(g lease.Group, u state.Use, key string) []*state.Claim {
	if !u.Address.IsValid() {
		return nil
	}
	if part := w.claims[claimName(u)].Part(key); part != nil && part.Lease.Group() == g {
		return nil // a run may be about to leave the other claim
	}
	return slices.DeleteFunc(slices.Clone(w.sharing[u.SharingKey]), func(c *state.Claim) bool {
		part, a := c.Part(key), c.Addr()
		return c.Kind != state.Address || c.Unreadable != "" || c.Deleting || a == u.Address || a.BitLen() != u.Address.BitLen() ||
			part == nil || part.Lease.Group() != g || part.Run != "" || part.Ended(w.Now)
	})
}

// servesPart reports whether a route or a Service of the group serves the path of a host or the port of an endpoint.
func (w *World) servesPart(thing, key string, g lease.Group) bool {
	return slices.ContainsFunc(w.services[thing], func(s *state.ServiceObject) bool { return s.Of(g) && state.PortKey(s.Protocol, s.Port) == key }) ||
		slices.ContainsFunc(w.Uses[thing], func(u state.Use) bool { return serves(u, key) && u.Of(g) })
}

// serves reports whether a use is that of a route that leads a path of its host somewhere.
func serves(u state.Use, key string) bool {
	return !declares(u.Kind) && !u.Redirect && state.RouteKey(u.Path) == key
}

// declares reports whether objects of a kind declare what others serve.
func declares(kind string) bool {
	return kind == kinds.ProviderHost.Singular || kind == kinds.ProviderLeasedIP.Singular
}

// stands reports whether an object of the deployment group that holds a part serves or declares it, whoever wrote the object. A redirect
// belongs to any part of its host.
func (w *World) stands(c *state.Claim, part state.Part) bool {
	g := part.Lease.Group()
	serves := func(u state.Use, key string) bool { return u.Thing() == c.Thing && (u.Redirect || key == part.Key) }
	return c.Kind.HasPorts() && slices.ContainsFunc(w.of(g).objects, func(o *state.OwnObject) bool {
		return o.SharingKey == c.SharingKey && o.Port.Key() == part.Key
	}) || slices.ContainsFunc(w.of(g).uses[c.Thing], func(o *state.OwnObject) bool {
		return slices.ContainsFunc(o.Uses, func(u state.Use) bool { return serves(u, u.PartKey(o)) })
	}) || slices.ContainsFunc(w.Uses[c.Thing], func(u state.Use) bool { return u.Of(g) && serves(u, state.RouteKey(u.Path)) })
}

// dependent returns the objects of the group that depend on the claim, whoever wrote them.
func (w *World) dependent(c *state.Claim, g lease.Group) []*state.OwnObject {
	uses := w.of(g).uses[c.Thing]
	if !c.Kind.HasPorts() {
		return uses
	}
	return slices.DeleteFunc(slices.Clone(w.of(g).objects), func(o *state.OwnObject) bool { return !o.StandsForPort(c) && !slices.Contains(uses, o) })
}

// objectsFor returns the objects of the group that this program wrote and that depend on the claim.
func (w *World) objectsFor(c *state.Claim, g lease.Group) []state.ObjectRef {
	var refs []state.ObjectRef
	for _, o := range w.dependent(c, g) {
		if o.Ours {
			refs = append(refs, o.ObjectRef)
		}
	}
	return refs
}

// isServed reports whether an object of the group that depends on the claim serves its thing, or a route that an
// operator created for one does. The group holds parts of the claim, or held them before a transfer.
func (w *World) isServed(c *state.Claim, g lease.Group, stands []state.ObjectRef) bool {
	uses := w.Uses[c.Thing]
	if c.Kind == state.Address {
		uses = w.AddressUses[c.Addr()]
	}
	return slices.ContainsFunc(stands, func(o state.ObjectRef) bool { return !declares(o.Kind) }) ||
		slices.ContainsFunc(uses, func(u state.Use) bool { return !declares(u.Kind) && u.Of(g) }) ||
		c.Kind == state.Endpoint && slices.ContainsFunc(w.services[c.SharingKey], func(s *state.ServiceObject) bool {
			part := c.Part(state.PortKey(s.Protocol, s.Port))
			return s.Of(g) && part != nil && (part.Lease.Group() == g || part.From == g.String())
		})
}

// asked are the parts of things that a definition asks for: a host with the key of a path, or a sharing key with that of a port. refused is
// true if the configuration refuses the definition.
type asked struct {
	parts   map[[2]string]bool
	refused bool
}

// asked returns what the kept definition of a deployment group asks for, or nil if none is kept that can be read.
func (w *World) asked(g lease.Group) *asked {
	of := w.of(g)
	if of.kept == nil || of.asks != nil {
		return of.asks
	}
	req, wrong := state.NewRequest(of.kept.Def, w.Config)
	of.asks = &asked{map[[2]string]bool{}, wrong.Failed()}
	for _, h := range req.Hosts {
		of.asks.parts[[2]string{h.Host, state.RouteKey(h.Path)}] = true
	}
	for _, e := range req.Endpoints {
		for _, want := range e.Ports {
			of.asks.parts[[2]string{e.SharingKey, want.Key()}] = true
		}
	}
	return of.asks
}

// asksFor reports whether the kept definition of a deployment group asks for a part of a claim, and can be applied.
func (w *World) asksFor(g lease.Group, c *state.Claim, key string) bool {
	thing := c.Thing
	if c.Kind.HasPorts() {
		thing = c.SharingKey
	}
	a := w.asked(g)
	return a != nil && !a.refused && a.parts[[2]string{thing, key}]
}

// mayHeal reports whether the ledger keeps the definition that the group's objects were rendered from, and no run
// is working on them. Other tools and older versions of this program do not keep what they apply.
func (w *World) mayHeal(g lease.Group) bool {
	of := w.of(g)
	return of.kept != nil && of.hashes[of.kept.Def.Hash] && w.Now.Sub(of.written) > w.CrashedAfter
}

// lacks returns what Akash's hostname operator does not find for a ProviderHost, or "".
func (w *World) lacks(o *state.OwnObject) string {
	if w.Lacks == nil || o.Kind != kinds.ProviderHost.Singular || len(o.Uses) == 0 {
		return ""
	}
	return w.Lacks(o.Lease, o.Uses[0].Service, o.Uses[0].Port)
}

// isDead reports whether the command of the announcement has crashed and no running command has taken over its work.
// The command that asks counts what it has taken over itself.
func (w *World) isDead(a *state.Announcement) bool {
	if a == nil || a.Unreadable != "" {
		return false // it has ended since the claim was read, or nobody knows whether its command is at work
	}
	if a.Phase != state.Fenced {
		return a.Nonce != w.Own && a.Dead(w.Now, w.CrashedAfter)
	}
	by := w.runs[a.FencedBy]
	return a.FencedBy == w.Own || by == nil || by.Phase == state.Fenced || by.Dead(w.Now, w.CrashedAfter)
}

// hasCrashed reports whether the run with the mark has crashed: its command no longer renews its announcement, or ended
// with unfinished work.
func (w *World) hasCrashed(mark string) bool {
	return mark != "" && w.isDead(w.runs[state.NonceOf(mark)])
}

// hash returns the hash of the definition that the marked objects of a lease were rendered from. If they differ or none
// is marked, it returns a hash that represents the lease until it is applied again.
func (w *World) hash(id lease.ID) string {
	hashes := w.of(id.Group()).hashes
	for hash := range hashes {
		if len(hashes) == 1 {
			return hash
		}
	}
	return lease.Hash("marked " + id.String())
}

// recordsByHost returns the DNS records of each host.
func recordsByHost(all []OwnRecord) map[string][]OwnRecord {
	of := map[string][]OwnRecord{}
	for _, r := range all {
		of[r.Object.Host] = append(of[r.Object.Host], r)
	}
	return of
}

// oldest returns the use that has been there for longest.
func oldest(uses []state.Use) state.Use {
	return slices.MinFunc(uses, func(a, b state.Use) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.String(), b.String()))
	})
}
