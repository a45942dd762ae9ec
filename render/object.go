package render

import (
	"encoding/json"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// Object is a rendered object, as server-side apply sends it, without empty fields.
type Object struct {
	Kind            kinds.Kind
	Namespace, Name string
	// Config is an apply configuration, or a struct of this package for a kind whose Go module is not worth the
	// dependency. It marshals to the whole object.
	Config any
}

// MarshalJSON returns the object as it is sent to the API server.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.Config) }

// String returns kind/name, as kubectl prints an object.
func (o Object) String() string { return o.Kind.Singular + "/" + o.Name }
