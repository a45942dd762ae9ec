// Package manifest has the types of Akash's Manifest, its record of what a lease runs (provider: pkg/apis/akash.network/v2beta2/manifest.go).
// Their tags say which keys there are to all that write or read one.
package manifest

import (
	"strconv"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Manifest is a Manifest without its metadata.
type Manifest struct {
	Spec Spec `json:"spec"`
}

// Spec is the spec of a Manifest.
type Spec struct {
	Group   Group   `json:"group"`
	LeaseID LeaseID `json:"lease_id"`
}

// LeaseID is a lease ID in Akash's objects. Here DSeq is a string.
type LeaseID struct {
	DSeq     string `json:"dseq"`
	GSeq     uint32 `json:"gseq"`
	OSeq     uint32 `json:"oseq"`
	Owner    string `json:"owner"`
	Provider string `json:"provider"`
}

// NewLeaseID returns the lease ID as Akash's objects have it.
func NewLeaseID(id lease.ID) LeaseID {
	return LeaseID{DSeq: strconv.FormatUint(id.DSeq, 10), GSeq: id.GSeq, OSeq: id.OSeq, Owner: id.Owner, Provider: id.Provider}
}

// Group is a deployment group.
type Group struct {
	Name     string    `json:"name"`
	Services []Service `json:"services"`
}

// Service is what a service runs.
type Service struct {
	Args        []string               `json:"args,omitempty"`
	Command     []string               `json:"command,omitempty"`
	Count       uint32                 `json:"count"`
	Credentials *Credentials           `json:"credentials,omitempty"`
	Env         []string               `json:"env,omitempty"`
	Expose      []Expose               `json:"expose,omitempty"`
	Image       string                 `json:"image"`
	Name        string                 `json:"name"`
	Params      *Params                `json:"params,omitempty"`
	Resources   Resources              `json:"resources"`
	Scheduler   *lease.SchedulerParams `json:"scheduler_params,omitempty"`
	// InterconnectGroup is a key of newer providers.
	InterconnectGroup any `json:"interconnect_group,omitempty"`
}

// Credentials are those of a private registry.
type Credentials struct {
	Email    string `json:"email"`
	Host     string `json:"host"`
	Password string `json:"password,omitempty"`
	Username string `json:"username"`
}

// Expose is an exposed port.
type Expose struct {
	Sequence     uint32   `json:"endpoint_sequence_number"`
	ExternalPort uint16   `json:"external_port,omitempty"`
	Global       bool     `json:"global,omitempty"`
	Hosts        []string `json:"hosts,omitempty"`
	HTTP         HTTP     `json:"http_options"`
	IP           string   `json:"ip,omitempty"`
	Port         uint16   `json:"port"`
	Proto        string   `json:"proto"`
	Service      string   `json:"service,omitempty"`
}

// HTTP has the HTTP options of a port, durations in milliseconds. The SDL has the same keys.
type HTTP struct {
	MaxBodySize uint32   `json:"max_body_size"`
	NextCases   []string `json:"next_cases"`
	NextTimeout int64    `json:"next_timeout,omitempty"`
	NextTries   uint32   `json:"next_tries"`
	ReadTimeout int64    `json:"read_timeout"`
	SendTimeout int64    `json:"send_timeout"`
	// ProxyBufferSize is not used by Akash's routes.
	ProxyBufferSize any `json:"proxy_buffer_size,omitempty"`
}

// Params are mounts and permissions.
type Params struct {
	Permissions *Permissions `json:"permissions,omitempty"`
	Storage     []Mount      `json:"storage,omitempty"`
}

// Permissions are what a service may read in its namespace.
type Permissions struct {
	Read []string `json:"read,omitempty"`
}

// Mount is the path of a volume in the container.
type Mount struct {
	Mount    string `json:"mount"`
	Name     string `json:"name"`
	ReadOnly bool   `json:"readOnly"`
}

// Resources are those of one replica. Endpoints are in manifests alone that are sent to a provider.
type Resources struct {
	CPU       Units    `json:"cpu"`
	GPU       Units    `json:"gpu"`
	ID        uint32   `json:"id"`
	Memory    Size     `json:"memory"`
	Storage   []Volume `json:"storage,omitempty"`
	Endpoints any      `json:"endpoints,omitempty"`
}

// Units is an amount of CPU or GPUs.
type Units struct {
	Attributes []resources.Attribute `json:"attributes,omitempty"`
	Units      uint64                `json:"units"`
}

// Size is an amount of memory. Manifests for older providers call it quantity.
type Size struct {
	Attributes []resources.Attribute `json:"attributes,omitempty"`
	Size       string                `json:"size"`
	Quantity   any                   `json:"quantity,omitempty"`
}

// Volume is a volume of one replica.
type Volume struct {
	Attributes []resources.Attribute `json:"attributes,omitempty"`
	Name       string                `json:"name"`
	Size       string                `json:"size"`
	Quantity   any                   `json:"quantity,omitempty"`
}
