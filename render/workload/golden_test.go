package workload_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

var update = flag.Bool("update", false, "write the golden files")

const objectsFile = "objects.yaml"

// sample is what a golden file is made from.
type sample struct {
	def *lease.Definition
	cfg *config.ProviderConfig
	opt workload.Options
}

func readSample(t *testing.T, archive *txtar.Archive) sample {
	t.Helper()
	s := sample{cfg: config.Default(), opt: workload.Options{Secrets: true}}
	for _, f := range archive.Files {
		var problems lease.Problems
		var err error
		switch in := bytes.NewReader(f.Data); f.Name {
		case "input.yaml":
			opt := input.Options{Lease: &workgen.Lease, Workloads: true}
			problems, err = input.Read(t.Context(), in, f.Name, opt, func(def *lease.Definition) error {
				s.def = def
				return nil
			})
		case "config.yaml":
			s.cfg, problems, err = config.Read(in, f.Name)
		case "scheduler.json":
			s.opt.Scheduler, problems, err = input.ReadScheduler(in, f.Name)
		}
		if err != nil || problems.Failed() {
			t.Fatal(err, problems)
		}
	}
	return s
}

func (s sample) render(t *testing.T) string {
	t.Helper()
	rendered, err := workload.Lease(s.def, s.cfg, s.opt)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	encoder, err := emit.NewEncoder(&out, emit.YAML)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range rendered.Objects {
		if err := encoder.Encode(o.Config); err != nil {
			t.Fatal(err)
		}
	}
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Each file in testdata has a lease, and all that is made of it: `go test ./render/workload -update` writes it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := readSample(t, archive).render(t), ""
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == objectsFile })
			if i >= 0 {
				want = string(archive.Files[i].Data)
			} else {
				archive.Files = append(archive.Files, txtar.File{Name: objectsFile})
				i = len(archive.Files) - 1
			}
			if *update {
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got, -update writes it):\n%s", diff)
			}
		})
	}
}
