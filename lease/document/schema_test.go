package document_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// The published schemas have the keys that the program reads, and of each the type, the choices, the range and whether it must be there.
func TestSchemasAreOfTheTypes(t *testing.T) {
	for kind, of := range map[string]any{"providerconfig": config.Document{}, "leasedefinition": input.Document{}} {
		text, err := os.ReadFile("../../manifests/" + kind + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		var root map[string]any
		if err := json.Unmarshal(text, &root); err != nil {
			t.Fatal(err)
		}
		document.CompareSchema(t, kind, root, of)
	}
}
