package inventory

// SchedulerParams are what a pod needs to be scheduled to a node with its GPUs (akash-network/provider: the Manifest's
// scheduler_params). They are nil for a resource without GPUs.
type SchedulerParams struct {
	RuntimeClass string             `json:"runtime_class"`
	Resources    SchedulerResources `json:"resources"`
}

// SchedulerResources are the GPUs of SchedulerParams.
type SchedulerResources struct {
	GPU SchedulerGPU `json:"gpu"`
}

// SchedulerGPU is the model of the GPUs. Akash's provider leaves MemorySize and Interface empty.
type SchedulerGPU struct {
	Vendor     string `json:"vendor"`
	Model      string `json:"model"`
	MemorySize string `json:"memory_size"`
	Interface  string `json:"interface"`
}

// Grant is what a group that fits gets.
type Grant struct {
	// Resources are in the order of the group's resources.
	Resources []Granted
	// Addresses and NodePorts count the addresses and node ports that the group takes.
	Addresses, NodePorts uint64
}

// Granted is what one resource of a group gets, after commit levels.
type Granted struct {
	ID            uint32   `json:"id"`
	Count         uint32   `json:"count"`
	CPU           uint64   `json:"cpu"`
	Memory        uint64   `json:"memory"`
	GPUUnits      uint64   `json:"gpu_units"`
	GPUAttributes []string `json:"gpu_attributes,omitempty"`
	Storage       []uint64 `json:"storage,omitempty"`
	// Nodes are the nodes of the replicas, in the order of placement.
	Nodes []string `json:"-"`
	// Cards are the GPUs of each replica, by model (VENDOR/MODEL).
	Cards []map[string]uint64 `json:"-"`
	// Params is nil without GPUs.
	Params *SchedulerParams `json:"-"`
}

// Placement returns the nodes of the replicas by resource ID. It joins resources with the same ID in the order of
// placement, from the last to the first.
func (g Grant) Placement() map[uint32][]string {
	out := map[uint32][]string{}
	for i := len(g.Resources) - 1; i >= 0; i-- {
		if r := g.Resources[i]; len(r.Nodes) > 0 {
			out[r.ID] = append(out[r.ID], r.Nodes...)
		}
	}
	return out
}

// SchedulerParams returns the parameters of each resource with replicas, by ID. If several resources have the same ID,
// the first one counts.
func (g Grant) SchedulerParams() map[uint32]*SchedulerParams {
	out := map[uint32]*SchedulerParams{}
	for i := len(g.Resources) - 1; i >= 0; i-- {
		if r := g.Resources[i]; len(r.Nodes) > 0 {
			out[r.ID] = r.Params
		}
	}
	return out
}
