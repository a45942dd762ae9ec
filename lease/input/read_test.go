package input_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

func read(t *testing.T, text string, opt input.Options) ([]*lease.Definition, string) {
	t.Helper()
	var defs []*lease.Definition
	problems, err := input.Read(t.Context(), strings.NewReader(text), "in.yaml", opt, func(d *lease.Definition) error {
		defs = append(defs, d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return defs, problems.Error()
}

func file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReadDefinition(t *testing.T) {
	defs, problems := read(t, file(t, "testdata/shop.yaml"), input.Options{})
	if problems != "" || len(defs) != 1 {
		t.Fatalf("%d definitions, problems: %s", len(defs), problems)
	}
	d := defs[0]
	if d.Name != "shop" || d.Lease != testLease || d.Hash != lease.Sum(d) {
		t.Errorf("name %q, lease %s, hash %s", d.Name, d.Lease, d.Hash)
	}
	e := d.Services[0].Expose[0]
	want := lease.HTTPOptions{MaxBodySize: 2097152, ReadTimeout: 30 * time.Second, NextTries: 5, NextTimeout: 500 * time.Millisecond, NextCases: []string{"error", "503"}}
	if diff := cmp.Diff(want, e.HTTP); diff != "" {
		t.Errorf("HTTP options (send timeout is the default and left out):\n%s", diff)
	}
	if got := e.Hosts[0].At.String(); got != "in.yaml:21:15: spec.services[0].expose[0].hosts[0]" {
		t.Errorf("place of the host: %s", got)
	}
}

// The formats of files are told apart; testdata/documents.txt has what is said of what is none.
func TestRecognise(t *testing.T) {
	object := file(t, "../sdl/testdata/manifest-object.yaml")
	for name, c := range map[string]struct {
		text  string
		lease *lease.ID
		want  string
	}{
		"definition, lease": {file(t, "testdata/shop.yaml"), &testLease, ""},
		"sdl":               {file(t, "../sdl/testdata/shop.yaml"), &testLease, ""},
		"json":              {file(t, "../sdl/testdata/manifest.json"), &testLease, ""},
		"object":            {object, nil, ""},
		"list":              {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(object), "\n", "\n  ") + "\n- {kind: Pod, apiVersion: v1}\n", nil, "in.yaml:37:3: items[1]: unsupported kind Pod"},
	} {
		if defs, problems := read(t, c.text, input.Options{Lease: c.lease}); len(defs) != 1 || !strings.Contains(problems, c.want) || c.want == "" && problems != "" {
			t.Errorf("%s: %d definitions, problems %q; want %q", name, len(defs), problems, c.want)
		}
	}
}
