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
	// Group is the placement's name in the SDL; empty if the format has none.
	Group string `json:"group,omitempty"`
	// Services are sorted by name.
	Services []Workload `json:"services"`
}

// Workload is what a service runs, and the resources that it needs.
type Workload struct {
	Name    string   `json:"name"`
	Image   string   `json:"image" doc:"image" read:"required"`
	Command []string `json:"command,omitempty" doc:"command,omitempty"`
	Args    []string `json:"args,omitempty" doc:"args,omitempty"`
	// Env has entries NAME=VALUE; an entry without "=" has an empty value.
	Env []string `json:"env,omitempty" doc:"env,omitempty"`
	// Count is the number of replicas.
	Count     uint32              `json:"count" doc:"count,omitempty" is:"a count" min:"1" default:"1"`
	Resources resources.Resources `json:"resources"`
	// Params is nil if the service has none; Akash's manifest distinguishes that from empty ones.
	Params      *Params      `json:"params,omitempty" doc:"params,omitempty"`
	Credentials *Credentials `json:"credentials,omitempty"`
	// Scheduler is the result of an earlier reservation, if the format keeps it: a Manifest object does.
	Scheduler *SchedulerParams `json:"-"`
	At        Place            `json:"-"`
}

// Compare orders workloads by name.
func (w Workload) Compare(other Workload) int { return cmp.Compare(w.Name, other.Name) }

// Params are the mounts of a service's volumes and its permissions in the cluster.
type Params struct {
	// Storage has the mounts, sorted by the volume's name.
	Storage []Mount `json:"storage,omitempty"`
	// Permissions is nil if the definition has none.
	Permissions *Permissions `json:"permissions,omitempty"`
}

// Mount is the path of a volume in the container.
type Mount struct {
	Volume   string `json:"name" doc:"@key"`
	Path     string `json:"mount" doc:"mount"`
	ReadOnly bool   `json:"readOnly,omitempty" doc:"readOnly,omitempty"`
	At       Place  `json:"-" at:"@key"`
}

// Compare orders mounts by the volume's name.
func (m Mount) Compare(other Mount) int { return cmp.Compare(m.Volume, other.Volume) }

// Permissions are what the service may read in its own namespace.
type Permissions struct {
	// Read has words such as logs and events; unknown words grant nothing.
	Read []string `json:"read,omitempty"`
}

// Credentials are the credentials of a private registry.
type Credentials struct {
	Host     string `json:"host"`
	Email    string `json:"email,omitempty"`
	Username string `json:"username"`
	// Password is not part of a definition's hash, and is not stored with the definition. It is empty if the definition
	// was written without it.
	Password string `json:"-"`
	At       Place  `json:"-"`
}

// SchedulerParams are what a reservation has chosen for a resource unit: what its pods need to be scheduled to nodes with its GPUs (provider:
// the Manifest's scheduler_params).
type SchedulerParams struct {
	RuntimeClass string `json:"runtime_class" read:"word"`
	// Resources are nil for a unit without GPUs.
	Resources *SchedulerResources `json:"resources,omitempty"`
}

// SchedulerResources are the GPUs that were chosen.
type SchedulerResources struct {
	GPU *SchedulerGPU `json:"gpu"`
}

// SchedulerGPU is the model of the GPUs. Akash's provider leaves MemorySize and Interface empty.
type SchedulerGPU struct {
	Vendor     string `json:"vendor" read:"word"`
	Model      string `json:"model" read:"word"`
	MemorySize string `json:"memory_size" read:"word"`
	Interface  string `json:"interface" read:"word"`
}

// GPU returns the model that was chosen; nil if there is none.
func (p *SchedulerParams) GPU() *SchedulerGPU {
	if p == nil || p.Resources == nil {
		return nil
	}
	return p.Resources.GPU
}

// Endpoints returns the endpoints that the port uses (chain-sdk: the manifest's GetEndpoints).
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

// Ports returns all ports of a service in the order of Akash's manifest: by connecting service, port, protocol, global
// before internal. The Kubernetes Service names each port after its index.
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

// NumberEndpoints sets the sequence of ports on IP endpoints that the input format does not number: the position of
// their endpoint.
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

// ResourceGroup returns the resources that the lease's group requests from a provider, as its order does. Services that
// share a resource unit (SDL 2.1: a compute profile) become one unit with the sum of their counts and their endpoints
// sorted by sequence. It is empty for a definition without workloads.
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
			unit.Count = math.MaxUint32 // more than any provider has; the sum must not wrap around
		}
		unit.Endpoints = append(unit.Endpoints, endpoints...)
		slices.SortStableFunc(unit.Endpoints, func(a, b resources.Endpoint) int { return cmp.Compare(a.Sequence, b.Sequence) })
	}
	return group
}

// Workload returns the workload of that name, or nil.
func (w *Workloads) Workload(name string) *Workload {
	if i := slices.IndexFunc(w.Services, func(s Workload) bool { return s.Name == name }); i >= 0 {
		return &w.Services[i]
	}
	return nil
}

// hashedPort has the fields of a port that are read only with workloads.
type hashedPort struct {
	Peer     string `json:"peer,omitempty"`
	Sequence uint32 `json:"sequence,omitempty"`
	SaysAs   bool   `json:"saysAs,omitempty"`
}

// appendWorkloads encodes what the lease runs. It leaves out passwords: many users can read the hash on objects, and
// could guess a short password from it.
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
		panic(err) // strings and numbers always marshal
	}
	return appendTexts(b, "workloads", string(data))
}

// Has reports whether the service may read what the word means.
func (p *Permissions) Has(word string) bool { return p != nil && slices.Contains(p.Read, word) }
