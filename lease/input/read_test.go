package input_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/iotest"
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

const head = `apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: x}
spec:
  lease: {owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, dseq: 1, gseq: 1, oseq: 1, provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0}
  services:
`

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

// TestDefinitionProblems has one line of problems for each line that the reader must print.
func TestDefinitionProblems(t *testing.T) {
	for name, c := range map[string]struct{ services, want string }{
		"port":      {`  - {name: web, expose: [{port: 99999}]}`, `in.yaml:7:33: spec.services[0].expose[0].port: 99999 is not a port (1 to 65535)`},
		"text port": {`  - {name: web, expose: [{port: "80"}]}`, `in.yaml:7:33: spec.services[0].expose[0].port: "80" is a text, not a number; write 80`},
		"unknown key": {`  - {name: web, exposes: []}`,
			`in.yaml:7:17: spec.services[0].exposes: unknown key "exposes"; did you mean "expose"?`},
		"duplicate key": {`  - {name: web, name: api}`, `in.yaml:7:17: spec.services[0].name: key "name" is given twice (also in line 7)`},
		"path": {`  - {name: web, expose: [{port: 80, path: /api}]}`,
			`in.yaml:7:43: spec.services[0].expose[0].path: only ports that are routed over HTTP have a path (global, TCP, and 80 outside or with tls)`},
		"duration": {`  - {name: web, expose: [{port: 80, http: {readTimeout: 60}}]}`,
			`in.yaml:7:57: spec.services[0].expose[0].http.readTimeout: "60" is not a duration such as 60s, 1m30s or 500ms`},
		"long timeout": {`  - {name: web, expose: [{port: 80, http: {readTimeout: 2m}}]}`,
			`in.yaml:7:57: spec.services[0].expose[0].http.readTimeout: the read timeout 2m0s is longer than 1m0s`},
		"microseconds": {`  - {name: web, expose: [{port: 80, http: {sendTimeout: 5us}}]}`,
			`in.yaml:7:57: spec.services[0].expose[0].http.sendTimeout: the duration 5us is not a whole number of milliseconds`},
		"endpoint": {"  - {name: web, expose: [{port: 80, global: true, ip: my-up}]}\n  ipEndpoints: [{name: my-ip}]",
			"in.yaml:7:55: spec.services[0].expose[0].ip: no endpoint named \"my-up\"; did you mean \"my-ip\" (line 8)?\n" +
				"in.yaml:8:24: spec.ipEndpoints[0].name: endpoint \"my-ip\" is declared but never used"},
		"several": {"  - {name: Web, expose: [{port: 0, hosts: [A.com]}]}\n  - {expose: []}",
			"in.yaml:7:12: spec.services[0].name: \"Web\" is not a service name (lower-case letters, digits and \"-\", a letter first)\n" +
				"in.yaml:7:33: spec.services[0].expose[0].port: 0 is not a port (1 to 65535)\n" +
				"in.yaml:7:44: spec.services[0].expose[0].hosts[0]: \"A.com\" is not lower case; write \"a.com\"\n" +
				"in.yaml:8:5: spec.services[1]: \"name\" is missing"},
		"syntax": {`  - {name: web`, `in.yaml:7:3: not valid YAML: did not find expected ',' or '}'`},
	} {
		t.Run(name, func(t *testing.T) {
			defs, problems := read(t, head+c.services+"\n", input.Options{})
			if problems != c.want {
				t.Errorf("problems:\n%s\nwant:\n%s", problems, c.want)
			}
			if len(defs) != 0 {
				t.Error("a document with errors was yielded")
			}
		})
	}
}

// TestStream reads on behind a document with errors, and one that is no YAML.
func TestStream(t *testing.T) {
	good := head + "  - {name: web, expose: [{port: 80, global: true}]}\n"
	text := "# nothing\n---\n" + good + "---\nkind: [\n---\n" + head + "  - {nam: web}\n---\n" + good
	defs, problems := read(t, text, input.Options{})
	if len(defs) != 2 || defs[0].At.Line != 3 || defs[1].At.Line != 21 {
		t.Fatalf("%d definitions, problems:\n%s", len(defs), problems)
	}
	for _, want := range []string{"in.yaml:11:1: not valid YAML", "in.yaml:19:6: spec.services[0].nam: unknown key"} {
		if !strings.Contains(problems, want) {
			t.Errorf("no %q in\n%s", want, problems)
		}
	}
}

func TestRecognise(t *testing.T) {
	other := testLease
	other.DSeq = 7
	object, def, sdl := file(t, "../sdl/testdata/manifest-object.yaml"), file(t, "testdata/shop.yaml"), file(t, "../sdl/testdata/shop.yaml")
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(object), "\n", "\n  ") + "\n- {kind: Pod, apiVersion: v1}\n"
	for name, c := range map[string]struct {
		text  string
		lease *lease.ID
		count int
		want  string
	}{
		"definition":         {def, nil, 1, ""},
		"definition, lease":  {def, &testLease, 1, ""},
		"definition, other":  {def, &other, 0, "leave --lease out"},
		"sdl":                {sdl, &testLease, 1, ""},
		"sdl without lease":  {sdl, nil, 0, "an SDL names no lease; say which with --lease"},
		"json":               {file(t, "../sdl/testdata/manifest.json"), &testLease, 1, ""},
		"json without lease": {"[]", nil, 0, "a manifest names no lease"},
		"object":             {object, nil, 1, ""},
		"list":               {list, nil, 1, "in.yaml:37:3: items[1]: unsupported kind Pod"},
		"config":             {"apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\n", nil, 0, "pass it with --config"},
		"old object":         {"apiVersion: akash.network/v2beta1\nkind: Manifest\n", nil, 0, `unsupported apiVersion "akash.network/v2beta1" of Manifest; use akash.network/v2beta2`},
		"text":               {"hello\n", nil, 0, "in.yaml:1:1: expected a lease definition"},
		"nothing":            {"# only a comment\n", nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			defs, problems := read(t, c.text, input.Options{Lease: c.lease})
			if len(defs) != c.count || !strings.Contains(problems, c.want) || c.want == "" && problems != "" {
				t.Errorf("%d definitions, problems %q; want %d, %q", len(defs), problems, c.count, c.want)
			}
		})
	}
}

func TestErrorsOfReaderAndYield(t *testing.T) {
	broken := errors.New("broken")
	if _, err := input.Read(t.Context(), iotest.ErrReader(broken), "f", input.Options{}, nil); !errors.Is(err, broken) {
		t.Errorf("the reader's error is lost: %v", err)
	}
	_, err := input.Read(t.Context(), strings.NewReader(file(t, "testdata/shop.yaml")), "f", input.Options{}, func(*lease.Definition) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("yield's error is lost: %v", err)
	}
}

func TestManifestObject(t *testing.T) {
	text := `{"apiVersion":"akash.network/v2beta2","kind":"Manifest","spec":{"lease_id":{"owner":"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h","dseq":"8438017","gseq":1,"oseq":1,"provider":"akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"},"group":{"name":"g","services":[{"name":"web","expose":[{"port":PORT,"global":true}]}]}}}`
	def, problems := input.ManifestObject("m", []byte(strings.Replace(text, "PORT", "80", 1)), input.Options{})
	if len(problems) > 0 || def == nil || def.Lease != testLease {
		t.Errorf("%v, problems %v", def, problems)
	}
	def, problems = input.ManifestObject("m", []byte(strings.Replace(text, "PORT", "0", 1)), input.Options{})
	if want := "manifests/m: spec.group.services[0].expose[0].port: 0 is not a port (1 to 65535)"; def != nil || problems.Error() != want {
		t.Errorf("%v, problems %v", def, problems)
	}
}

func BenchmarkRead1000(b *testing.B) {
	one, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("---\n"+string(one), 1000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		problems, err := input.Read(b.Context(), strings.NewReader(text), "-", input.Options{}, func(*lease.Definition) error { n++; return nil })
		if err != nil || len(problems) > 0 || n != 1000 {
			b.Fatal(n, err, problems)
		}
	}
}
