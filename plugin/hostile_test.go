package plugin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The exit codes, as docs/commands.md has them.
const (
	codeDone, codeFailed, codeUsage, codeInvalid, codeDiff, codeInterrupted = 0, 1, 2, 3, 6, 130
)

const (
	testOwner    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	testProvider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	testLease    = testOwner + "/8438017/1/1/" + testProvider
)

// main1 runs a command line without a cluster.
func main1(t *testing.T, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var stdout, stderr bytes.Buffer
	code = Main(context.Background(), append([]string{"kubectl-akash_net"}, args...),
		genericiooptions.IOStreams{In: strings.NewReader(in), Out: &stdout, ErrOut: &stderr})
	return code, stdout.String(), stderr.String()
}

// obeys finds the first character of a text that a terminal would obey.
func obeys(text string) (rune, bool) {
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029') {
			return r, true
		}
	}
	return 0, false
}

// payloads are what a YAML text in double quotes can hold to get at a terminal.
var payloads = []string{`\e[2Jx`, `x\a`, `x\u009b2J`, `x\u202eexe`, `x\x7f`, `x\r\ny`}

// hostileInputs are inputs with a %s for every field that a tenant writes.
var hostileInputs = map[string]string{
	"definition": `apiVersion: "net.akash.network/v1alpha1%[1]s"
`,
	"kind": `apiVersion: net.akash.network/v1alpha1
kind: "LeaseDefinition%[1]s"
`,
	"fields": `apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: "n%[1]s", "k%[1]s": 1, labels: {"l%[1]s": !!int "%[1]s"}}
spec:
  lease: {owner: "o%[1]s", dseq: "1%[1]s", gseq: !!int "%[1]s", oseq: !!float "%[1]s", provider: "p%[1]s"}
  services:
  - name: "s%[1]s"
    target: "t%[1]s"
    expose:
    - {port: "80%[1]s", as: !!int "%[1]s", protocol: "TCP%[1]s", global: !!bool "%[1]s", hosts: ["h%[1]s", !!float "%[1]s"], path: "/%[1]s", ip: "e%[1]s", weight: "%[1]s",
       tls: {termination: "%[1]s", insecure: "%[1]s", secretName: "%[1]s", issuer: {name: "%[1]s", kind: "%[1]s", group: "%[1]s"}},
       http: {maxBodySize: "%[1]s", readTimeout: "%[1]s", sendTimeout: !!int "%[1]s", nextTries: "%[1]s", nextCases: ["%[1]s"]},
       sticky: {cookie: "%[1]s", sameSite: "%[1]s"}, headers: {request: [{name: "%[1]s", action: "%[1]s", value: "%[1]s"}]},
       annotations: {"%[1]s": "%[1]s"}, labels: {"%[1]s": "%[1]s"}, alternateBackends: [{service: "%[1]s", port: "%[1]s", weight: "%[1]s"}]}
  ipEndpoints: [{name: "e%[1]s", addresses: ["%[1]s"]}]
`,
	"valid but hosts": `apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: n}
spec:
  lease: {owner: ` + testOwner + `, dseq: 1, gseq: 1, oseq: 1, provider: ` + testProvider + `}
  services: [{name: web, expose: [{port: 80, global: true, hosts: ["h%[1]s"], path: "/%[1]s"}, {port: 81, global: true, ip: "e%[1]s"}]}]
`,
	"sdl": `version: "2.0%[1]s"
"k%[1]s": 1
services:
  "w%[1]s":
    image: "%[1]s"
    expose:
    - {port: !!int "%[1]s", as: !!float "%[1]s", proto: "%[1]s", accept: ["%[1]s", !!bool "%[1]s"], to: [{global: !!bool "%[1]s", ip: "%[1]s"}], http_options: {max_body_size: "%[1]s", next_cases: ["%[1]s"]}}
endpoints: {"e%[1]s": {kind: "%[1]s"}}
profiles:
  compute: {"c%[1]s": {resources: {cpu: {units: "%[1]s"}, memory: {size: "%[1]s"}, storage: {size: "%[1]s"}}}}
  placement: {"p%[1]s": {"x%[1]s": 1}}
deployment: {"d%[1]s": {"p%[1]s": {profile: "%[1]s", count: "%[1]s"}}}
`,
	"anchor": "a: *%[1]s\n", "broken": "a: [\"%[1]s\"\nb: }\n", "tag": "a: !%[1]s b\n",
	"manifest": `[{"name": "g%[1]s", "services": [{"name": "s%[1]s", "expose": [{"port": "%[1]s", "proto": "%[1]s", "hosts": ["%[1]s"]}]}]}]`,
	"ledger": `apiVersion: v1
kind: List
items:
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata:
    name: shop.example.com
    namespace: akash-net
    labels: {net.akash.network/kind: host, net.akash.network/owner: "` + testOwner + `"}
    annotations:
      net.akash.network/ledger: v1
      route.net.akash.network/root: '{"lease":"` + testLease + `","service":"web%[2]s","port":80,"expires":"%[2]s","definition":"%[2]s","message":"%[2]s"}'
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata:
    name: blog.example.com
    namespace: akash-net
    labels: {net.akash.network/kind: host, net.akash.network/owner: "o%[1]s"}
    annotations: {net.akash.network/ledger: v1, route.net.akash.network/root: "{%[1]s"}
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata: {name: "i%[1]s", namespace: "n%[1]s", labels: {akash.network/lease.id.owner: "o%[1]s"}}
  spec: {rules: [{host: "h%[1]s", http: {paths: [{path: "/%[1]s", pathType: Prefix, backend: {service: {name: "s%[1]s", port: {number: 80}}}}]}}]}
- apiVersion: akash.network/v2beta2
  kind: ProviderHost
  metadata: {name: "i%[1]s", namespace: lease}
  spec: {hostname: "h%[1]s", service_name: "s%[1]s", owner: "o%[1]s", provider: "p%[1]s", dseq: 1, gseq: 1, oseq: 1, external_port: 80}
- apiVersion: akash.network/v2beta2
  kind: ProviderLeasedIP
  metadata: {name: "i%[1]s", namespace: lease}
  spec: {lease_id: {owner: "o%[1]s", dseq: "1", gseq: 1, oseq: 1, provider: "p%[1]s"}, service_name: "s%[1]s", external_port: 80, port: 80, sharing_key: "k%[1]s", protocol: "%[1]s"}
- apiVersion: metallb.io/v1beta1
  kind: IPAddressPool
  metadata: {name: "p%[1]s"}
  spec: {addresses: ["%[1]s"]}
- {apiVersion: "v%[1]s", kind: "k%[1]s", metadata: {name: "n%[1]s"}}
- {apiVersion: "v%[1]s", kind: "k%[1]s", metadata: {name: "n%[1]s"}}
`,
}

// Text output escapes control characters in inputs of tenants and in the ledger.
func TestNothingIsObeyedByATerminal(t *testing.T) {
	commands := [][]string{
		{"render", "-f", "-"}, {"render", "-f", "-", "--lease", testLease}, {"convert", "-f", "-", "--lease", testLease},
		{"graph", "-f", "-"}, {"graph", "-f", "-", "-o", "mermaid"}, {"graph", "-f", "-", "-o", "dot"}, {"graph", "-f", "-", "-o", "svg"},
		{"state", "-f", "-"}, {"state", "-f", "-", "-o", "wide", "hosts,ips,leases,pools,routes,dns"}, {"state", "-f", "-", "-o", "name", "hosts,ips,leases,pools,routes,dns"},
		{"state", "hosts", "-f", "-", "-o", "custom-columns=H:.host,S:.service,M:.message"}, {"state", "-f", "-", "-o", "jsonpath={.hosts[*].service}{.hosts[*].message}"},
	}
	for name, input := range hostileInputs {
		for _, payload := range payloads {
			inJSON := strings.ReplaceAll(strings.ReplaceAll(payload, `\e`, `\u001b`), `\a`, `\u0007`)
			inJSON = strings.ReplaceAll(inJSON, `\x7f`, `\u007f`)
			text := fmt.Sprintf(input, payload, inJSON)
			for _, args := range commands {
				code, out, errOut := main1(t, text, args...)
				if code == codeFailed && strings.Contains(errOut, "fault of kubectl") {
					t.Errorf("%s: %v panics:\n%s\n%s", name, args, text, errOut)
				}
				if isData := code == codeDone && (args[0] == "render" || args[0] == "convert"); isData {
					out = ""
				}
				if r, found := obeys(out + errOut); found {
					t.Errorf("%s with %s: %v prints %U:\n%q\n%q", name, payload, args, r, out, errOut)
				}
				if payload == `x\r\ny` && strings.Contains(errOut, "\ny") {
					t.Errorf("%s: %v lets a value begin a line:\n%s", name, args, errOut)
				}
			}
		}
	}
}

// Text output escapes control characters in claims, which anybody who can write Leases may have written.
func TestNothingOfAClaimIsObeyedByATerminal(t *testing.T) {
	const escape = "\x1b[2J\u009b\u202e\x07\r\n"
	var out, errOut bytes.Buffer
	c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	held := &report.HeldError{Held: []report.HeldThing{{Kind: state.Host, Thing: "shop" + escape, By: state.Holder{
		Namespace: "n" + escape, Service: "web" + escape, Object: "o" + escape, Owner: "o" + escape, Reason: "r" + escape,
	}}}}
	c.End(context.Background(), held)
	c.Warn(lease.Problems{{At: lease.Place{File: "f" + escape}, Message: "m" + escape, Warning: true}})
	for _, output := range []string{"", console.OutputName} {
		e := console.NewEvents(&c.Console, output, "")
		for _, action := range []report.Action{report.Claimed, report.Withheld, report.Lacks, report.Granted, report.Unproved, report.Left} {
			e.Report(report.Event{Action: action, Kind: "host" + escape, Name: "shop" + escape, Message: "m" + escape, Next: "n" + escape})
		}
	}
	value := map[string]any{"a" + escape: "v" + escape}
	out.Write(printing.PlanText(plan.New(plan.Settings{}, []plan.Lease{{Lease: "l" + escape, Refused: "r" + escape, Changes: []plan.Change{
		{Action: plan.Claim, Kind: "k" + escape, Name: "n" + escape, After: value},
		{Action: plan.Withhold, Why: "w" + escape},
		{Action: plan.Leave, Why: "w" + escape},
		{Action: plan.Delete, Why: "w" + escape},
		{Action: plan.Create, After: value},
		{Action: plan.Update, Fields: []plan.Field{{Path: plan.Path{"p" + escape, "q" + escape}, Before: "b" + escape, After: value, Conflict: true, Owners: []plan.Owner{{Manager: "m" + escape}}}}},
	}}}), false))
	if r, found := obeys(out.String() + errOut.String()); found {
		t.Errorf("%U is printed:\n%q\n%q", r, out.String(), errOut.String())
	}
}

// No input ends the program with a panic, nor with the words of the library that reads it.
func TestFunctionInputs(t *testing.T) {
	const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for input, want := range map[string]string{
		list + "items: [null]":          "items[0]: expected an object, found nothing",
		list + "items: [1]":             "items[0]: expected a mapping, found the number 1",
		list + "items: 7":               "items: expected a list",
		list + "items: {a: b}":          "items: expected a list",
		list + "metadata: [1]":          "metadata: expected a mapping, found a list",
		list + "functionConfig: [x]":    "functionConfig: expected a mapping, found a list",
		list + "items: [{metadata: 1}]": "items[0].metadata: expected a mapping, found the number 1",
		list + "items: [{apiVersion: v1, kind: A, metadata: {name: a, annotations: [1]}}]": "annotations: expected a mapping",
		list + "results: [1]": "results[0]: expected a mapping",
		list + "items: [{apiVersion: v1, kind: [A], metadata: {name: a}}]": "items[0].kind: expected a text, found a list",
	} {
		code, out, errOut := main1(t, input, "render")
		if code != codeInvalid || out != "" || !strings.Contains(errOut, want) || !strings.HasPrefix(errOut, "-:3:") {
			t.Errorf("%q: exit code %d, output %q, errors\n%s\nwant %q", input, code, out, errOut, want)
		}
	}
}

func FuzzFunction(f *testing.F) {
	const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for _, seed := range []string{"items: [null]", "metadata: [1]", "functionConfig: [x]", "items:\n- apiVersion: net.akash.network/v1alpha1\n  kind: LeaseDefinition\n  metadata: {name: a}\n",
		"functionConfig: {apiVersion: net.akash.network/v1alpha1, kind: ProviderConfig, metadata: {name: p}}\nitems: []\nresults: [{}]\n", "items: [{apiVersion: v1, kind: List, items: [1]}]",
		"items: [{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a, labels: {a: 1}}}]"} {
		f.Add(list + seed)
	}
	for _, input := range hostileInputs {
		f.Add(list + "items:\n- " + strings.ReplaceAll(strings.ReplaceAll(input, "%[1]s", ""), "\n", "\n  "))
	}
	f.Fuzz(func(t *testing.T, input string) {
		if code, _, errOut := main1(t, input, "render"); code == codeFailed {
			t.Errorf("exit code %d: %s", code, errOut)
		}
	})
}

// FuzzFiles reads text as objects in the place of a cluster, as a ledger, and as definitions.
func FuzzFiles(f *testing.F) {
	definition := filepath.Join(f.TempDir(), "shop.yaml")
	owner, dseq, _ := strings.Cut(testLease, "/")
	dseq, _, _ = strings.Cut(dseq, "/")
	text := "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata: {name: shop}\nspec:\n" +
		"  lease: {owner: " + owner + ", dseq: " + dseq + ", gseq: 1, oseq: 1, provider: " + owner + "}\n" +
		"  services: [{name: web, expose: [{port: 80, global: true, hosts: [shop.example.com, blog.example.com, \"*.example.com\"]}]}]\n"
	if err := os.WriteFile(definition, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	for _, input := range hostileInputs {
		f.Add(fmt.Sprintf(input, "", ""))
	}
	f.Fuzz(func(t *testing.T, input string) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(input), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"state", "-f", folder, "hosts,ips,leases,pools,routes,dns"}, {"render", "-f", folder, "--lease", testLease}, {"render", "-f", folder, "--ledger", folder},
			{"diff", "-f", definition, "--ledger", folder},
			{"convert", "-f", folder}, {"render", "-f", folder, "--config", filepath.Join(folder, "a.yaml")},
		} {
			code, out, errOut := main1(t, "", args...)
			if code == codeFailed && args[0] != "diff" || code == codeDiff || strings.Contains(errOut, "fault of kubectl") {
				t.Errorf("%v: exit code %d: %s", args, code, errOut)
			}
			if args[0] == "state" || args[0] == "diff" {
				errOut += out
			}
			if r, found := obeys(errOut); found {
				t.Errorf("%v prints %U: %q", args, r, errOut)
			}
		}
	})
}
