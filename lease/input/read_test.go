package input_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
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

// How a document is recognised, and what is said of one that is not: testdata/documents.txt, a stream a line, where ";;"
// ends a line of it; `go test ./lease/input -rewrite` writes what is said now.
//
//	read [lease]    as from files, with --lease or without
//	object          as a Manifest object of the cluster
//
// LEASE, GROUP and SERVICES stand for a lease, a group and services.
func TestDocuments(t *testing.T) {
	short := strings.NewReplacer(
		"LEASE2", `"lease": {"owner": "akash1xqnd68gm", "dseq": 2, "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`,
		"LEASE", `"lease": {"owner": "akash1xqnd68gm", "dseq": 1, "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`,
		"ID", `"lease_id": {"owner": "akash1xqnd68gm", "dseq": "1", "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`,
		"SERVICES", `"services": [{"name": "web", "expose": [{"port": 80, "global": true}]}]`,
		"OURS", `"apiVersion": "net.akash.network/v1alpha1", "kind": "LeaseDefinition", "metadata": {"name": "a"}`,
		"RUNS", `"expose": [], "workload": {"image": "a", "resources": {"cpu": 1, "memory": "1Gi", "storage": [{"name": "data", "size": "1Gi"}]}`,
		"THEIRS", `"apiVersion": "akash.network/v2beta2", "kind": "Manifest"`, ";;", "\n",
	)
	id, err := lease.ParseID("akash1xqnd68gm/1/1/1/akash1yqd7y67h")
	if err != nil {
		t.Fatal(err)
	}
	datadriven.RunTest(t, "testdata/documents.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			fmt.Fprintln(&out, line)
			said := func(def *lease.Definition) error {
				fmt.Fprintf(&out, "    lease %s, %d services\n", def.Lease, len(def.Services))
				return nil
			}
			var problems lease.Problems
			if d.Cmd == "object" {
				var def *lease.Definition
				if def, problems = input.ManifestObject("a", []byte(short.Replace(line)), input.Options{}); def != nil {
					_ = said(def) // it fails never
				}
			} else {
				opt := input.Options{Workloads: d.HasArg("workloads")}
				if d.HasArg("lease") {
					opt.Lease = &id
				}
				if problems, err = input.Read(t.Context(), strings.NewReader(short.Replace(line)), "f", opt, said); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range problems {
				fmt.Fprintf(&out, "    %s\n", p.Error())
			}
		}
		return out.String()
	})
}

// Many documents are read in their order, each with its line, and what was asked to stop stops.
func TestManyDocuments(t *testing.T) {
	const n = 5000
	var text strings.Builder
	for i := range n {
		owner := "akash1xqnd68gm"
		if i%1000 == 999 {
			owner = "x"
		}
		fmt.Fprintf(&text, "---\n{apiVersion: net.akash.network/v1alpha1, kind: LeaseDefinition, metadata: {name: a}, spec: {lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: akash1yqd7y67h}, services: [{name: web, expose: [{port: 80, global: true}]}]}}\n", owner, i+1)
	}
	last := uint64(0)
	problems, err := input.Read(t.Context(), strings.NewReader(text.String()), "f", input.Options{}, func(d *lease.Definition) error {
		if d.Lease.DSeq <= last {
			t.Fatalf("%d is read after %d", d.Lease.DSeq, last)
		}
		last = d.Lease.DSeq
		return nil
	})
	if err != nil || last != n-1 || len(problems) != 5 || problems[4].At.Line != 2*n {
		t.Errorf("the last is %d, problems %v, error %v", last, problems, err)
	}
	stop, seen := errors.New("enough"), 0
	if _, err := input.Read(t.Context(), strings.NewReader(text.String()), "f", input.Options{}, func(*lease.Definition) error {
		if seen++; seen == 2000 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || seen != 2000 {
		t.Errorf("%d are read, error %v", seen, err)
	}
	broken := brokenReader{}
	if _, err := input.Read(t.Context(), broken, "f", input.Options{}, func(*lease.Definition) error { return nil }); !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "f: ") {
		t.Errorf("a reader that is broken: %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

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
		"a wrong service":    {encoded(func(d *input.Document) { d.Spec.Services[0].Of.Name = "Web" }), "is not a service name"},
		"a port that is not": {encoded(func(d *input.Document) { d.Spec.Services[0].Of.Expose = []lease.Expose{{}} }), "is not a port"},
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

const twoGroups = `version: "2.0"
services:
  a: {image: i, expose: [{port: 80, to: [{global: true}]}]}
  b: {image: i, expose: [{port: 80, to: [{global: true}]}]}
profiles:
  compute: {s: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {east: {pricing: {s: {denom: uakt, amount: 1}}}, west: {pricing: {s: {denom: uakt, amount: 1}}}}
deployment: {a: {west: {profile: s, count: 1}}, b: {east: {profile: s, count: 1}}}
`

// Where no lease is needed all groups of an SDL come, in the order of their gseq; with a lease its own alone.
func TestUnleased(t *testing.T) {
	read := func(opts input.Options, text string) string {
		var got []string
		problems, err := input.Read(t.Context(), strings.NewReader(text), "f", opts, func(d *lease.Definition) error {
			name := ""
			if d.Workloads != nil {
				name = d.Workloads.Group
			}
			got = append(got, name+"="+string(rune('0'+d.Lease.GSeq)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems.Errors() {
			got = append(got, p.Message)
		}
		return strings.Join(got, " ")
	}
	opts := input.Options{Workloads: true, Unleased: true}
	if got := read(opts, twoGroups); got != "east=1 west=2" {
		t.Errorf("got %s", got)
	}
	opts.Lease = &lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 1, GSeq: 2, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	if got := read(opts, twoGroups); got != "west=2" {
		t.Errorf("with a lease: got %s", got)
	}
	opts.Lease = nil
	manifest := `[{"name": "east", "services": [{"name": "a", "count": 1, "expose": [{"port": 80, "proto": "TCP", "global": true}]}]}, {"name": "west", "services": [{"name": "b", "count": 1, "expose": [{"port": 81, "proto": "TCP", "global": true}]}]}]`
	opts.Workloads = false
	if got := read(opts, manifest); got != "=1 =2" {
		t.Errorf("a manifest: got %s", got)
	}
	if got := read(input.Options{}, twoGroups); !strings.Contains(got, "names no lease") {
		t.Errorf("where a lease is needed: got %s", got)
	}
}
