package input_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// readOne reads one document, which has no problem but warnings.
func readOne(t *rapid.T, text []byte, opt input.Options) *lease.Definition {
	var read *lease.Definition
	problems, err := input.Read(t.Context(), strings.NewReader(string(text)), "f", opt, func(d *lease.Definition) error {
		read = d
		return nil
	})
	if err != nil || problems.Failed() || read == nil {
		t.Fatalf("%s\n%v %v", text, problems, err)
	}
	return read
}

// sameDefinition compares what is read with what was written, but for the name and the password, which are not hashed.
func sameDefinition(t *rapid.T, what string, text []byte, want, got *lease.Definition) {
	if diff := cmp.Diff(want.ResourceGroup(), got.ResourceGroup()); diff != "" {
		t.Fatalf("%s: %s\n(-want +got):\n%s", what, text, diff)
	}
	if diff := cmp.Diff(want, got, withoutPlaces, cmp.FilterPath(func(p cmp.Path) bool {
		last := p.Last().String()
		return last == ".Name" && p.Index(-2).Type().String() == "lease.Definition" || last == ".Hash" || last == ".Password" || last == ".Scheduler"
	}, cmp.Ignore())); diff != "" {
		t.Fatalf("%s: %s\n(-want +got):\n%s", what, text, diff)
	}
	if lease.Sum(want) != lease.Sum(got) || lease.SumWhole(want) != lease.SumWhole(got) {
		t.Fatalf("%s: %s\nhas another hash", what, text)
	}
	if routes := readOne(t, text, input.Options{}); routes.Hash != lease.Sum(want) {
		t.Fatalf("%s: %s\nhas another hash where workloads are not read", what, text)
	}
}

// What a lease runs is the same in each format in which this program writes it: a LeaseDefinition, with passwords and
// without, and Akash's Manifest object.
func TestWorkloadsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def, _ := workgen.Definition(t)
		if problems := lease.Check(def); problems.Failed() {
			t.Fatal(problems)
		}
		for name, doc := range map[string]*input.Document{"without passwords": input.Encode(def), "with passwords": input.EncodeSecrets(def)} {
			text, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), workgen.Password) && name == "without passwords" {
				t.Fatalf("a password is written: %s", text)
			}
			got := readOne(t, text, input.Options{Workloads: true})
			sameDefinition(t, name, text, def, got)
			for i, w := range def.Workloads.Services {
				if k := w.Credentials; k != nil && name == "with passwords" && got.Workloads.Services[i].Credentials.Password != k.Password {
					t.Fatalf("the password is %q, want %q", got.Workloads.Services[i].Credentials.Password, k.Password)
				}
			}
		}
	})
}

func TestManifestsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def, scheduler := workgen.Definition(t)
		if problems := lease.Check(def); problems.Failed() {
			t.Fatal(problems)
		}
		rendered, err := workload.Lease(def, config.Default(), workload.Options{Secrets: true, Scheduler: scheduler})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range rendered.Objects {
			if o.Kind.Kind != "Manifest" {
				continue
			}
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			got := readOne(t, text, input.Options{Workloads: true})
			sameDefinition(t, "a Manifest", text, def, got)
			for _, w := range got.Workloads.Services {
				if diff := cmp.Diff(scheduler[w.Resources.ID], w.Scheduler); diff != "" {
					t.Fatalf("%s\n(-chosen +read):\n%s", text, diff)
				}
			}
		}
	})
}
