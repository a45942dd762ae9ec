package sdl_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

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
					read, err := json.Marshal(input.Encode(def).Spec)
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
