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
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Contents is what the cluster, or a folder, holds of the things that the book is about. A list that
// no asked subject needs may be missing.
type Contents struct {
	// Now is the API server's clock, or that of the machine for what was read from files; without it no hold
	// is taken for ended.
	Now    time.Time
	Claims []*state.Claim
	// Runs are the announcements of commands, by their nonces.
	Runs map[string]*state.Announcement
	// fromFiles is true where claims were added as whole objects.
	fromFiles bool
	// hostRows are what AddClaim keeps of claims on hosts, in pieces that never grow: to make one list larger a
	// second one is needed beside it. A book takes them over.
	hostRows [][]HostRow
	// Hosts are ProviderHosts and the routes of leases.
	Hosts []state.HostObject
	// Ports are ProviderLeasedIPs.
	Ports []state.PortObject
	// Services are the LoadBalancer Services of leased ports.
	Services []state.ServiceObject
	// Pools are MetalLB's IPAddressPools.
	Pools []state.PoolObject
	// Records are the DNS records.
	Records []RecordObject
	// Routes are the hosts and paths of all live routes, whoever wrote them.
	Routes []admission.Route
	// Reservations are those of orders.
	Reservations []*reserved.Claim
	// Capacity is what there is to give out.
	Capacity observed.Fold
	// Workloads are what leases run.
	Workloads Workloads
	// Namespaces are the labels of namespaces.
	Namespaces map[string]map[string]string
}

// Add adds a whole object, if the book is about it. A claim counts in the ledger's namespace, and
// where its namespace is not written.
func (c *Contents) Add(o *unstructured.Unstructured, ledgerNamespace string) {
	switch group := o.GroupVersionKind().Group; group + "/" + o.GetKind() {
	case "coordination.k8s.io/Lease":
		if in := o.GetNamespace(); in == "" || in == ledgerNamespace {
			c.addClaim(o)
		}
	case "/Namespace":
		c.AddNamespace(o)
	case "akash.network/ProviderHost", "networking.k8s.io/Ingress", "gateway.networking.k8s.io/HTTPRoute", "gateway.networking.k8s.io/TLSRoute", "route.openshift.io/Route":
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
		if o.GetLabels()[lease.LabelOwner] != "" { // as they are selected in a cluster
			c.Records = append(c.Records, RecordObjectOf(o))
		}
	}
	c.addCapacity(o)
	c.Workloads.Add(o)
	c.Routes = append(c.Routes, RoutesOf(o)...)
}

// AddClaim adds a claim. Where whole is false no more is kept of one on a host than its rows, which
// are all that a book shows of it: a ledger may have a hundred thousand. To admit routes needs the
// claims whole.
//
// The announcements of commands are to be there before the claims.
func (c *Contents) AddClaim(claim *state.Claim, whole bool) {
	claim.Meet(c.Runs, c.Now)
	if whole || claim.Kind.HasPorts() {
		c.Claims = append(c.Claims, claim)
	} else {
		c.addRows(hostRows(claim))
	}
}

// rowsOfPiece is how many rows a piece of hostRows has at least.
const rowsOfPiece = 500

func (c *Contents) addRows(rows []HostRow) {
	last := len(c.hostRows) - 1
	if last < 0 || len(c.hostRows[last])+len(rows) > cap(c.hostRows[last]) {
		c.hostRows = append(c.hostRows, make([]HostRow, 0, max(rowsOfPiece, len(rows))))
		last++
	}
	c.hostRows[last] = append(c.hostRows[last], rows...)
}

// takeHostRows are the rows of all claims on hosts. They are there once: the pieces are forgotten.
func (c *Contents) takeHostRows() []HostRow {
	for _, claim := range c.Claims {
		if !claim.Kind.HasPorts() {
			c.addRows(hostRows(claim))
		}
	}
	n := 0
	for _, piece := range c.hostRows {
		n += len(piece)
	}
	rows := make([]HostRow, 0, n) // a list that is asked for is there, if empty
	for _, piece := range c.hostRows {
		rows = append(rows, piece...)
	}
	c.hostRows = nil
	return rows
}

// DropClaims forgets the claims that were added.
func (c *Contents) DropClaims() { c.Claims, c.hostRows = nil, nil }

// ClaimedHosts are the names of the hosts that are claimed; some come several times.
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
	if a, err := state.ReadAnnouncement(o); err == nil {
		c.AddRuns(a)
		return
	}
	meta := &metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp(),
		DeletionTimestamp: o.GetDeletionTimestamp(), Finalizers: o.GetFinalizers(), ManagedFields: o.GetManagedFields(),
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

// AddNamespace adds what a namespace's metadata says.
func (c *Contents) AddNamespace(o metav1.Object) {
	if c.Namespaces == nil {
		c.Namespaces = map[string]map[string]string{}
	}
	c.Namespaces[o.GetName()] = o.GetLabels()
}

// RoutesOf are the hosts and paths of an Ingress, an HTTPRoute or a Route. cert-manager's solvers do
// not compete for a host.
func RoutesOf(o *unstructured.Unstructured) []admission.Route {
	if state.IsSolver(o) {
		return nil
	}
	return admission.RoutesOf(o)
}
