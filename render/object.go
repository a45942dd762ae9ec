package render

import (
	"encoding/json"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// Object is one rendered object: what server-side apply sends, with nothing that is empty.
type Object struct {
	Kind            kinds.Kind
	Namespace, Name string
	// Config is an apply configuration, or a struct of ours for a kind whose module is not worth
	// its weight. It marshals to the whole object.
	Config any
}

// MarshalJSON writes the object as it is sent to the API server.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.Config) }

// String is kind/name, as kubectl prints an object.
func (o Object) String() string { return o.Kind.Singular + "/" + o.Name }
