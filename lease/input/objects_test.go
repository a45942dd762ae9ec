package input_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// The ledger keeps definitions as LeaseDefinition documents in its objects.
func TestADefinitionInAnObjectIsReadBack(t *testing.T) {
	def := &lease.Definition{Name: "shop", Lease: testLease, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{
		{Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: "shop.example.com"}}},
	}}}}
	def.Hash = lease.Sum(def)
	data, err := json.Marshal(input.Encode(def))
	if err != nil {
		t.Fatal(err)
	}
	got, problems := input.DefinitionObject("configmaps/df--a", data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(def, got, withoutPlaces); diff != "" {
		t.Error(diff)
	}
}

func TestAnObjectWithoutADefinitionHasErrorsAtItsName(t *testing.T) {
	encoded := func(change func(*input.Document)) string {
		doc := input.Encode(&lease.Definition{Lease: testLease, Services: []lease.Service{{Name: "web"}}})
		change(doc)
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, c := range map[string]struct{ data, want string }{
		"nothing":            {"", "it is not a LeaseDefinition"},
		"null":               {"null", "it is not a LeaseDefinition"},
		"a list":             {"[]", "it is not a LeaseDefinition"},
		"not JSON":           {"{", "not valid JSON"},
		"another kind":       {encoded(func(d *input.Document) { d.Kind = "Manifest" }), "it is not a LeaseDefinition"},
		"another version":    {encoded(func(d *input.Document) { d.APIVersion = "v2" }), `unsupported apiVersion "v2"`},
		"a wrong owner":      {encoded(func(d *input.Document) { d.Spec.Lease.Owner = "x" }), "spec.lease.owner: "},
		"a wrong service":    {encoded(func(d *input.Document) { d.Spec.Services[0].Name = "Web" }), "is not a service name"},
		"a port that is not": {encoded(func(d *input.Document) { d.Spec.Services[0].Expose = []input.Expose{{}} }), "is not a port"},
	} {
		def, problems := input.DefinitionObject("configmaps/df--a", []byte(c.data))
		if def != nil || !problems.Failed() || !strings.Contains(problems.Error(), c.want) {
			t.Errorf("%s: %v, problems %v, want %q", name, def, problems, c.want)
		}
		for line := range strings.Lines(problems.Error()) {
			if !strings.HasPrefix(line, "configmaps/df--a: ") {
				t.Errorf("%s: the problem %q is not at the object", name, line)
			}
		}
	}
}
