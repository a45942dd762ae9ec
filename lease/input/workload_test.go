package input_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

func readWorkloads(t *testing.T, text string, workloads bool) (*lease.Definition, lease.Problems) {
	t.Helper()
	var def *lease.Definition
	problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Workloads: workloads}, func(d *lease.Definition) error {
		def = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return def, problems
}

func workloadText(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/workload.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestADefinitionSaysWhatItsServicesRun(t *testing.T) {
	def, problems := readWorkloads(t, workloadText(t), true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := resources.Group{Name: "west", Units: []resources.Unit{
		{Count: 1, Resources: resources.Resources{
			ID: 7, CPU: 1000, Memory: 1 << 30, CPUAttributes: []resources.Attribute{{Key: "arch", Value: "arm64"}},
			Volumes: []resources.Volume{{Name: "data", Size: 10 << 30, Attributes: []resources.Attribute{{Key: "class", Value: "beta2"}, {Key: "persistent", Value: "true"}}}},
		}},
		{Count: 2, Resources: resources.Resources{
			ID: 2, CPU: 500, Memory: 512 << 20, GPU: resources.GPU{Units: 1, Attributes: []resources.Attribute{{Key: "vendor/amd/model/mi300", Value: "true"}}},
			Volumes: []resources.Volume{
				{Name: "default", Size: 1 << 30},
				{Name: "shm", Size: 64 << 20, Attributes: []resources.Attribute{{Key: "class", Value: "ram"}, {Key: "persistent", Value: "false"}}},
			},
			Endpoints: []resources.Endpoint{{Kind: resources.SharedHTTP}, {Kind: resources.RandomPort}, {Kind: resources.LeasedIP, Sequence: 1}},
		}},
	}}
	if diff := cmp.Diff(want, def.ResourceGroup()); diff != "" {
		t.Errorf("the group (-want +got):\n%s", diff)
	}
	if web := def.Workloads.Workload("web"); web == nil || web.Image != "nginx:1.27" || web.Credentials.Password != "hunter2" || !web.Params.Permissions.Has("logs") {
		t.Errorf("the workload is %+v", web)
	}
	if def.Workloads.Workload("we") != nil {
		t.Error("there is a workload without a name of its own")
	}
	ports := ""
	for _, p := range def.Ports("web") {
		ports += p.Peer + ":" + string(p.Protocol)
	}
	if ports != ":TCP:TCPdb:TCP" {
		t.Errorf("the order of ports is %s", ports)
	}
}

// Without workloads a definition is what it would be if it said nothing of them.
func TestWorkloadsAreReadOnRequest(t *testing.T) {
	def, _ := readWorkloads(t, workloadText(t), false)
	if def == nil || def.Workloads != nil || len(def.ResourceGroup().Units) > 0 {
		t.Fatalf("%+v", def)
	}
	text, err := json.Marshal(input.Encode(def))
	if err != nil || strings.Contains(string(text), "workload") || strings.Contains(string(text), "nginx") {
		t.Errorf("%s, %v", text, err)
	}
	with, _ := readWorkloads(t, workloadText(t), true)
	if with.Hash != def.Hash || lease.SumWhole(with) == lease.SumWhole(def) {
		t.Error("the hash is another with workloads, or what the lease runs makes no other sum of the whole")
	}
	if _, problems := readWorkloads(t, strings.ReplaceAll(workloadText(t), "image: postgres:16", "imagE: postgres"), false); !problems.Failed() {
		t.Error("an unknown key is accepted where workloads are not asked for")
	}
}

// Passwords are written on request alone, and what is written without them is read again.
func TestPasswordsAreWrittenOnRequest(t *testing.T) {
	def, _ := readWorkloads(t, workloadText(t), true)
	for _, c := range []struct {
		doc      *input.Document
		password string
	}{{input.Encode(def), ""}, {input.EncodeSecrets(def), "hunter2"}} {
		text, err := json.Marshal(c.doc)
		if err != nil {
			t.Fatal(err)
		}
		again, problems := readWorkloads(t, string(text), true)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := again.Workloads.Workload("web").Credentials.Password; got != c.password {
			t.Errorf("the password is %q, want %q", got, c.password)
		}
		if again.Hash != def.Hash {
			t.Error("the hash changes")
		}
	}
}

// Units that no format has numbered, and endpoints, get numbers of their own.
func TestSharedUnits(t *testing.T) {
	text := strings.Replace(workloadText(t), "image: nginx:1.27", "image: nginx:1.27\n      count: 1", 1)
	if _, problems := readWorkloads(t, text, true); !strings.Contains(problems.Error(), "given twice") {
		t.Error(problems)
	}
	def := &lease.Definition{Workloads: &lease.Workloads{Services: []lease.Workload{
		{Name: "a", Count: 2, Resources: resources.Resources{ID: 1, CPU: 100}},
		{Name: "b", Count: 3, Resources: resources.Resources{ID: 1, CPU: 100}},
	}}, Services: []lease.Service{
		{Name: "a", Expose: []lease.Expose{{Port: 53, Protocol: lease.UDP, Global: true, IP: "x", Sequence: 2}}},
		{Name: "b", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP, Global: true}}},
	}}
	want := []resources.Unit{{Count: 5, Resources: resources.Resources{ID: 1, CPU: 100, Endpoints: []resources.Endpoint{
		{Kind: resources.RandomPort}, {Kind: resources.SharedHTTP}, {Kind: resources.LeasedIP, Sequence: 2},
	}}}}
	if diff := cmp.Diff(want, def.ResourceGroup().Units); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a reservation chose, by the ids of resource units, and what is said of what is none.
func TestScheduler(t *testing.T) {
	for text, want := range map[string]string{
		"":             "",
		"{}":           "",
		"1: ~":         "1 nothing",
		`{"1": null}`:  "1 nothing",
		"1: {}":        `1 class ""`,
		"4294967295: ": "4294967295 nothing",
		"{2: {runtime_class: none}, 1: {runtime_class: nvidia}}":                                                     `1 class "nvidia", 2 class "none"`,
		"1: {runtime_class: '', resources: {gpu: {vendor: nvidia, model: a100, memory_size: 80Gi, interface: sxm}}}": `1 class "" nvidia a100 80Gi sxm`,
		"1: {resources: {gpu: {}}}":       `1 class ""    `,
		"1: {resources: {gpu: ~}}":        `1 class ""`,
		"1: {}\n---\n2: {}":               `1 class "", 2 class ""`,
		"1: {runtimeClass: nvidia}":       `1 class "nvidia", warning: f:1:5: 1.runtimeClass: "runtimeClass" is read as "runtime_class"`,
		"0: {}":                           `f:1:1: 0: "0" is not the id of a resource unit`,
		"01: {}":                          `"01" is not the id of a resource unit`,
		"-1: {}":                          `"-1" is not the id of a resource unit`,
		"+1: {}":                          `"+1" is not the id of a resource unit`,
		"1.0: {}":                         `"1.0" is not the id of a resource unit`,
		"0x1: {}":                         `"0x1" is not the id of a resource unit`,
		"'1 ': {}":                        `"1 " is not the id of a resource unit`,
		"4294967296: {}":                  `"4294967296" is not the id of a resource unit`,
		"web: {}":                         `"web" is not the id of a resource unit`,
		"1: {}\n1: {}":                    `f:2:1: 1: key "1" is given twice (also in line 1)`,
		"1: {}\n---\n1: {}":               "f:3:1: 1: the resource unit 1 is given twice",
		"1: nvidia":                       `f:1:4: 1: expected a mapping, found the text "nvidia"`,
		"1: {class: nvidia}":              `unknown key "class"`,
		"1: {resources: {gpu: {ram: 1}}}": `unknown key "ram"`,
		"[1]":                             "f:1:1: expected a mapping, found a list",
		"1: {":                            "f:1:1: not valid YAML",
	} {
		params, problems, err := input.ReadScheduler(strings.NewReader(text), "f")
		if err != nil {
			t.Fatal(err)
		}
		var read []string
		if !problems.Failed() {
			for _, id := range slices.Sorted(maps.Keys(params)) {
				one := fmt.Sprintf("%d nothing", id)
				if p := params[id]; p != nil {
					one = fmt.Sprintf("%d class %q", id, p.RuntimeClass)
					if p.GPU() != nil {
						one += fmt.Sprintf(" %s %s %s %s", p.GPU().Vendor, p.GPU().Model, p.GPU().MemorySize, p.GPU().Interface)
					}
				}
				read = append(read, one)
			}
		}
		for _, p := range problems {
			said := p.Error()
			if p.Warning {
				said = "warning: " + said
			}
			read = append(read, said)
		}
		got := strings.Join(read, ", ")
		if problems.Failed() && strings.Contains(got, want) && want != "" {
			continue
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if _, _, err := input.ReadScheduler(brokenReader{}, "f"); !errors.Is(err, errBroken) {
		t.Errorf("a reader that is broken: %v", err)
	}
}

func TestReadRouting(t *testing.T) {
	defs, problems := read(t, file(t, "testdata/routes.yaml"), input.Options{})
	if problems != "" || len(defs) != 1 {
		t.Fatalf("%d definitions, problems: %s", len(defs), problems)
	}
	mail, web := defs[0].Services[1], defs[0].Services[2]
	if mail.Target != "route" || web.Target != "httproute" || defs[0].Services[0].Target != "" {
		t.Errorf("targets %q and %q", mail.Target, web.Target)
	}
	if e := mail.Expose[0]; !e.IsIngress() || e.Hosts[0].Name != "*.mail.example.com" || e.Path != "" {
		t.Errorf("%+v", e)
	}
	ninety := uint16(90)
	want := []*lease.Routing{
		{TLS: &lease.TLS{Termination: lease.Reencrypt, SecretName: "shop-tls", DestinationCASecretName: "backend-ca",
			Issuer: &lease.Issuer{Name: "own", Kind: "Own", Group: "pki.example.com"}}, Sticky: &lease.Sticky{Disabled: true}},
		{
			TLS: &lease.TLS{Termination: lease.Edge, Insecure: lease.InsecureRedirect, SecretName: "shop-tls",
				Issuer: &lease.Issuer{Name: "letsencrypt", Kind: "ClusterIssuer"}},
			Weight: &ninety, Backends: []lease.Backend{{Service: "canary", Port: 80, Weight: 10}},
			Sticky: &lease.Sticky{Cookie: "session", SameSite: "Lax"},
			Headers: lease.Headers{
				Request:  []lease.HeaderRule{{Name: "X-Forwarded-Client", Value: "%{+Q}[ssl_c_der,base64]"}, {Name: "X-Debug", Delete: true}},
				Response: []lease.HeaderRule{{Name: "X-Frame-Options", Value: "DENY"}},
			},
			Annotations: []lease.RouteAnnotation{
				{Key: "haproxy.router.openshift.io/hsts_header", Value: "max-age=31536000;includeSubDomains"},
				{Key: "haproxy.router.openshift.io/ip_allowlist", Value: "192.0.2.0/24 2001:db8::/32"},
				{Key: "haproxy.router.openshift.io/timeout", Value: "30s"},
			},
			Labels: map[string]string{"shard": "public", "example.com/tier": "front"},
		},
	}
	for i, w := range want {
		if diff := cmp.Diff(w, web.Expose[i].Routing, withoutPlaces); diff != "" {
			t.Errorf("expose %d:\n%s", i, diff)
		}
	}
	if web.Expose[1].Path != "/v2" || web.Expose[1].PathAt.String() != "in.yaml:32:13: spec.services[2].expose[0].path" {
		t.Errorf("path %q at %s", web.Expose[1].Path, web.Expose[1].PathAt)
	}
}

// FuzzTLS reads combinations of what is said of TLS, and compares with the matrix of OpenShift's
// terminations.
func FuzzTLS(f *testing.F) {
	for _, termination := range []string{"", "edge", "passthrough", "reencrypt", "Edge"} {
		for _, insecure := range []string{"", "None", "Allow", "Redirect", "allow"} {
			f.Add(termination, insecure, "", "", "", "", "/", false)
			f.Add(termination, insecure, "tls", "", "", "", "/", false)
			f.Add(termination, insecure, "", "ca", "", "", "/", true)
			f.Add(termination, insecure, "tls", "ca", "letsencrypt", "ClusterIssuer", "/v2", true)
		}
	}
	f.Add("edge", "", "A_b", "", "x", "Kind", "/a/", false)
	f.Fuzz(func(t *testing.T, termination, insecure, secret, ca, issuer, kind, path string, header bool) {
		tls := map[string]any{"termination": termination, "insecure": insecure, "secretName": secret, "destinationCASecretName": ca}
		if issuer != "" {
			tls["issuer"] = map[string]any{"name": issuer, "kind": kind}
		}
		expose := map[string]any{"port": 443, "global": true, "hosts": []string{"a.example.com"}, "path": path, "tls": tls}
		if header {
			expose["headers"] = map[string]any{"request": []any{map[string]any{"name": "X-A", "action": "Delete"}}}
		}
		id, err := document.Encode(testLease)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(map[string]any{
			"apiVersion": input.APIVersion, "kind": input.Kind, "metadata": map[string]any{"name": "x"},
			"spec": map[string]any{"lease": json.RawMessage(id), "services": []any{map[string]any{"name": "web", "expose": []any{expose}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		accepted := false
		problems, err := input.Read(t.Context(), strings.NewReader(string(text)), "f", input.Options{}, func(*lease.Definition) error { accepted = true; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := tlsAllowed(termination, insecure, secret, ca, issuer, kind, path, header); want != "?" && accepted != (want == "") {
			t.Errorf("%s\naccepted: %v, want %q\n%v", text, accepted, want, problems)
		}
		holds(t, text, input.Options{})
	})
}

// tlsAllowed is the matrix: empty where the combination is right, ? where a text's own grammar counts.
func tlsAllowed(termination, insecure, secret, ca, issuer, kind, path string, header bool) string {
	for _, name := range []string{secret, ca, issuer} {
		if lease.CheckHost(name) != nil && name != "" {
			return "?"
		}
	}
	root := path == "" || path == "/"
	if !root && lease.CheckPath(path) != nil {
		return "?"
	}
	if termination == "" {
		termination = "edge"
		if ca != "" {
			termination = "reencrypt"
		}
	}
	issuerKind := issuer == "" || kind == "" || kind == "Issuer" || kind == "ClusterIssuer"
	switch {
	case !oneOf(insecure, "", "None", "Allow", "Redirect"):
		return "insecure"
	case termination == "passthrough" && (secret != "" || ca != "" || issuer != "" || !root || header || insecure == "Allow"):
		return "passthrough"
	case termination == "edge" && ca != "":
		return "edge"
	case !oneOf(termination, "edge", "reencrypt", "passthrough"):
		return "termination"
	case !issuerKind:
		return "issuer"
	}
	return ""
}

func oneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w {
			return true
		}
	}
	return false
}

func ExampleEncode_routing() {
	def := &lease.Definition{Name: "x", Lease: testLease, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{
		Port: 80, Protocol: lease.TCP, Global: true, Path: "/v2", Hosts: []lease.Host{{Name: "a.example.com"}},
		Routing: &lease.Routing{TLS: &lease.TLS{Termination: lease.Edge}, Headers: lease.Headers{Response: []lease.HeaderRule{{Name: "X-A", Delete: true}}}},
	}}}}}
	text, _ := document.Encode(def.Services[0].Expose[0])
	fmt.Println(string(text))
	// Output: {"port":80,"global":true,"hosts":["a.example.com"],"path":"/v2","tls":{"termination":"edge"},"headers":{"response":[{"name":"X-A","action":"Delete"}]}}
}
