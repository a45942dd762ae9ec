package documents

import (
	"cmp"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// result is what a KRM function says of one problem (KRM functions specification v1: results).
type result struct {
	Message     string       `json:"message"`
	Severity    string       `json:"severity"`
	ResourceRef *resourceRef `json:"resourceRef,omitempty"`
	Field       *resultField `json:"field,omitempty"`
	File        *resultFile  `json:"file,omitempty"`
}

type resourceRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
}

type resultField struct {
	Path string `json:"path"`
}

type resultFile struct {
	Path  string `json:"path"`
	Index int    `json:"index"`
}

// origin is the object in which problems were found, and the file from which it came.
type origin struct {
	ref  resourceRef
	file *resultFile
}

// origin notes an object under the name that stands for its file.
func (f *functionCall) origin(name string, o *kyaml.RNode) string {
	from := origin{ref: resourceRef{APIVersion: o.GetApiVersion(), Kind: o.GetKind(), Name: o.GetName(), Namespace: o.GetNamespace()}}
	if path, index, err := kioutil.GetFileAnnotations(o); err == nil && path != "" {
		n, _ := strconv.Atoi(index) // without an index it is the first
		from.file = &resultFile{Path: path, Index: n}
	}
	f.origins[name] = from
	return name
}

// results are what is said of the problems. Lines are left out where the object is named: they are those
// of its text as the function got it, not of its file.
func (f *functionCall) results() (*kyaml.RNode, error) {
	if len(f.problems) == 0 {
		return nil, nil //nolint:nilnil // no results is how a function says that all is well
	}
	var out []result
	for _, p := range f.problems {
		r := result{Message: p.Error(), Severity: "error"}
		if p.Warning {
			r.Severity = "warning"
		}
		if from, known := f.origins[p.At.File]; known {
			r.Message, r.ResourceRef, r.File = p.Message, &from.ref, from.file
			if path := cmp.Or(p.At.Path, p.At.Field.String()); path != "" {
				r.Field = &resultField{path}
			}
		}
		out = append(out, r)
	}
	return toNode(out)
}
