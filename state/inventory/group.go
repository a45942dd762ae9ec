package inventory

// Group is what a deployment group asks for.
type Group struct {
	Name      string     `json:"name"`
	Resources []Resource `json:"resources"`
}

// Resource is what each replica of a service asks for. Volumes are in their order: the first that has no room is the
// reason that is given.
type Resource struct {
	// ID tells the resources of a group apart; a lease's services name it.
	ID uint32 `json:"id"`
	// Count is the number of replicas.
	Count uint32 `json:"count"`
	// CPU is in thousandths, Memory in bytes.
	CPU       uint64     `json:"cpu"`
	Memory    uint64     `json:"memory"`
	GPU       GPU        `json:"gpu"`
	Storage   []Volume   `json:"storage,omitempty"`
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// GPU is a wish for cards.
type GPU struct {
	Units uint64 `json:"units"`
	// Attributes name what will do: vendor/<v>/model/<m>[/ram/<size>][/interface/<i>], with * for any model.
	Attributes []string `json:"attributes,omitempty"`
}

// Volume is a wish for storage.
type Volume struct {
	Name       string           `json:"name"`
	Size       uint64           `json:"size"`
	Attributes VolumeAttributes `json:"attributes,omitzero"`
}

// VolumeAttributes say of what kind a volume is.
type VolumeAttributes struct {
	Class string `json:"class,omitempty"`
	// Persistent is "true" for volumes that outlive their pod.
	Persistent string `json:"persistent,omitempty"`
}

// ClassRAM is the class of volumes in a node's memory.
const ClassRAM = "ram"

// Endpoint is a way into a service.
type Endpoint struct {
	Kind EndpointKind `json:"kind"`
	// Sequence tells leased addresses apart: those of one number are one address.
	Sequence uint32 `json:"sequence_number,omitempty"`
}

// EndpointKind is what an endpoint needs.
type EndpointKind string

// The kinds of endpoint. Shared HTTP never limits, random ports only where it is known how many there are.
const (
	SharedHTTP EndpointKind = "SHARED_HTTP"
	RandomPort EndpointKind = "RANDOM_PORT"
	LeasedIP   EndpointKind = "LEASED_IP"
)

// NodePorts is how many node ports a group wants: one for each RANDOM_PORT endpoint. Replicas share them.
func (g Group) NodePorts() (ports uint64) {
	for _, r := range g.Resources {
		for _, e := range r.Endpoints {
			if e.Kind == RandomPort {
				ports++
			}
		}
	}
	return ports
}

// Addresses is how many addresses a group wants: the different sequence numbers of its LEASED_IP endpoints. Replicas
// share them.
func (g Group) Addresses() uint64 {
	seen := map[uint32]bool{}
	for _, r := range g.Resources {
		for _, e := range r.Endpoints {
			if e.Kind == LeasedIP {
				seen[e.Sequence] = true
			}
		}
	}
	return uint64(len(seen))
}
