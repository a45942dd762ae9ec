package sdl_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

var update = flag.Bool("update", false, "write the golden files")

func id(gseq uint32) *lease.ID {
	return &lease.ID{
		Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: gseq, OSeq: 1,
		Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
	}
}

// read gives what was read as a LeaseDefinition, and the problems.
func read(t *testing.T, text string, of *lease.ID) (string, string) {
	t.Helper()
	out := ""
	problems, err := input.Read(t.Context(), strings.NewReader(text), "sdl.yaml", input.Options{Lease: of}, func(d *lease.Definition) error {
		data, err := json.MarshalIndent(input.Encode(d), "", "  ")
		out += string(data) + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, problems.Error()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		lease *lease.ID
	}{
		"shop-1": {"shop.yaml", id(1)}, "shop-2": {"shop.yaml", id(2)}, "shop-3": {"shop.yaml", id(3)},
		"broken": {"broken.yaml", id(1)}, "manifest": {"manifest.json", id(1)}, "manifest-object": {"manifest-object.yaml", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			def, problems := read(t, string(text), c.lease)
			golden(t, "testdata/"+name+".golden", def+problems+"\n")
		})
	}
}

// sdl is an SDL whose parts a test replaces.
const sdl = `version: "2.0"
services:
  web:
    image: nginx
    expose:
      - port: 80
        accept: [a.example.com]
        to: [{global: true}]
profiles:
  compute:
    web:
      resources:
        cpu: {units: 100m}
        memory: {size: 512Mi}
        storage: {size: 1Gi}
  placement:
    dc: {pricing: {web: {denom: uakt, amount: 1}}}
deployment:
  web: {dc: {profile: web, count: 1}}
`
