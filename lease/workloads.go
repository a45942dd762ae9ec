package lease

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Workloads is what a lease runs: Akash's manifest of one deployment group.
type Workloads struct {
	// Group is the placement's name in the SDL; empty where the format has none.
	Group string `json:"group,omitempty"`
	// Services are sorted by name.
	Services []Workload `json:"services"`
}

// Workload is a service with what it runs and what that takes.
type Workload struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"`
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env are entries NAME=VALUE; without "=" the value is empty.
	Env []string `json:"env,omitempty"`
	// Count is the number of replicas.
	Count     uint32              `json:"count"`
	Resources resources.Resources `json:"resources"`
	// Params is nil where the service has none; Akash's manifest tells that from empty ones.
	Params      *Params      `json:"params,omitempty"`
	Credentials *Credentials `json:"credentials,omitempty"`
	// Scheduler is what an earlier reservation chose, where the format keeps it: a Manifest object does.
	Scheduler *SchedulerParams `json:"-"`
	At        Place            `json:"-"`
}

// Params are what the service says of its volumes and of its rights in the cluster.
type Params struct {
	// Storage are the mounts of volumes, sorted by the volume's name.
	Storage []Mount `json:"storage,omitempty"`
	// Permissions is nil where nothing is said of them.
	Permissions *Permissions `json:"permissions,omitempty"`
}

// Mount says where a volume is in the container.
type Mount struct {
	Volume   string `json:"name"`
	Path     string `json:"mount"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	At       Place  `json:"-"`
}

// Permissions are what the service may read of its own namespace.
type Permissions struct {
	// Read are words such as logs and events; others mean nothing.
	Read []string `json:"read,omitempty"`
}

// Credentials open a private registry.
type Credentials struct {
	Host     string `json:"host"`
	Email    string `json:"email,omitempty"`
	Username string `json:"username"`
	// Password is no part of a definition's hash, nor of what is kept of it. It is empty where the
	// definition was written without it.
	Password string `json:"-"`
	At       Place  `json:"-"`
}

// SchedulerParams is what a reservation chose for a unit (provider: the Manifest's scheduler_params).
type SchedulerParams struct {
	RuntimeClass string `json:"runtime_class"`
	// GPU is nil for a unit without GPUs.
	GPU *SchedulerGPU `json:"gpu,omitempty"`
}

// SchedulerGPU is the card that was chosen.
type SchedulerGPU struct {
	Vendor, Model, MemorySize, Interface string
}

// Endpoints are the endpoints that the port takes (chain-sdk: the manifest's GetEndpoints).
func (e Expose) Endpoints() []resources.Endpoint {
	if !e.Global {
		return nil
	}
	kind := resources.RandomPort
	if e.IsIngress() {
		kind = resources.SharedHTTP
	}
	endpoints := []resources.Endpoint{{Kind: kind}}
	if e.IP != "" {
		endpoints = append(endpoints, resources.Endpoint{Kind: resources.LeasedIP, Sequence: e.Sequence})
	}
	return endpoints
}

// Ports are all ports of a service in the order of Akash's manifest: by the service that may connect, port,
// protocol, global first. The position of a port names it in the Kubernetes Service.
func (d *Definition) Ports(service string) []Expose {
	var ports []Expose
	for _, s := range d.Services {
		if s.Name == service {
			ports = append(ports, s.Expose...)
		}
	}
	sortPorts(ports)
	return ports
}

func sortPorts(ports []Expose) {
	slices.SortStableFunc(ports, func(a, b Expose) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), compareExpose(a, b))
	})
}

// NumberEndpoints gives the ports on IP endpoints that no format has numbered the position of their endpoint.
func NumberEndpoints(d *Definition) {
	if d.Workloads == nil {
		return
	}
	positions := make(map[string]uint32, len(d.IPEndpoints))
	for i, p := range d.IPEndpoints {
		positions[p.Name] = uint32(i) + 1
	}
	for i := range d.Services {
		for j := range d.Services[i].Expose {
			e := &d.Services[i].Expose[j]
			if e.IP != "" && e.Sequence == 0 {
				e.Sequence = positions[e.IP]
			}
		}
	}
}

// ResourceGroup is what the lease's group asks a provider for, as an order does: services that share a unit
// (SDL 2.1: a compute profile) are one, their counts added up and their endpoints in the order of their numbers.
// It is empty for a definition that was read without workloads.
func (d *Definition) ResourceGroup() resources.Group {
	if d.Workloads == nil {
		return resources.Group{}
	}
	group := resources.Group{Name: d.Workloads.Group}
	at, ports := map[uint32]int{}, map[string][]Expose{}
	for _, s := range d.Services {
		ports[s.Name] = append(ports[s.Name], s.Expose...)
	}
	for _, s := range d.Workloads.Services {
		var endpoints []resources.Endpoint
		sortPorts(ports[s.Name])
		for _, e := range ports[s.Name] {
			endpoints = append(endpoints, e.Endpoints()...)
		}
		i, shared := at[s.Resources.ID]
		if !shared {
			at[s.Resources.ID] = len(group.Units)
			unit := resources.Unit{Resources: s.Resources, Count: s.Count}
			unit.Endpoints = endpoints
			group.Units = append(group.Units, unit)
			continue
		}
		unit := &group.Units[i]
		if unit.Count += s.Count; unit.Count < s.Count {
			unit.Count = math.MaxUint32 // more than anybody has: it must not become few
		}
		unit.Endpoints = append(unit.Endpoints, endpoints...)
		slices.SortStableFunc(unit.Endpoints, func(a, b resources.Endpoint) int { return cmp.Compare(a.Sequence, b.Sequence) })
	}
	return group
}

// Workload is the workload of the name, or nil.
func (w *Workloads) Workload(name string) *Workload {
	if i := slices.IndexFunc(w.Services, func(s Workload) bool { return s.Name == name }); i >= 0 {
		return &w.Services[i]
	}
	return nil
}

// hashedPort is what a definition without workloads does not say of a port.
type hashedPort struct {
	Peer     string `json:"peer,omitempty"`
	Sequence uint32 `json:"sequence,omitempty"`
	SaysAs   bool   `json:"saysAs,omitempty"`
}

// appendWorkloads adds what the lease runs to what Sum hashes. Passwords are no part of it: the hash stands on
// objects that many may read, and a short password could be guessed from it.
func appendWorkloads(b []byte, d *Definition) []byte {
	if d.Workloads == nil {
		return b
	}
	var ports []hashedPort
	for _, s := range d.Services {
		for _, e := range s.Expose {
			ports = append(ports, hashedPort{e.Peer, e.Sequence, e.SaysAs})
		}
	}
	data, err := json.Marshal([]any{d.Workloads, ports})
	if err != nil {
		panic(err) // plain texts and numbers
	}
	return appendTexts(b, "workloads", string(data))
}

// Has is true where the service may read what the word stands for.
func (p *Permissions) Has(word string) bool { return p != nil && slices.Contains(p.Read, word) }
