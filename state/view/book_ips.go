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
		switch c.Kind {
		case state.Address:
			x.addClaim(c)
		case state.Endpoint:
			x.addEndpoint(c)
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

func (x *ipFold) addClaim(c *state.Claim) {
	a := c.Addr()
	row := IPRow{
		Address: a, Family: config.FamilyOf(a), SharingKey: c.SharingKey, Claimed: true, Since: metav1.NewTime(c.Created),
	}
	pool := x.poolOf(a, nil)
	if len(c.Parts) == 0 {
		row.Pool = pool
		row.Tenant, row.State, row.Message = &Tenant{Owner: c.Owner}, claimState(c, state.Part{}, StateReserved, x.now), c.Unreadable
		x.rows = append(x.rows, row)
		return
	}
	for _, p := range c.Parts {
		row.Tenant = x.tenant(p.Lease)
		row.Protocol, row.Port = p.ProtocolPort()
		row.Service, row.ContainerPort = p.Service, p.Port
		key, seen := portKey{p.Lease.Group(), strings.ToLower(c.SharingKey), row.Protocol, row.Port}, StateReserved
		row.Message, row.Pool, row.Object = c.Unreadable, pool, ""
		for _, s := range x.services[key] {
			if state, message := serviceState(s, a); state != "" && seen != StateActive {
				seen, row.Message = state, cmp.Or(c.Unreadable, message)
				row.Pool, row.Object = x.poolOf(a, s), s.Name
			}
		}
		if former, ok := p.Former(); ok && seen == StateReserved {
			old := portKey{former, key.sharingKey, key.protocol, key.port}
			if len(x.services[old]) > 0 || x.ports[old] != nil {
				seen, row.Message = StateTransferring, cmp.Or(c.Unreadable, state.Transferring(p.From))
				x.shown[old] = append(x.shown[old], a)
			}
		}
		if row.State, row.Expires = claimState(c, p, seen, x.now), p.Expires; row.State == StateClaiming {
			row.Message = c.AtWork
		}
		x.shown[key] = append(x.shown[key], a)
		x.rows = append(x.rows, row)
	}
	for _, w := range c.Waits {
		protocol, port := state.Part{Key: w.For}.ProtocolPort()
		x.rows = append(x.rows, IPRow{
			Address: a, Family: config.FamilyOf(a), Tenant: x.tenant(w.Lease), SharingKey: c.SharingKey, Protocol: protocol, Port: port,
			Service: w.Service, ContainerPort: w.Port, Pool: pool, State: StateWithheld,
			Message: c.Withholder(w),
		})
	}
}

// addEndpoint adds the ports of a claimed endpoint, with the addresses that MetalLB has granted.
func (x *ipFold) addEndpoint(c *state.Claim) {
	row := IPRow{
		SharingKey: c.SharingKey, Pool: x.cfg.IP.Pool, Claimed: true, Since: metav1.NewTime(c.Created), Message: c.Unreadable,
	}
	if len(c.Parts) == 0 {
		row.Tenant, row.State = &Tenant{Owner: c.Owner}, claimState(c, state.Part{}, StateReserved, x.now)
		x.rows = append(x.rows, row)
		return
	}
	for _, p := range c.Parts {
		row.Tenant = x.tenant(p.Lease)
		row.Protocol, row.Port = p.ProtocolPort()
		row.Service, row.ContainerPort, row.Expires, row.Object = p.Service, p.Port, p.Expires, ""
		key := portKey{p.Lease.Group(), strings.ToLower(c.SharingKey), row.Protocol, row.Port}
		granted, by, seen := []netip.Addr{}, map[netip.Addr]string{}, StateReserved
		for _, s := range x.services[key] {
			if seen == StateReserved {
				seen, row.Object = StatePending, s.Name
			}
			for _, a := range s.Granted {
				if !slices.Contains(granted, a) && !slices.Contains(x.shown[key], a) {
					granted, by[a], seen = append(granted, a), s.Name, StateActive
				}
			}
		}
		if seen == StateActive {
			for _, a := range granted {
				served := row
				served.Address, served.Family, served.State = a, config.FamilyOf(a), claimState(c, p, seen, x.now)
				served.Pool, served.Object = cmp.Or(x.poolOf(a, nil), row.Pool), by[a]
				x.shown[key] = append(x.shown[key], a)
				x.rows = append(x.rows, served)
			}
			continue
		}
		waiting := row
		if waiting.State = claimState(c, p, seen, x.now); waiting.State == StateClaiming {
			waiting.Message = c.AtWork
		}
		x.shown[key] = append(x.shown[key], netip.Addr{})
		x.rows = append(x.rows, waiting)
	}
	for _, w := range c.Waits {
		protocol, port := state.Part{Key: w.For}.ProtocolPort()
		x.rows = append(x.rows, IPRow{
			Tenant: x.tenant(w.Lease), SharingKey: c.SharingKey, Protocol: protocol, Port: port,
			Service: w.Service, ContainerPort: w.Port, Pool: x.cfg.IP.Pool, State: StateWithheld,
			Message: c.Withholder(w),
		})
	}
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
