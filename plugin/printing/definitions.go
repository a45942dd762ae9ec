package printing

import (
	"bytes"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// Definitions writes lease definitions in a form that apply reads: as YAML documents, or as one JSON document, which is a List
// unless there is exactly one definition.
func Definitions(
	out *bytes.Buffer, defs []*lease.Definition, encode func(*lease.Definition) *input.Document, output string,
) error {
	if output == "yaml" {
		for i, def := range defs {
			if i > 0 {
				out.WriteString("---\n")
			}
			if err := emit.WriteYAML(out, encode(def)); err != nil {
				return err
			}
		}
		return nil
	}
	documents := make([]*input.Document, len(defs))
	for i, def := range defs {
		documents[i] = encode(def)
	}
	var value any = map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}
	if len(documents) == 1 {
		value = documents[0]
	}
	return emit.WriteJSON(out, value)
}
