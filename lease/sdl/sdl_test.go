package sdl_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
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

// What is said of Akash's formats, rule by rule, in full: `go test ./lease/sdl -rewrite` writes what is said now.
//
//	sdl [gseq=N]    each line replaces a part of the SDL above, "PART => OTHER"; ";;" ends a line of it
//	volume          each line is what the SDL says of a volume's attributes
//	text            each line is a whole SDL
//	manifest        each line is a manifest as it is sent to a provider
//	object          each line is a Manifest object
//
// With "show" what was read follows, with "group" what its group asks a provider for; with "workloads" what the
// services run is read too.
func TestRules(t *testing.T) {
	for _, name := range []string{"rules", "workloads"} {
		t.Run(name, func(t *testing.T) { testRules(t, "testdata/"+name+".txt") })
	}
}

func testRules(t *testing.T, name string) {
	datadriven.RunTest(t, name, func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		gseq := uint64(1)
		if d.HasArg("gseq") {
			d.ScanArgs(t, "gseq", &gseq)
		}
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			text, of := strings.ReplaceAll(line, ";;", "\n"), id(uint32(gseq))
			switch d.Cmd {
			case "sdl":
				old, other, _ := strings.Cut(text, " =>")
				if !strings.Contains(sdl, old) {
					t.Fatalf("%q is not in the SDL", old)
				}
				text = strings.Replace(sdl, old, strings.TrimPrefix(other, " "), 1)
			case "volume":
				text = with(t, "image: nginx", "image: nginx\n    params: {storage: {data: {mount: /data}}}", "storage: {size: 1Gi}", "storage: [{name: data, size: 1Gi, attributes: "+line+"}]")
			case "object":
				of = nil
			}
			fmt.Fprintln(&out, line)
			problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Lease: of, Workloads: d.HasArg("workloads") || d.Cmd == "volume"}, func(def *lease.Definition) error {
				if d.Cmd == "volume" {
					fmt.Fprintf(&out, "    %v\n", def.Workloads.Services[0].Resources.Volumes[0].Attributes)
					return nil
				}
				if d.HasArg("group") {
					group, err := json.Marshal(def.ResourceGroup())
					fmt.Fprintf(&out, "    %s\n", group)
					return err
				}
				if d.HasArg("show") {
					read, err := document.Encode(input.Encode(def).Spec)
					fmt.Fprintf(&out, "    %s\n", read)
					return err
				}
				fmt.Fprintln(&out, "    read")
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				what := ""
				if p.Warning {
					what = "warning: "
				}
				fmt.Fprintf(&out, "    %s%s\n", what, p.Error())
			}
		}
		return out.String()
	})
}

// repeated is a text for each number up to n, one behind the other.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A document may have very many of everything, and is read to its end.
func TestManyOfEverything(t *testing.T) {
	const n = 20_000
	services := `version: "2.1"
services:
` + repeated(n, "  s%d: {image: a, expose: [{port: 81, to: [{global: true}]}]}\n") + `profiles: {compute: {p: {resources: {cpu: {units: 500m}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}, placement: {dc: {pricing: {}}}}
deployment:
` + repeated(n, "  s%d: {dc: {profile: p, count: 1}}\n")
	of := `{"owner": "akash1xqnd68gm", "dseq": "1", "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`
	for name, c := range map[string]struct{ text, want string }{
		"services":  {services, ""},
		"endpoints": {with(t, "[{global: true}]", "["+repeated(n, "{global: true, ip: ip%d}, ")+"]", "        accept: [a.example.com]\n", "", "services:", "endpoints: {"+repeated(n, "ip%d: {kind: ip}, ")+"}\nservices:"), "both would have the Service"},
		"hosts":     {with(t, "[a.example.com]", "["+repeated(n, "h%d.example.com, ")+"]"), ""},
		"models":    {with(t, "cpu: {units: 100m}", "cpu: {units: 100m}\n        gpu: {units: 1, attributes: {vendor: {nvidia: ["+repeated(n, "{model: m%d}, ")+"]}}}"), ""},
		"volumes": {with(t, "storage: {size: 1Gi}", "storage: ["+repeated(n, "{name: v%d, size: 1Gi, attributes: {persistent: true}}, ")+"]", "image: nginx",
			"image: nginx\n    params: {storage: {"+repeated(n, "v%d: {mount: /v%[1]d}, ")+"}}"), ""},
		"variables":  {with(t, "image: nginx", "image: nginx\n    env: ["+repeated(n, "A%d=b, ")+"]"), ""},
		"attributes": {`{"apiVersion": "akash.network/v2beta2", "kind": "Manifest", "spec": {"lease_id": ` + of + `, "group": {"name": "dc", "services": [{"name": "web", "image": "a", "count": 1, "expose": [{"port": 80, "global": true}], "resources": {"id": 1, "cpu": {"units": 100, "attributes": [` + strings.TrimSuffix(repeated(n, `{"key": "k%d", "value": "v"},`), ",") + `]}, "memory": {"size": "536870912"}}}]}}}`, ""},
		"profiles":   {with(t, "  compute:\n", "  compute:\n"+repeated(n, "    p%d: {resources: {}}\n")), ""},
		"placements": {with(t, "  placement:\n", "  placement:\n"+repeated(n, "    p%d: {}\n")), ""},
		"keys":       {with(t, "image: nginx", "image: nginx\n"+repeated(n, "    k%d: 1\n")), "is ignored"},
	} {
		opt := input.Options{Workloads: true}
		if !strings.Contains(c.text, "apiVersion") {
			opt.Lease = id(1)
		}
		read := 0
		problems, err := input.Read(t.Context(), strings.NewReader(c.text), "", opt, func(*lease.Definition) error {
			read++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, p := range problems[:min(len(problems), 3)] {
			said += p.Error() + "\n"
		}
		units := strings.Contains(said, "resource units") // what the chain takes of them
		if !strings.Contains(said, c.want) || c.want == "" && said != "" && !units || read == 0 != problems.Failed() {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// Each "to" has all hosts of "accept": their product is limited while it is read.
func TestHostsTimesTo(t *testing.T) {
	text := with(t, "[a.example.com]", "["+repeated(1000, "h%d.example.com, ")+"]", "[{global: true}]", "["+strings.Repeat("{global: true}, ", 1000)+"]")
	problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Lease: id(1)}, func(*lease.Definition) error { return nil })
	if said := problems.Error(); err != nil || !strings.Contains(said, "more than 100000 exposed ports or 200000 hosts") {
		t.Errorf("%.200s %v", said, err)
	}
}
