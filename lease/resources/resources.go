// Package resources describes the resources of a deployment group: CPU, memory, GPUs, volumes and endpoints, as an
// order requests them and a reservation holds them. Amounts are integers in base units: thousandths of a CPU, bytes,
// whole GPUs.
package resources

import "strings"

// Group is the request of a deployment group (chain-sdk: the deployment module's GroupSpec).
type Group struct {
	// Name is the placement's name in the SDL.
	Name string `json:"name"`
	// Units are in the order of the SDL's services. Reservations place them from the last to the first.
	Units []Unit `json:"resources"`
}

// Unit is the resources of one replica, and the number of replicas.
type Unit struct {
	Resources
	// Count is the number of replicas of all services that share the unit.
	Count uint32 `json:"count"`
}

// Resources are the resources of one replica of a service.
type Resources struct {
	// ID is the number of the unit in its group, from 1.
	ID uint32 `json:"id"`
	// CPU is in thousandths of a CPU, Memory in bytes.
	CPU    uint64 `json:"cpu"`
	Memory uint64 `json:"memory"`
	GPU    GPU    `json:"gpu"`
	// Volumes are in the order of Akash's manifest.
	Volumes   []Volume   `json:"storage,omitempty"`
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// CPUAttributes and MemoryAttributes are copied to the manifest; nothing else reads them.
	CPUAttributes    []Attribute `json:"cpuAttributes,omitempty"`
	MemoryAttributes []Attribute `json:"memoryAttributes,omitempty"`
}

// GPU is a number of GPUs, all of one of the accepted models.
type GPU struct {
	Units uint64 `json:"units"`
	// Attributes are the accepted models, such as vendor/nvidia/model/a100/ram/80Gi; the value is always "true".
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is a key with a value. The chain stores attributes as a list sorted by key.
type Attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Compare orders attributes by key.
func (a Attribute) Compare(other Attribute) int { return strings.Compare(a.Key, other.Key) }

// The attributes of a volume, and the classes with a special meaning.
const (
	AttributeClass      = "class"
	AttributePersistent = "persistent"
	// ClassRAM is a volume in the node's memory.
	ClassRAM = "ram"
	// ClassDefault is the cluster's default StorageClass.
	ClassDefault = "default"
)

// DefaultVolume is the name of a volume that has no name in the SDL.
const DefaultVolume = "default"

// Volume is a volume of one replica.
type Volume struct {
	Name string `json:"name"`
	// Size is in bytes.
	Size       uint64      `json:"size"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute returns the value of an attribute, or "".
func (v Volume) Attribute(key string) string {
	for _, a := range v.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// Class returns the storage class, or "" for storage on the node's disk.
func (v Volume) Class() string { return v.Attribute(AttributeClass) }

// Persistent reports whether the volume outlives its pod.
func (v Volume) Persistent() bool { return v.Attribute(AttributePersistent) == "true" }

// InMemory reports whether the volume is in the node's memory.
func (v Volume) InMemory() bool { return v.Class() == ClassRAM && !v.Persistent() }

// Ephemeral reports whether the volume is on the node's disk and is deleted with its pod.
func (v Volume) Ephemeral() bool { return !v.Persistent() && v.Class() != ClassRAM }

// EndpointKind is how a port is reached from outside the cluster.
type EndpointKind uint8

// The kinds of endpoint, with the chain's numbers.
const (
	SharedHTTP EndpointKind = iota
	RandomPort
	LeasedIP
)

var endpointKinds = [...]string{"SHARED_HTTP", "RANDOM_PORT", "LEASED_IP"}

// String returns the chain's name of the kind.
func (k EndpointKind) String() string {
	if int(k) < len(endpointKinds) {
		return endpointKinds[k]
	}
	return "UNKNOWN"
}

// MarshalText returns the chain's name of the kind.
func (k EndpointKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Endpoint is a port that is reached from outside the cluster.
type Endpoint struct {
	Kind EndpointKind `json:"kind"`
	// Sequence distinguishes the leased addresses of a deployment; 0 for the other kinds.
	Sequence uint32 `json:"sequence,omitempty"`
}
