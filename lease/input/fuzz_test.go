package input_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// holds is what every reader promises: no panic, and what is accepted passes the common rules and
// survives being written and read again.
func holds(t *testing.T, data []byte, opt input.Options) {
	t.Helper()
	if !opt.Workloads {
		with := opt
		with.Workloads = true
		holds(t, data, with)
	}
	_, err := input.Read(t.Context(), bytes.NewReader(data), "fuzz.yaml", opt, func(d *lease.Definition) error {
		if problems := append(lease.Check(d), workload.Check(d)...); problems.Failed() {
			t.Errorf("accepted, but Check says: %v", problems)
		}
		again := encodeAndRead(t, d)
		if again != nil && again.Hash != d.Hash {
			t.Errorf("the hash changes from %s to %s when it is written and read", d.Hash, again.Hash)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func encodeAndRead(t *testing.T, d *lease.Definition) *lease.Definition {
	t.Helper()
	data, err := json.Marshal(input.Encode(d))
	if err != nil {
		t.Fatal(err)
	}
	var again *lease.Definition
	problems, err := input.Read(t.Context(), bytes.NewReader(data), "again.json", input.Options{Workloads: d.Workloads != nil}, func(d *lease.Definition) error {
		again = d
		return nil
	})
	if err != nil || problems.Failed() || again == nil {
		t.Errorf("what was written is not read: %v %v\n%s", err, problems, data)
	}
	return again
}

func seed(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
}

func FuzzSDL(f *testing.F) {
	seed(f, "../sdl/testdata/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) { holds(t, data, input.Options{Lease: &testLease}) })
}

func FuzzLeaseDefinition(f *testing.F) {
	seed(f, "testdata/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) { holds(t, data, input.Options{}) })
}

func FuzzManifest(f *testing.F) {
	seed(f, "../sdl/testdata/*.json", "../sdl/testdata/manifest-object.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		holds(t, data, input.Options{Lease: &testLease})
		holds(t, data, input.Options{})
		if def, problems := input.ManifestObject("x", data, input.Options{}); (def == nil) != problems.Failed() {
			t.Errorf("definition %v with problems %v", def, problems)
		}
	})
}
