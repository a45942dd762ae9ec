package inventory

import "github.com/akash-net/kubectl-akash-net/lease/resources"

// Group is what a deployment group requests.
type Group struct {
	Name      string     `json:"name"`
	Resources []Resource `json:"resources"`
}

// Resource is what each replica of a service requests. The order of the volumes matters: a refusal names the first that
// has no room.
type Resource struct {
	// ID identifies the resource within its group. The services of a lease refer to it.
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

// GPU is a request for GPUs.
type GPU struct {
	Units uint64 `json:"units"`
	// Attributes are the accepted models: vendor/<v>/model/<m>[/ram/<size>][/interface/<i>], with * for any model.
	Attributes []string `json:"attributes,omitempty"`
}

// Volume is a request for storage. Size is in bytes.
type Volume struct {
	Name       string           `json:"name"`
	Size       uint64           `json:"size"`
	Attributes VolumeAttributes `json:"attributes,omitzero"`
}

// VolumeAttributes are the kind of a volume.
type VolumeAttributes struct {
	Class string `json:"class,omitempty"`
	// Persistent is "true" for volumes that outlive their pod.
	Persistent string `json:"persistent,omitempty"`
}

// ClassRAM is the class of volumes in a node's memory.
const ClassRAM = "ram"

// Endpoint is a way to reach a service.
type Endpoint struct {
	Kind EndpointKind `json:"kind"`
	// Sequence identifies a leased address. Endpoints with the same number share one address.
	Sequence uint32 `json:"sequence_number,omitempty"`
}

// EndpointKind is what an endpoint needs.
type EndpointKind string

// The kinds of endpoint. Shared HTTP has no limit. Random ports have one only if their number is known.
const (
	SharedHTTP EndpointKind = "SHARED_HTTP"
	RandomPort EndpointKind = "RANDOM_PORT"
	LeasedIP   EndpointKind = "LEASED_IP"
)

// NodePorts returns how many node ports a group requests: one per RANDOM_PORT endpoint. Replicas share them.
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

// Addresses returns how many addresses a group requests: the number of different sequence numbers of its LEASED_IP
// endpoints. Replicas share them.
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

// GroupOf converts a deployment group's resources to a Group.
func GroupOf(asked resources.Group) Group {
	g := Group{Name: asked.Name}
	for _, u := range asked.Units {
		r := Resource{ID: u.ID, Count: u.Count, CPU: u.CPU, Memory: u.Memory, GPU: GPU{Units: u.GPU.Units}}
		for _, a := range u.GPU.Attributes {
			r.GPU.Attributes = append(r.GPU.Attributes, a.Key)
		}
		for _, v := range u.Volumes {
			r.Storage = append(r.Storage, Volume{Name: v.Name, Size: v.Size, Attributes: VolumeAttributes{
				Class: v.Class(), Persistent: v.Attribute(resources.AttributePersistent)}})
		}
		for _, e := range u.Endpoints {
			r.Endpoints = append(r.Endpoints, Endpoint{Kind: EndpointKind(e.Kind.String()), Sequence: e.Sequence})
		}
		g.Resources = append(g.Resources, r)
	}
	return g
}
