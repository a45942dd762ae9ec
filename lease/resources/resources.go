// Package resources is the vocabulary of what a deployment group takes of a provider: CPU, memory, GPUs,
// volumes and endpoints, as an order asks for them and a reservation holds them. Amounts are integers in
// base units: thousandths of a CPU, bytes, whole GPUs.
package resources

import "strings"

// Group is what a deployment group asks for (chain-sdk: the deployment module's GroupSpec).
type Group struct {
	// Name is the placement's name in the SDL.
	Name string `json:"name"`
	// Units are in the order of the SDL's services; reservations place them from the last to the first.
	Units []Unit `json:"resources"`
}

// Unit is what one replica takes, and how many replicas there are.
type Unit struct {
	Resources
	// Count is the number of replicas, those of all services that share the unit.
	Count uint32 `json:"count"`
}

// Resources is what one replica of a service takes.
type Resources struct {
	// ID numbers the unit in its group, from 1.
	ID uint32 `json:"id"`
	// CPU is in thousandths of a CPU, Memory in bytes.
	CPU    uint64 `json:"cpu"`
	Memory uint64 `json:"memory"`
	GPU    GPU    `json:"gpu"`
	// Volumes are in the order of Akash's manifest, in which the builders walk through them.
	Volumes   []Volume   `json:"storage,omitempty"`
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// CPUAttributes and MemoryAttributes are repeated in the manifest; nothing else reads them.
	CPUAttributes    []Attribute `json:"cpuAttributes,omitempty"`
	MemoryAttributes []Attribute `json:"memoryAttributes,omitempty"`
}

// GPU is a number of cards, all of one of the wished models.
type GPU struct {
	Units uint64 `json:"units"`
	// Attributes are wishes such as vendor/nvidia/model/a100/ram/80Gi; the value is always "true".
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is a key with a value, as the chain keeps them: a list sorted by key.
type Attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Compare orders attributes by key.
func (a Attribute) Compare(other Attribute) int { return strings.Compare(a.Key, other.Key) }

// The attributes of a volume, and the classes that mean something by themselves.
const (
	AttributeClass      = "class"
	AttributePersistent = "persistent"
	// ClassRAM is a volume in the node's memory.
	ClassRAM = "ram"
	// ClassDefault is the cluster's default StorageClass.
	ClassDefault = "default"
)

// DefaultVolume is the name of a volume that the SDL does not name.
const DefaultVolume = "default"

// Volume is storage of one replica.
type Volume struct {
	Name string `json:"name"`
	// Size is in bytes.
	Size       uint64      `json:"size"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is the value of a key; empty where the volume does not have it.
func (v Volume) Attribute(key string) string {
	for _, a := range v.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// Class is the storage class; empty for storage of the node's disk.
func (v Volume) Class() string { return v.Attribute(AttributeClass) }

// Persistent is true for a volume that outlives its pod.
func (v Volume) Persistent() bool { return v.Attribute(AttributePersistent) == "true" }

// InMemory is true for a volume in the node's memory.
func (v Volume) InMemory() bool { return v.Class() == ClassRAM && !v.Persistent() }

// Ephemeral is true for a volume on the node's disk, which goes with its pod.
func (v Volume) Ephemeral() bool { return !v.Persistent() && v.Class() != ClassRAM }

// EndpointKind is how a port is reached from outside.
type EndpointKind uint8

// The kinds of endpoint, with the chain's numbers.
const (
	SharedHTTP EndpointKind = iota
	RandomPort
	LeasedIP
)

var endpointKinds = [...]string{"SHARED_HTTP", "RANDOM_PORT", "LEASED_IP"}

// String is the chain's name of the kind.
func (k EndpointKind) String() string {
	if int(k) < len(endpointKinds) {
		return endpointKinds[k]
	}
	return "UNKNOWN"
}

// MarshalText is String.
func (k EndpointKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Endpoint is a port that is reached from outside.
type Endpoint struct {
	Kind EndpointKind `json:"kind"`
	// Sequence tells the leased addresses of a deployment apart; 0 for the other kinds.
	Sequence uint32 `json:"sequence,omitempty"`
}
