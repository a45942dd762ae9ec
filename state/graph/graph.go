// Package graph has the book as a graph: which lease holds which hosts and addresses, and what leads from these to its Services.
package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// The kinds of nodes. The other kinds are those of routes, as in the column ROUTED of hosts.
const (
	Lease    = "lease"
	Host     = "host"
	Address  = "address"
	Endpoint = "endpoint"
	Port     = "port"
	Service  = "service"
	Pool     = "pool"
)

// Graph is what leads from leases to what serves them. Its JSON form is a public format. Edges are in the order in which they are drawn:
// from a lease to its hosts and addresses, from a host to its route, from an address to its ports and its pool, from routes and ports to
// Services.
type Graph struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Nodes      []Node `json:"nodes"`
	Edges      []Edge `json:"edges"`
}

// Node is a thing or an object.
type Node struct {
	// ID is unique in the graph.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Name is the name of the thing or the object. That of a lease is OWNER/DSEQ/GSEQ, that of a port 443/tcp. Of a Service it has the
	// port, as in web:80.
	Name string `json:"name"`
	// Namespace is that of an object, or of a lease.
	Namespace string `json:"namespace,omitempty"`
	// State is the state that the book has for a lease, a host, an address or a port.
	State string `json:"state,omitempty"`
	// Message is what the book says of it: why it is not Active, or of a Service why nothing answers.
	Message string `json:"message,omitempty"`
}

// Label returns the kind and the name, as a person types the thing: host/shop.example.com.
func (n Node) Label() string { return n.Kind + "/" + n.Name }

// Edge leads from one node to another, which are named by their IDs.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Of returns the graph of a book with hosts, addresses, leases, pools and endpoints. A lease that holds nothing in the book is a node
// without edges; pools without an address in the book are left out.
func Of(b *view.Book) *Graph {
	x := builder{
		out:   &Graph{APIVersion: lease.Domain + "/v1alpha1", Kind: "Graph", Nodes: []Node{}, Edges: []Edge{}},
		nodes: map[string]int{}, edges: map[Edge]bool{}, states: map[string][]string{}, pools: b.Pools,
	}
	for i := range b.Leases {
		x.lease(b.Leases[i].Tenant, b.Leases[i].State)
	}
	for i := range b.Hosts {
		x.host(&b.Hosts[i])
	}
	for i := range b.IPs {
		x.port(&b.IPs[i])
	}
	for i := range b.IPs { // after all ports of their addresses
		x.pool(&b.IPs[i])
	}
	return x.out
}

// builder collects a graph.
type builder struct {
	out *Graph
	// nodes are the places of nodes in the graph, by ID.
	nodes map[string]int
	edges map[Edge]bool
	// states are those of the ports of an address.
	states map[string][]string
	pools  []view.PoolRow
}

// node adds a node, unless there is one with its ID, and an edge to it from another one; "" stands for none. It returns its ID.
func (x *builder) node(from string, n Node) string {
	at, known := x.nodes[n.ID]
	if !known {
		at = len(x.out.Nodes)
		x.nodes[n.ID] = at
		x.out.Nodes = append(x.out.Nodes, n)
	}
	if had := &x.out.Nodes[at].Message; known && n.Message != "" && !strings.Contains(*had, n.Message) {
		*had = strings.TrimPrefix(*had+"; "+n.Message, "; ")
	}
	if edge := (Edge{from, n.ID}); from != "" && !x.edges[edge] {
		x.edges[edge] = true
		x.out.Edges = append(x.out.Edges, edge)
	}
	return n.ID
}

// lease adds a lease. It returns "" if the lease is not known.
func (x *builder) lease(t *view.Tenant, state string) string {
	if t.Lease == "" {
		return ""
	}
	return x.node("", Node{ID: Lease + "/" + t.Lease, Kind: Lease, Name: t.ID().Group().String(), Namespace: t.Namespace, State: state})
}

// of distinguishes the things of several leases, and of objects that name none.
func of(t *view.Tenant) string { return " of " + cmp.Or(t.Lease, t.Owner+" in "+t.Namespace) }

func (x *builder) host(r *view.HostRow) {
	id := Host + "/" + lease.HostPath(r.Host, r.Path)
	if r.State == view.StateWithheld {
		id += of(r.Tenant)
	}
	at := x.node(x.lease(r.Tenant, ""), Node{ID: id, Kind: Host, Name: lease.HostPath(r.Host, r.Path), State: r.State, Message: r.Message})
	if r.Route == "" {
		return
	}
	namespace, name, _ := strings.Cut(r.Route, "/")
	at = x.node(at, Node{ID: r.Target + "/" + r.Route, Kind: r.Target, Name: name, Namespace: namespace})
	if (r.Routed || r.Unaccepted) && r.Service != "" {
		x.service(at, r.Namespace, backend(r.Service, r.Port), r.Endpoints.Silent(r.Service, r.Port))
	}
}

// backend returns SERVICE:PORT, or only the Service if the port is 0.
func backend(service string, port uint16) string {
	if port == 0 {
		return service
	}
	return fmt.Sprintf("%s:%d", service, port)
}

// service adds a Service, and why nothing answers there.
func (x *builder) service(from, namespace, name, silent string) {
	x.node(from, Node{ID: Service + "/" + namespace + "/" + name, Kind: Service, Name: name, Namespace: namespace, Message: silent})
}

// address returns the node of an address, or of an IP endpoint that has no address yet.
func address(r *view.IPRow) Node {
	n := Node{Kind: Endpoint, Name: lease.EndpointOf(r.Owner, r.SharingKey)}
	if r.Address.IsValid() {
		n = Node{Kind: Address, Name: r.Address.String()}
	}
	n.ID = n.Label() + of(r.Tenant)
	return n
}

// port adds a port of an address.
func (x *builder) port(r *view.IPRow) {
	at := x.node(x.lease(r.Tenant, ""), address(r))
	if !slices.Contains(x.states[at], r.State) {
		x.states[at] = append(x.states[at], r.State)
		x.out.Nodes[x.nodes[at]].State = view.CombineStates(x.states[at])
	}
	name := fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
	if r.Port == 0 {
		name = "-" // as in the column PORT: the claim cannot be read
	}
	at = x.node(at, Node{ID: Port + "/" + name + " at " + at, Kind: Port, Name: name, State: r.State, Message: r.Message})
	if r.Routed() {
		x.service(at, r.Namespace, r.Object, r.Endpoints.Silent(r.Object, r.Port))
	}
}

// pool adds the pool of an address, with what the row of pools says that has its name, or else its address: a range that was widened has
// two pools.
func (x *builder) pool(r *view.IPRow) {
	i := slices.IndexFunc(x.pools, func(p view.PoolRow) bool { return p.Name == r.Pool })
	if i < 0 && r.Address.IsValid() {
		i = slices.IndexFunc(x.pools, func(p view.PoolRow) bool { return p.Contains(r.Address) })
	}
	n := Node{Kind: Pool, Name: r.Pool}
	if i >= 0 {
		p := x.pools[i]
		n.Name = cmp.Or(r.Pool, p.Name)
		n.Message = fmt.Sprintf("%s: %s of %s in use", strings.Join(p.Ranges, ", "), view.CountText(p.Used), view.CountText(p.Addresses))
	}
	if n.ID = n.Label(); n.Name != "" {
		x.node(address(r).ID, n)
	}
}
