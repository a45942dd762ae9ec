package view

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// IPRow is one port of a leased address.
type IPRow struct {
	// Address is the zero Addr, "" in JSON, until one is granted.
	Address netip.Addr    `json:"address"`
	Family  config.Family `json:"family"`
	*Tenant `json:",inline"`
	// SharingKey identifies the IP endpoint of the owner.
	SharingKey string         `json:"sharingKey"`
	Protocol   lease.Protocol `json:"protocol"`
	// Port is the port on the address, ContainerPort the port of the workload's Service.
	Port          uint16 `json:"port"`
	Service       string `json:"service"`
	ContainerPort uint16 `json:"containerPort"`
	Pool          string `json:"pool"`
	// State is Active, Pending, Transferring, Reserved, Expired, Claiming, Withheld, Terminating or Unreadable.
	State string `json:"state"`
	// Claimed is false for a port that only Akash's objects or a Service declare.
	Claimed bool `json:"claimed"`
	// Rendered is true for a port without a claim whose object says from which definition it was rendered.
	Rendered bool        `json:"-"`
	Since    metav1.Time `json:"since"`
	// Expires is when a hold ends, in RFC 3339. It is empty for a claim without an end.
	Expires string `json:"expires,omitempty"`
	Message string `json:"message,omitempty"`
	// Object is the LoadBalancer Service for the address, or empty. Its Endpoints are nil if they are not known.
	Object    string     `json:"-"`
	Endpoints *Endpoints `json:"endpoints,omitempty"`
}

func (r IPRow) key() string {
	return fmt.Sprintf("%s %s/%d %s %s", r.Address, r.Protocol, r.Port, r.SharingKey, r.Namespace)
}

func (r IPRow) samePort(o IPRow) bool {
	return r.Namespace == o.Namespace && r.SharingKey == o.SharingKey && r.Protocol == o.Protocol && r.Port == o.Port
}

// portKey identifies a deployment group's port of an IP endpoint.
type portKey struct {
	group      lease.Group
	sharingKey string
	protocol   lease.Protocol
	port       uint16
}

// keyOf returns the key of an object's port. Objects that name no lease do not share ports.
func keyOf(o state.Labelled, sharingKey string, protocol lease.Protocol, port uint16) portKey {
	group := lease.Group{Owner: o.Namespace + "/" + o.Name}
	if o.HasLease {
		group = o.Lease.Group()
	}
	return portKey{group, strings.ToLower(sharingKey), protocol, port}
}

// ipFold collects the rows of leased ports.
type ipFold struct {
	*bookBuilder
	services map[portKey][]*state.ServiceObject
	ports    map[portKey]*state.PortObject
	pools    *state.PoolIndex
	// shown are the addresses of a port that have a row.
	shown map[portKey][]netip.Addr
	rows  []IPRow
}

// ips returns the ports of leased addresses, by address and port. Ports without an address come last.
func (f *bookBuilder) ips(
	claims []*state.Claim, ports []state.PortObject, services []state.ServiceObject, pools []state.PoolObject,
) []IPRow {
	x := ipFold{
		bookBuilder: f, pools: state.NewPoolIndex(pools),
		services: map[portKey][]*state.ServiceObject{}, ports: map[portKey]*state.PortObject{},
		shown: map[portKey][]netip.Addr{}, rows: []IPRow{},
	}
	for i, s := range services {
		key := keyOf(s.Labelled, s.SharingKey, s.Protocol, s.Port)
		x.services[key] = append(x.services[key], &services[i])
	}
	for i, p := range ports {
		x.ports[keyOf(p.Labelled, p.SharingKey, p.Protocol, p.Port)] = &ports[i]
	}
	for _, c := range claims {
		if c.Kind.HasPorts() {
			x.addClaim(c)
		}
	}
	for i := range services {
		x.addService(&services[i])
	}
	for i := range ports {
		x.addPort(&ports[i])
	}
	slices.SortStableFunc(x.rows, compareIPs)
	return x.rows
}

func compareIPs(a, b IPRow) int {
	if a.Address.IsValid() != b.Address.IsValid() {
		if a.Address.IsValid() {
			return -1
		}
		return 1
	}
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol),
		cmp.Compare(a.SharingKey, b.SharingKey), cmp.Compare(a.Namespace, b.Namespace))
}

// addClaim adds the ports of a claimed address or endpoint, and those that are withheld.
func (x *ipFold) addClaim(c *state.Claim) {
	row := IPRow{SharingKey: c.SharingKey, Claimed: true, Since: metav1.NewTime(c.Created), Message: c.Unreadable, Pool: x.cfg.IP.Pool}
	if a := c.Addr(); c.Kind == state.Address {
		row.Address, row.Family, row.Pool = a, config.FamilyOf(a), x.poolOf(a, nil)
	}
	if len(c.Parts) == 0 {
		row.Tenant, row.State = &Tenant{Owner: c.Owner}, claimState(c, state.Part{}, StateReserved, x.now)
		x.rows = append(x.rows, row)
		return
	}
	of := func(p state.Part, key string) (IPRow, portKey) {
		row.Tenant = x.tenant(p.Lease)
		row.Protocol, row.Port = state.Part{Key: key}.ProtocolPort()
		row.Service, row.ContainerPort = p.Service, p.Port
		return row, portKey{p.Lease.Group(), strings.ToLower(c.SharingKey), row.Protocol, row.Port}
	}
	for _, p := range c.Parts {
		part, key := of(p, p.Key)
		part.Expires = p.Expires
		if c.Kind == state.Address {
			x.addAddress(part, key, c, p)
		} else {
			x.addEndpoint(part, key, c, p)
		}
	}
	for _, w := range c.Waits {
		wait, _ := of(w, w.For)
		wait.State, wait.Message, wait.Claimed, wait.Since = StateWithheld, c.Withholder(w), false, metav1.Time{}
		x.rows = append(x.rows, wait)
	}
}

// addAddress adds a port of a claimed address.
func (x *ipFold) addAddress(row IPRow, key portKey, c *state.Claim, p state.Part) {
	seen := StateReserved
	for _, s := range x.services[key] {
		if state, message := serviceState(s, row.Address); state != "" && seen != StateActive {
			seen, row.Message = state, cmp.Or(c.Unreadable, message)
			row.Pool, row.Object = x.poolOf(row.Address, s), s.Name
		}
	}
	if former, ok := p.Former(); ok && seen == StateReserved {
		old := portKey{former, key.sharingKey, key.protocol, key.port}
		if len(x.services[old]) > 0 || x.ports[old] != nil {
			seen, row.Message = StateTransferring, cmp.Or(c.Unreadable, state.Transferring(p.From))
			x.shown[old] = append(x.shown[old], row.Address)
		}
	}
	if row.State = claimState(c, p, seen, x.now); row.State == StateClaiming {
		row.Message = c.AtWork
	}
	x.add(row, key)
}

// add adds a row of a claim.
func (x *ipFold) add(row IPRow, key portKey) {
	x.shown[key] = append(x.shown[key], row.Address)
	x.rows = append(x.rows, row)
}

// addEndpoint adds a port of a claimed endpoint, once for each address that MetalLB has granted.
func (x *ipFold) addEndpoint(row IPRow, key portKey, c *state.Claim, p state.Part) {
	granted, seen := false, StateReserved
	for _, s := range x.services[key] {
		if seen == StateReserved {
			seen, row.Object = StatePending, s.Name
		}
		for _, a := range s.Granted {
			if slices.Contains(x.shown[key], a) {
				continue
			}
			served := row
			served.Address, served.Family, served.Object = a, config.FamilyOf(a), s.Name
			served.Pool, served.State = cmp.Or(x.poolOf(a, nil), row.Pool), claimState(c, p, StateActive, x.now)
			x.add(served, key)
			granted = true
		}
	}
	if granted {
		return
	}
	if row.State = claimState(c, p, seen, x.now); row.State == StateClaiming {
		row.Message = c.AtWork
	}
	x.add(row, key)
}

// poolOf returns the name of the pool of an address: the one that MetalLB granted it to the Service from (s may be
// nil), else the pool that has it, else the configured one. An address stays in its pool when ranges or modes change.
func (x *ipFold) poolOf(a netip.Addr, s *state.ServiceObject) string {
	asked := ""
	if s != nil {
		if asked = s.Pool; asked != "" && slices.Contains(s.Granted, a) {
			return asked
		}
	}
	if o := x.pools.Of(a); o != nil {
		return o.Name
	}
	configured, _ := x.cfg.PoolFor(a)
	return cmp.Or(configured, asked)
}

// addService adds the addresses of a Service that are not claimed for it, or a row without an address if it waits for
// one.
func (x *ipFold) addService(s *state.ServiceObject) {
	key := keyOf(s.Labelled, s.SharingKey, s.Protocol, s.Port)
	row := IPRow{
		Tenant: x.tenantOf(s.Labelled), SharingKey: s.SharingKey, Protocol: s.Protocol, Port: s.Port,
		Service: s.Service, ContainerPort: s.ContainerPort, Pool: s.Pool, Since: metav1.NewTime(s.Since), Object: s.Name,
		Rendered: s.Rendered,
	}
	if p := x.ports[key]; p != nil {
		row.Since = metav1.NewTime(p.Since)
	}
	if len(s.Granted) == 0 && !slices.ContainsFunc(x.shown[key], func(a netip.Addr) bool {
		state, _ := serviceState(s, a)
		return state != ""
	}) {
		row.State = StatePending
		x.shown[key] = append(x.shown[key], netip.Addr{})
		x.rows = append(x.rows, row)
	}
	for _, a := range s.Granted {
		if slices.Contains(x.shown[key], a) {
			continue
		}
		row.Address, row.Family, row.State, row.Pool = a, config.FamilyOf(a), StateActive, x.poolOf(a, s)
		x.shown[key] = append(x.shown[key], a)
		x.rows = append(x.rows, row)
	}
}

// addPort adds a ProviderLeasedIP that has neither a claim nor a Service.
func (x *ipFold) addPort(p *state.PortObject) {
	if len(x.shown[keyOf(p.Labelled, p.SharingKey, p.Protocol, p.Port)]) > 0 {
		return
	}
	x.rows = append(x.rows, IPRow{
		Tenant: x.tenantOf(p.Labelled), SharingKey: p.SharingKey, Protocol: p.Protocol, Port: p.Port,
		Service: p.Service, State: StateReserved, Since: metav1.NewTime(p.Since),
		Rendered: p.Rendered,
	})
}
