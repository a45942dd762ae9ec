package view

import (
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Contents is what a cluster or a folder holds of the things in the book. Lists that no requested subject needs may be
// missing.
type Contents struct {
	// Now is by the API server's clock, or the machine's clock if the objects were read from files. If it is zero, no
	// hold counts as expired.
	Now    time.Time
	Claims []*state.Claim
	// Runs are the announcements of commands, by nonce.
	Runs map[string]*state.Announcement
	// fromFiles is true if claims were added as whole objects.
	fromFiles bool
	// hostRows are the rows of claims on hosts that AddClaim has kept, in chunks of a fixed capacity: growing one list
	// would need twice the memory. NewBook takes them.
	hostRows [][]HostRow
	// Hosts are ProviderHosts and the routes of leases.
	Hosts []state.HostObject
	// Ports are ProviderLeasedIPs.
	Ports []state.PortObject
	// Services are the LoadBalancer Services of leased ports.
	Services []state.ServiceObject
	// NodeUses are the addresses of the nodes, as far as they may be read.
	NodeUses []state.Use
	// Pools are MetalLB's IPAddressPools.
	Pools []state.PoolObject
	// Records are the DNS records.
	Records []RecordObject
	// Routes are the hosts and paths of all live routes, whoever wrote them.
	Routes []admission.Route
	// Gateways are the listeners of the Gateways that routes name.
	Gateways admission.Gateways
	// Reservations are the reservations of orders.
	Reservations []*reserved.Claim
	// Capacity is the capacity of the cluster.
	Capacity observed.Fold
	// Backends are the Services to which hosts and addresses lead.
	Backends Backends
	// Workloads are the workloads of leases.
	Workloads Workloads
	// Suspended are the deployment groups that the reconciler leaves as they are.
	Suspended map[lease.Group]bool
	// Namespaces are the labels of namespaces, by name.
	Namespaces map[string]map[string]string
}

// Add adds a whole object if it concerns the book. A claim must be in the ledger's namespace or, in a file, have no
// namespace.
func (c *Contents) Add(o *unstructured.Unstructured, ledgerNamespace string) {
	switch o.GroupVersionKind().Group + "/" + o.GetKind() {
	case "coordination.k8s.io/Lease":
		if in := o.GetNamespace(); in == "" || in == ledgerNamespace {
			c.addClaim(o)
		}
	case "/Namespace":
		c.AddNamespace(o)
	case "/Node":
		c.NodeUses = append(c.NodeUses, state.NodeUses(o)...)
	case "discovery.k8s.io/EndpointSlice":
		addTyped(o, c.Backends.AddSlice)
	}
	c.AddObject(o)
	c.addCapacity(o)
	c.Workloads.Add(o)
	c.Routes = append(c.Routes, RoutesOf(o)...)
	c.AddGateway(o)
}

// AddObject adds a whole object of a lease, or a pool, as one that has a row or is behind one. It ignores others.
func (c *Contents) AddObject(o *unstructured.Unstructured) {
	switch o.GroupVersionKind().Group + "/" + o.GetKind() {
	case "akash.network/ProviderHost", "networking.k8s.io/Ingress", "gateway.networking.k8s.io/HTTPRoute",
		"gateway.networking.k8s.io/TLSRoute", "route.openshift.io/Route":
		c.Hosts = append(c.Hosts, state.HostObjectsOf(o)...)
	case "akash.network/ProviderLeasedIP":
		c.Ports = append(c.Ports, state.PortObjectOf(o))
	case "/Service":
		if o.GetLabels()[lease.LabelServiceTarget] == lease.ServiceTargetMetalLB {
			c.Services = append(c.Services, state.ServiceObjectOf(o))
		}
	case "metallb.io/IPAddressPool":
		c.Pools = append(c.Pools, state.PoolObjectOf(o))
	case "extensions.gardener.cloud/DNSRecord", "externaldns.k8s.io/DNSEndpoint":
		if o.GetLabels()[lease.LabelOwner] != "" { // the selection in a cluster
			c.Records = append(c.Records, RecordObjectOf(o))
		}
	}
}

// AddBackend adds a whole Service as one to which hosts and addresses may lead.
func (c *Contents) AddBackend(o *unstructured.Unstructured) { addTyped(o, c.Backends.AddService) }

// AddGateway adds the listeners of a Gateway.
func (c *Contents) AddGateway(o *unstructured.Unstructured) {
	if c.Gateways == nil {
		c.Gateways = admission.Gateways{}
	}
	c.Gateways.Add(o)
}

// AddClaim adds a claim. If whole is false, it keeps only the rows of a claim on a host, which is all that a book
// shows: a ledger may have a hundred thousand claims. Admission of routes needs whole claims.
//
// Add the announcements of commands before the claims.
func (c *Contents) AddClaim(claim *state.Claim, whole bool) {
	claim.Meet(c.Runs, c.Now)
	if whole || claim.Kind.HasPorts() {
		c.Claims = append(c.Claims, claim)
	} else {
		c.addRows(hostRows(claim))
	}
}

// chunkSize is the least capacity of a chunk of hostRows.
const chunkSize = 500

func (c *Contents) addRows(rows []HostRow) {
	last := len(c.hostRows) - 1
	if last < 0 || len(c.hostRows[last])+len(rows) > cap(c.hostRows[last]) {
		c.hostRows = append(c.hostRows, make([]HostRow, 0, max(chunkSize, len(rows))))
		last++
	}
	c.hostRows[last] = append(c.hostRows[last], rows...)
}

// takeHostRows returns the rows of all claims on hosts and clears the chunks.
func (c *Contents) takeHostRows() []HostRow {
	for _, claim := range c.Claims {
		if !claim.Kind.HasPorts() {
			c.addRows(hostRows(claim))
		}
	}
	n := 0
	for _, chunk := range c.hostRows {
		n += len(chunk)
	}
	rows := make([]HostRow, 0, n) // a requested list must not be nil, even if it is empty
	for _, chunk := range c.hostRows {
		rows = append(rows, chunk...)
	}
	c.hostRows = nil
	return rows
}

// edited returns the leases of whose objects kubectl users own fields.
func (c *Contents) edited() map[lease.ID]bool {
	leases := map[lease.ID]bool{}
	add := func(o state.Labelled) {
		if o.Edited && o.HasLease {
			leases[o.Lease] = true
		}
	}
	for i := range c.Hosts {
		add(c.Hosts[i].Labelled)
	}
	for i := range c.Ports {
		add(c.Ports[i].Labelled)
	}
	for i := range c.Services {
		add(c.Services[i].Labelled)
	}
	return leases
}

// DropClaims removes the claims that were added.
func (c *Contents) DropClaims() { c.Claims, c.hostRows = nil, nil }

// ClaimedHosts yields the names of claimed hosts. A name may be repeated.
func (c *Contents) ClaimedHosts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, claim := range c.Claims {
			if !claim.Kind.HasPorts() && !yield(claim.Thing) {
				return
			}
		}
		for _, rows := range c.hostRows {
			for i := range rows {
				if !yield(rows[i].Host) {
					return
				}
			}
		}
	}
}

func (c *Contents) addClaim(o *unstructured.Unstructured) {
	if a, _ := state.ReadAnnouncement(o); a != nil { // also one that cannot be read: its run has not ended
		c.AddRuns(a)
		return
	}
	meta := &metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp(),
		DeletionTimestamp: o.GetDeletionTimestamp(), Finalizers: o.GetFinalizers(), ManagedFields: o.GetManagedFields(),
	}
	if d, ok := kept.Read(meta); ok && d.Suspended {
		if def, err := d.Decode(); err == nil {
			if c.Suspended == nil {
				c.Suspended = map[lease.Group]bool{}
			}
			c.Suspended[def.Lease.Group()] = true
		}
	}
	if r, ok := reserved.Read(meta); ok {
		c.Reservations = append(c.Reservations, r)
		return
	}
	if claim, ok := state.ReadClaim(meta); ok {
		c.Claims, c.fromFiles = append(c.Claims, &claim), true
	}
}

// AddRuns adds announcements of commands.
func (c *Contents) AddRuns(runs ...*state.Announcement) {
	if c.Runs == nil {
		c.Runs = map[string]*state.Announcement{}
	}
	for _, a := range runs {
		c.Runs[a.Nonce] = a
	}
}

// AddNamespace adds the metadata of a namespace.
func (c *Contents) AddNamespace(o metav1.Object) {
	if c.Namespaces == nil {
		c.Namespaces = map[string]map[string]string{}
	}
	c.Namespaces[o.GetName()] = o.GetLabels()
}

// RoutesOf returns the hosts and paths of an Ingress, an HTTPRoute, a TLSRoute or a Route. It leaves out cert-manager's
// solvers, which do not compete for hosts, and GRPCRoutes, on which nobody asks for a verdict.
func RoutesOf(o *unstructured.Unstructured) []admission.Route {
	if state.IsSolver(o) || o.GetKind() == admission.KindGRPCRoute {
		return nil
	}
	return admission.RoutesOf(o)
}
