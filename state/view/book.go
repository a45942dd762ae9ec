// Package view computes the book that people read from the ledger and its objects, with one row for each host, address,
// lease, pool, route and DNS record.
package view

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Subject is one list of the book.
type Subject string

// The subjects, in the order in which they are shown.
const (
	SubjectHosts  Subject = "hosts"
	SubjectIPs    Subject = "ips"
	SubjectLeases Subject = "leases"
	SubjectPools  Subject = "pools"
	SubjectRoutes Subject = "routes"
)

// Subjects are these subjects in their order.
var Subjects = []Subject{SubjectHosts, SubjectIPs, SubjectLeases, SubjectPools, SubjectRoutes}

// Holdings are the subjects about claims. They are shown by default.
var Holdings = Subjects[:4]

// The states of a row.
const (
	// StateActive is a host that a route of its holder serves, or an address that MetalLB has granted.
	StateActive = "Active"
	// StatePending is an address that a Service asks for and that is not granted yet, or a host whose route no
	// controller has accepted or has another backend than the claim.
	StatePending = "Pending"
	// StateReserved is held and not used.
	StateReserved = "Reserved"
	// StateExpired is a hold that has expired. The next claimant may take it.
	StateExpired = "Expired"
	// StateClaiming is taken by a run that has not ended or has crashed.
	StateClaiming = "Claiming"
	// StatePartial is a lease with some active claims.
	StatePartial = "Partial"
	// StateTransferring is a host or address that was transferred to a lease and that objects of the former holder
	// still serve.
	StateTransferring = "Transferring"
	// StateWithheld is what a lease asked for while another deployment of its owner held it.
	StateWithheld = "Withheld"
	// StateTerminating is a claim that is being deleted.
	StateTerminating = "Terminating"
	// StateUnreadable is a claim that cannot be read. Nobody can take its thing.
	StateUnreadable = "Unreadable"
	// StateReleased is a row that is gone since the last look of a watch.
	StateReleased = "Released"
)

// Book is who holds what at one moment. Its JSON form is a public format, with one list per requested subject.
type Book struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	Hosts  []HostRow  `json:"hosts,omitzero"`
	IPs    []IPRow    `json:"ips,omitzero"`
	Leases []LeaseRow `json:"leases,omitzero"`
	Pools  []PoolRow  `json:"pools,omitzero"`
	Routes []RouteRow `json:"routes,omitzero"`
	DNS    []DNSRow   `json:"dns,omitzero"`
	// Resources are the capacity of the cluster.
	Resources []ResourceRow `json:"resources,omitzero"`
	// Orders are the reservations of orders.
	Orders []OrderRow `json:"orders,omitzero"`
	// Problems are the problems that were found.
	Problems []state.Problem `json:"problems,omitzero"`

	// Addresses count the addresses that leases can get, if the pools were requested; nil if leases get none.
	Addresses *inventory.Addresses `json:"-"`
	// Edited are the leases of whose objects kubectl users own fields, as far as the subjects need those objects. Only a plan tells
	// whether the fields are drift.
	Edited map[lease.ID]bool `json:"-"`
	// WithWorkloads is true if the leases include the rollout state of their workloads.
	WithWorkloads bool `json:"-"`
}

// NewBook computes the book. A claimed thing is shown with the claim's holder, whatever other objects say. A thing
// without a claim, as Akash's provider creates it, is shown with the objects that use it.
func NewBook(cfg *config.ProviderConfig, in Contents, subjects ...Subject) *Book {
	if in.fromFiles { // claims were added before or after announcements
		for _, c := range in.Claims {
			c.Meet(in.Runs, in.Now)
		}
	}
	f := bookBuilder{cfg: cfg, in: &in, now: in.Now, tenants: map[lease.ID]*Tenant{}}
	b := &Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Edited: in.edited()}
	var hosts []HostRow
	var ips []IPRow
	both := slices.Contains(subjects, SubjectLeases)
	if both || slices.Contains(subjects, SubjectHosts) {
		hosts = f.hosts(in.takeHostRows(), in.Hosts)
	}
	if both || slices.Contains(subjects, SubjectIPs) {
		ips = f.ips(in.Claims, in.Ports, in.Services, in.Pools)
	}
	if slices.Contains(subjects, SubjectEndpoints) {
		in.Backends.addTo(hosts, ips)
	}
	for _, s := range subjects {
		switch s {
		case SubjectHosts:
			b.Hosts = hosts
		case SubjectIPs:
			b.IPs = ips
		case SubjectLeases:
			b.Leases = leaseRows(hosts, ips)
			if slices.Contains(subjects, SubjectWorkloads) {
				b.Leases, b.WithWorkloads = f.withWorkloads(b.Leases, &in.Workloads), true
			}
			for i := range b.Leases {
				b.Leases[i].Suspended = in.Suspended[b.Leases[i].ID().Group()]
			}
		case SubjectPools:
			b.Pools, b.Addresses = f.pools(in), Addresses(cfg, in)
		case SubjectRoutes:
			b.Routes = routeRows(cfg, in)
		case SubjectOrders:
			b.Orders = f.orders(in.Reservations)
		case SubjectDNS:
			b.DNS = f.records(in.Records)
		case SubjectResources:
			in.AddReservations()
			in.Capacity.NodePorts(cfg.Workloads.NodePorts.First, cfg.Workloads.NodePorts.Last)
			b.Resources = f.resources(in.Capacity.Capacity(), Addresses(cfg, in))
		}
	}
	return b
}

// EditedLeases returns the leases in the book's rows of whose objects kubectl users own fields, sorted.
func (b *Book) EditedLeases() []lease.ID {
	leases := map[lease.ID]bool{}
	for _, s := range []Subject{SubjectHosts, SubjectIPs, SubjectLeases} {
		ListingOf(s).each(b, func(t *Tenant, _ string) {
			if b.Edited[t.ID()] {
				leases[t.ID()] = true
			}
		})
	}
	return slices.SortedFunc(maps.Keys(leases), lease.ID.Compare)
}

// Unclaimed counts the hosts and the ports in the book's rows that objects use that were rendered for leases, and that nobody has claimed.
func (b *Book) Unclaimed() (hosts, ports int) {
	for _, r := range b.Hosts {
		if r.Rendered {
			hosts++
		}
	}
	for _, r := range b.IPs {
		if r.Rendered {
			ports++
		}
	}
	return hosts, ports
}

// Changes returns a book with the rows that are new or different since an earlier book. A row that is gone is included
// once as Released. Pools that are gone are left out, and so are ports without an address that have got one.
func (b *Book) Changes(earlier *Book) *Book {
	out := &Book{APIVersion: b.APIVersion, Kind: b.Kind, WithWorkloads: b.WithWorkloads}
	for _, l := range Listings() {
		l.changes(out, earlier, b)
	}
	out.IPs = slices.DeleteFunc(out.IPs, func(gone IPRow) bool {
		return gone.State == StateReleased && !gone.Address.IsValid() && slices.ContainsFunc(b.IPs, gone.samePort)
	})
	return out
}

// NextEnd returns when the next hold in the book expires after now, including Margin, or the zero time.
func (b *Book) NextEnd(now time.Time) time.Time {
	var next time.Time
	for _, l := range Listings() {
		l.each(b, func(_ *Tenant, expires string) {
			at, err := time.Parse(time.RFC3339, expires)
			if end := at.Add(state.Margin + time.Second); err == nil && end.After(now) && (next.IsZero() || end.Before(next)) {
				next = end
			}
		})
	}
	return next
}

// Empty reports whether the book has no rows.
func (b *Book) Empty() bool {
	return !slices.ContainsFunc(Listings(), func(l Listing) bool { return l.count(b) > 0 })
}

// SubjectProblems are the problems in the book. It is shown on request.
const SubjectProblems Subject = "problems"

// serviceState returns the state of an address that is claimed for a Service's port, and the reason. The state is "" if
// the Service is for the other family.
func serviceState(s *state.ServiceObject, a netip.Addr) (state, message string) {
	other := func(b netip.Addr) bool { return b.BitLen() == a.BitLen() && b != a }
	sameFamily := func(b netip.Addr) bool { return b.BitLen() == a.BitLen() }
	if slices.Contains(s.Granted, a) {
		return StateActive, ""
	}
	if len(s.Asked) > 0 && !slices.ContainsFunc(s.Asked, sameFamily) {
		return "", ""
	}
	if i := slices.IndexFunc(s.Granted, other); i >= 0 {
		return StatePending, fmt.Sprintf("MetalLB granted %s instead", s.Granted[i])
	}
	if i := slices.IndexFunc(s.Asked, other); i >= 0 && !slices.Contains(s.Asked, a) {
		return StatePending, fmt.Sprintf("service %s/%s asks for %s", s.Namespace, s.Name, s.Asked[i])
	}
	return StatePending, ""
}

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
	in      *Contents
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
