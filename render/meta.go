package render

import (
	"maps"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// custom is an object of a kind whose Go module is not worth the dependency.
type custom[S any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   Meta   `json:"metadata"`
	Spec       S      `json:"spec"`
}

// Meta is the metadata of such an object.
type Meta struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
}

// NewCustom returns an object of a kind whose Go module is not worth the dependency.
func NewCustom[S any](k kinds.Kind, m Meta, spec S) Object {
	return Object{Kind: k, Namespace: m.Namespace, Name: m.Name, Config: &custom[S]{
		APIVersion: k.GroupVersion().String(),
		Kind:       k.Kind,
		Metadata:   m,
		Spec:       spec,
	}}
}

// annotations returns the annotations that every object of the lease has, in a new map.
func (l *leased) annotations() map[string]string {
	a := make(map[string]string, 8)
	if l.hash != "" {
		a[lease.AnnotationDefinition] = l.hash
	}
	return a
}

// labelsAnd returns the labels of the lease and further labels, given as name, value, ….
func (l *leased) labelsAnd(pairs ...string) map[string]string {
	all := maps.Clone(l.labels)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}
