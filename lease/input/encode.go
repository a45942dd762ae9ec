package input

import (
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Document is a LeaseDefinition document for writing. It has the fields that the reader reads, without values that
// equal a default.
type Document struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata is the metadata of a Document.
type Metadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is the spec of a Document.
type Spec struct {
	Lease       Lease        `json:"lease"`
	Group       string       `json:"group,omitempty"`
	Services    []Service    `json:"services"`
	IPEndpoints []IPEndpoint `json:"ipEndpoints,omitempty"`
}

// Lease is a lease.ID.
type Lease struct {
	Owner    string `json:"owner"`
	DSeq     uint64 `json:"dseq"`
	GSeq     uint32 `json:"gseq"`
	OSeq     uint32 `json:"oseq"`
	Provider string `json:"provider"`
}

// Service is a lease.Service.
type Service struct {
	Name     string    `json:"name"`
	Target   string    `json:"target,omitempty"`
	Expose   []Expose  `json:"expose,omitempty"`
	Workload *Workload `json:"workload,omitempty"`
}

// Expose is a lease.Expose and its lease.Routing.
type Expose struct {
	Port              uint16            `json:"port"`
	As                uint16            `json:"as,omitempty"`
	Protocol          string            `json:"protocol,omitempty"`
	Service           string            `json:"service,omitempty"`
	Global            bool              `json:"global,omitempty"`
	Hosts             []string          `json:"hosts,omitempty"`
	Path              string            `json:"path,omitempty"`
	IP                string            `json:"ip,omitempty"`
	Sequence          uint32            `json:"sequence,omitempty"`
	HTTP              *HTTP             `json:"http,omitempty"`
	TLS               *TLS              `json:"tls,omitempty"`
	Weight            *uint16           `json:"weight,omitempty"`
	AlternateBackends []Backend         `json:"alternateBackends,omitempty"`
	Sticky            *Sticky           `json:"sticky,omitempty"`
	Headers           *Headers          `json:"headers,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
}

// HTTP is a lease.HTTPOptions with durations as texts.
type HTTP struct {
	MaxBodySize uint32   `json:"maxBodySize,omitempty"`
	ReadTimeout string   `json:"readTimeout,omitempty"`
	SendTimeout string   `json:"sendTimeout,omitempty"`
	NextTries   uint32   `json:"nextTries,omitempty"`
	NextTimeout string   `json:"nextTimeout,omitempty"`
	NextCases   []string `json:"nextCases,omitempty"`
}

// IPEndpoint is a lease.IPEndpoint.
type IPEndpoint struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses,omitempty"`
}

// Encode returns the LeaseDefinition document for a definition that has passed Check. Reading the document gives an
// equal definition, with two exceptions: a missing name becomes lease-DSEQ-GSEQ, and passwords of registries are
// written only by EncodeSecrets.
func Encode(def *lease.Definition) *Document {
	name := def.Name
	if name == "" {
		name = fmt.Sprintf("lease-%d-%d", def.Lease.DSeq, def.Lease.GSeq)
	}
	doc := &Document{
		APIVersion: APIVersion,
		Kind:       Kind,
		Metadata: Metadata{
			Name:        name,
			Annotations: map[string]string{"config.kubernetes.io/local-config": "true"},
		},
		Spec: Spec{Lease: Lease(def.Lease), Services: make([]Service, len(def.Services))},
	}
	for i, s := range def.Services {
		doc.Spec.Services[i] = Service{Name: s.Name, Target: s.Target}
		for _, e := range s.Expose {
			doc.Spec.Services[i].Expose = append(doc.Spec.Services[i].Expose, encodeExpose(e))
		}
		if def.Workloads != nil {
			doc.Spec.Services[i].Workload = encodeWorkload(def.Workloads.Workload(s.Name))
		}
	}
	if def.Workloads != nil {
		doc.Spec.Group = def.Workloads.Group
	}
	for _, e := range def.IPEndpoints {
		endpoint := IPEndpoint{Name: e.Name}
		for _, a := range e.Addresses {
			endpoint.Addresses = append(endpoint.Addresses, a.String())
		}
		doc.Spec.IPEndpoints = append(doc.Spec.IPEndpoints, endpoint)
	}
	return doc
}

func encodeExpose(e lease.Expose) Expose {
	out := Expose{Port: e.Port, As: e.As, Service: e.Peer, Global: e.Global, Path: e.Path, IP: e.IP, Sequence: e.Sequence}
	if e.SaysAs {
		out.As = e.Port
	}
	if e.Protocol != lease.TCP {
		out.Protocol = string(e.Protocol)
	}
	for _, h := range e.Hosts {
		out.Hosts = append(out.Hosts, h.Name)
	}
	http := HTTP{
		MaxBodySize: e.HTTP.MaxBodySize, NextTries: e.HTTP.NextTries, NextCases: e.HTTP.NextCases,
		ReadTimeout: encodeDuration(e.HTTP.ReadTimeout),
		SendTimeout: encodeDuration(e.HTTP.SendTimeout),
		NextTimeout: encodeDuration(e.HTTP.NextTimeout),
	}
	if http.MaxBodySize != 0 || http.NextTries != 0 || http.NextCases != nil ||
		http.ReadTimeout != "" || http.SendTimeout != "" || http.NextTimeout != "" {
		out.HTTP = &http
	}
	if e.Routing != nil {
		encodeRouting(e.Routing, &out)
	}
	return out
}

// encodeDuration returns whole seconds or milliseconds, and "" for 0.
func encodeDuration(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}

// TLS is a lease.TLS.
type TLS struct {
	Termination             string  `json:"termination,omitempty"`
	Insecure                string  `json:"insecure,omitempty"`
	SecretName              string  `json:"secretName,omitempty"`
	DestinationCASecretName string  `json:"destinationCASecretName,omitempty"`
	Issuer                  *Issuer `json:"issuer,omitempty"`
}

// Issuer is a lease.Issuer.
type Issuer struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"`
	Group string `json:"group,omitempty"`
}

// Backend is a lease.Backend.
type Backend struct {
	Service string `json:"service"`
	Port    uint16 `json:"port,omitempty"`
	Weight  uint16 `json:"weight"`
}

// Sticky is a lease.Sticky.
type Sticky struct {
	Cookie   string `json:"cookie,omitempty"`
	SameSite string `json:"sameSite,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Headers are the header rules of a lease.Routing.
type Headers struct {
	Request  []Header `json:"request,omitempty"`
	Response []Header `json:"response,omitempty"`
}

// Header is a lease.HeaderRule.
type Header struct {
	Name   string `json:"name"`
	Action string `json:"action"`
	Value  string `json:"value,omitempty"`
}

func encodeRouting(r *lease.Routing, out *Expose) {
	if t := r.TLS; t != nil {
		out.TLS = &TLS{
			Termination: string(t.Termination), Insecure: string(t.Insecure),
			SecretName: t.SecretName, DestinationCASecretName: t.DestinationCASecretName,
		}
		if t.Issuer != nil {
			issuer := Issuer(*t.Issuer)
			out.TLS.Issuer = &issuer
		}
	}
	out.Weight = r.Weight
	for _, b := range r.Backends {
		out.AlternateBackends = append(out.AlternateBackends, Backend{Service: b.Service, Port: b.Port, Weight: b.Weight})
	}
	if s := r.Sticky; s != nil {
		out.Sticky = &Sticky{Cookie: s.Cookie, SameSite: s.SameSite, Disabled: s.Disabled}
	}
	if len(r.RequestHeaders)+len(r.ResponseHeaders) > 0 {
		out.Headers = &Headers{Request: encodeHeaders(r.RequestHeaders), Response: encodeHeaders(r.ResponseHeaders)}
	}
	if len(r.Annotations) > 0 {
		out.Annotations = make(map[string]string, len(r.Annotations))
		for _, a := range r.Annotations {
			out.Annotations[a.Key] = a.Value
		}
	}
	out.Labels = r.Labels
}

func encodeHeaders(rules []lease.HeaderRule) []Header {
	var out []Header
	for _, r := range rules {
		h := Header{Name: r.Name, Action: "Set", Value: r.Value}
		if r.Delete {
			h.Action = "Delete"
		}
		out = append(out, h)
	}
	return out
}

// Workload is a lease.Workload.
type Workload struct {
	Image       string       `json:"image"`
	Command     []string     `json:"command,omitempty"`
	Args        []string     `json:"args,omitempty"`
	Env         []string     `json:"env,omitempty"`
	Count       uint32       `json:"count,omitempty"`
	Resources   Resources    `json:"resources"`
	Params      *Params      `json:"params,omitempty"`
	Credentials *Credentials `json:"credentials,omitempty"`
}

// Resources is a resources.Resources with amounts as texts.
type Resources struct {
	ID               uint32            `json:"id"`
	CPU              string            `json:"cpu"`
	CPUAttributes    map[string]string `json:"cpuAttributes,omitempty"`
	Memory           string            `json:"memory"`
	MemoryAttributes map[string]string `json:"memoryAttributes,omitempty"`
	GPU              *GPU              `json:"gpu,omitempty"`
	Storage          []Volume          `json:"storage,omitempty"`
}

// GPU is a resources.GPU; the value of each attribute is "true".
type GPU struct {
	Units      uint64   `json:"units"`
	Attributes []string `json:"attributes,omitempty"`
}

// Volume is a resources.Volume.
type Volume struct {
	Name       string  `json:"name"`
	Size       string  `json:"size"`
	Class      *string `json:"class,omitempty"`
	Persistent *bool   `json:"persistent,omitempty"`
}

// Params is a lease.Params.
type Params struct {
	Storage     map[string]Mount `json:"storage,omitempty"`
	Permissions *Permissions     `json:"permissions,omitempty"`
}

// Mount is a lease.Mount.
type Mount struct {
	Mount    string `json:"mount"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Permissions is a lease.Permissions.
type Permissions struct {
	Read []string `json:"read,omitempty"`
}

// Credentials is a lease.Credentials.
type Credentials struct {
	Host     string `json:"host"`
	Email    string `json:"email,omitempty"`
	Username string `json:"username"`
	Password string `json:"password,omitempty"`
}

// EncodeSecrets is Encode, but includes the passwords of registries.
func EncodeSecrets(def *lease.Definition) *Document {
	doc := Encode(def)
	for i, s := range def.Services {
		if def.Workloads == nil {
			break
		}
		if w := def.Workloads.Workload(s.Name); w != nil && w.Credentials != nil {
			doc.Spec.Services[i].Workload.Credentials.Password = w.Credentials.Password
		}
	}
	return doc
}

func encodeWorkload(w *lease.Workload) *Workload {
	if w == nil {
		return nil
	}
	out := &Workload{Image: w.Image, Command: w.Command, Args: w.Args, Env: w.Env, Resources: encodeResources(w.Resources)}
	if w.Count != 1 {
		out.Count = w.Count
	}
	if p := w.Params; p != nil {
		out.Params = &Params{}
		for _, m := range p.Storage {
			if out.Params.Storage == nil {
				out.Params.Storage = map[string]Mount{}
			}
			out.Params.Storage[m.Volume] = Mount{Mount: m.Path, ReadOnly: m.ReadOnly}
		}
		if p.Permissions != nil {
			out.Params.Permissions = &Permissions{Read: p.Permissions.Read}
		}
	}
	if k := w.Credentials; k != nil {
		out.Credentials = &Credentials{Host: k.Host, Email: k.Email, Username: k.Username}
	}
	return out
}

func encodeResources(r resources.Resources) Resources {
	out := Resources{
		ID: r.ID, CPU: resources.FormatCPU(r.CPU), CPUAttributes: attributeMap(r.CPUAttributes),
		Memory: resources.FormatBytes(r.Memory), MemoryAttributes: attributeMap(r.MemoryAttributes),
	}
	if r.GPU.Units > 0 || len(r.GPU.Attributes) > 0 {
		out.GPU = &GPU{Units: r.GPU.Units}
		for _, a := range r.GPU.Attributes {
			out.GPU.Attributes = append(out.GPU.Attributes, a.Key)
		}
	}
	for _, v := range r.Volumes {
		volume := Volume{Name: v.Name, Size: resources.FormatBytes(v.Size)}
		for _, a := range v.Attributes {
			switch a.Key {
			case resources.AttributeClass:
				volume.Class = &a.Value
			case resources.AttributePersistent:
				truth := a.Value == "true"
				volume.Persistent = &truth
			}
		}
		out.Storage = append(out.Storage, volume)
	}
	return out
}

func attributeMap(attributes []resources.Attribute) map[string]string {
	if len(attributes) == 0 {
		return nil
	}
	out := make(map[string]string, len(attributes))
	for _, a := range attributes {
		out[a.Key] = a.Value
	}
	return out
}
