package render

import (
	"maps"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// custom is an object of a kind whose module is not worth its weight.
type custom[S any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   Meta   `json:"metadata"`
	Spec       S      `json:"spec"`
}

type Meta struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
}

func NewCustom[S any](k kinds.Kind, m Meta, spec S) Object {
	return Object{Kind: k, Namespace: m.Namespace, Name: m.Name, Config: &custom[S]{
		APIVersion: k.GroupVersion().String(),
		Kind:       k.Kind,
		Metadata:   m,
		Spec:       spec,
	}}
}

// annotations are those that every object of the lease has, with room for further ones.
func (l *leased) annotations() map[string]string {
	a := make(map[string]string, 8)
	if l.hash != "" {
		a[lease.AnnotationDefinition] = l.hash
	}
	return a
}

// labelsAnd are the labels of the lease and further ones, given as name, value, ….
func (l *leased) labelsAnd(pairs ...string) map[string]string {
	all := maps.Clone(l.labels)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}
