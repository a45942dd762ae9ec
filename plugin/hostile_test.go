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

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The exit codes, as docs/commands.md has them.
const (
	codeDone, codeFailed, codeUsage, codeInvalid, codeDiff = 0, 1, 2, 3, 6
)

const (
	testOwner    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	testProvider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	testLease    = testOwner + "/8438017/1/1/" + testProvider
)

// resourceList begins what a KRM function reads.
const resourceList = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

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

// hostileInputs returns inputs with a %[1]s for every field that a tenant writes, and a %[2]s for those within JSON.
func hostileInputs(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/hostile/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	inputs := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		inputs[name] = string(text)
	}
	return inputs
}

// Text output escapes control characters in inputs of tenants and in the ledger.
func TestNothingIsObeyedByATerminal(t *testing.T) {
	commands := [][]string{
		{"render", "-f", "-"}, {"render", "-f", "-", "--lease", testLease}, {"convert", "-f", "-", "--lease", testLease},
		{"graph", "-f", "-"}, {"graph", "-f", "-", "-o", "mermaid"},
		{"state", "-f", "-"}, {"state", "-f", "-", "-o", "wide", "hosts,ips,leases,pools,routes,dns"}, {"state", "-f", "-", "-o", "name", "hosts,ips,leases,pools,routes,dns"},
		{"state", "hosts", "-f", "-", "-o", "custom-columns=H:.host,S:.service,M:.message"}, {"state", "-f", "-", "-o", "jsonpath={.hosts[*].service}{.hosts[*].message}"},
	}
	for name, input := range hostileInputs(t) {
		for _, payload := range payloads {
			inJSON := strings.ReplaceAll(strings.ReplaceAll(payload, `\e`, `\u001b`), `\a`, `\u0007`)
			inJSON = strings.ReplaceAll(inJSON, `\x7f`, `\u007f`)
			text := fmt.Sprintf(input, payload, inJSON)
			for _, args := range commands {
				code, out, errOut := main1(t, text, args...)
				if code == codeFailed && strings.Contains(errOut, "fault of kubectl") {
					t.Errorf("%s: %v panics:\n%s\n%s", name, args, text, errOut)
				}
				if code == codeDone && (args[0] == "render" || args[0] == "convert") { // data
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
		for _, action := range []report.Action{report.Claimed, report.Withheld, report.Lacks, report.Granted, report.Unproved, report.Kept, report.Skipped, report.Refused, report.Unconfirmed} {
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

func FuzzFunction(f *testing.F) {
	for _, seed := range []string{"items: [null]", "metadata: [1]", "functionConfig: [x]", "items:\n- apiVersion: net.akash.network/v1alpha1\n  kind: LeaseDefinition\n  metadata: {name: a}\n",
		"functionConfig: {apiVersion: net.akash.network/v1alpha1, kind: ProviderConfig, metadata: {name: p}}\nitems: []\nresults: [{}]\n", "items: [{apiVersion: v1, kind: List, items: [1]}]",
		"items: [{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a, labels: {a: 1}}}]"} {
		f.Add(resourceList + seed)
	}
	for _, input := range hostileInputs(f) {
		f.Add(resourceList + "items:\n- " + strings.ReplaceAll(strings.ReplaceAll(input, "%[1]s", ""), "\n", "\n  "))
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
	text := "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata: {name: shop}\nspec:\n" +
		"  lease: {owner: " + testOwner + ", dseq: 8438017, gseq: 1, oseq: 1, provider: " + testOwner + "}\n" +
		"  services: [{name: web, expose: [{port: 80, global: true, hosts: [shop.example.com, blog.example.com, \"*.example.com\"]}]}]\n"
	if err := os.WriteFile(definition, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	for _, input := range hostileInputs(f) {
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
