package inventory

// SchedulerParams are what a pod needs to come to a node with its cards (akash-network/provider: the Manifest's
// scheduler_params). They are nil for a resource without GPU.
type SchedulerParams struct {
	RuntimeClass string             `json:"runtime_class"`
	Resources    SchedulerResources `json:"resources"`
}

// SchedulerResources are the cards of SchedulerParams.
type SchedulerResources struct {
	GPU SchedulerGPU `json:"gpu"`
}

// SchedulerGPU names the cards' model. Akash's provider leaves memory size and interface empty.
type SchedulerGPU struct {
	Vendor     string `json:"vendor"`
	Model      string `json:"model"`
	MemorySize string `json:"memory_size"`
	Interface  string `json:"interface"`
}

// Grant is what a group that fits is given.
type Grant struct {
	// Resources are those of the group, in its order.
	Resources []Granted
	// Addresses is how many addresses it takes, NodePorts how many node ports.
	Addresses, NodePorts uint64
}

// Granted is what one resource of a group is given, after commit levels.
type Granted struct {
	ID            uint32   `json:"id"`
	Count         uint32   `json:"count"`
	CPU           uint64   `json:"cpu"`
	Memory        uint64   `json:"memory"`
	GPUUnits      uint64   `json:"gpu_units"`
	GPUAttributes []string `json:"gpu_attributes,omitempty"`
	Storage       []uint64 `json:"storage,omitempty"`
	// Nodes is the node of each replica, in the order of placing.
	Nodes []string `json:"-"`
	// Params are nil without GPU.
	Params *SchedulerParams `json:"-"`
}

// Placement is the node of each replica by resource id. Resources of one id are put together, in the order of placing:
// from the last to the first.
func (g Grant) Placement() map[uint32][]string {
	out := map[uint32][]string{}
	for i := len(g.Resources) - 1; i >= 0; i-- {
		if r := g.Resources[i]; len(r.Nodes) > 0 {
			out[r.ID] = append(out[r.ID], r.Nodes...)
		}
	}
	return out
}

// SchedulerParams are those of each resource that has replicas, by id. Of resources of one id the first counts.
func (g Grant) SchedulerParams() map[uint32]*SchedulerParams {
	out := map[uint32]*SchedulerParams{}
	for i := len(g.Resources) - 1; i >= 0; i-- {
		if r := g.Resources[i]; len(r.Nodes) > 0 {
			out[r.ID] = r.Params
		}
	}
	return out
}
