package input

import (
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
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
