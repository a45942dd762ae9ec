package commands

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Each kubectl, the newest and the oldest, finds the plugin by its name, hands it arguments, standard input and exit code,
// and applies its YAML.
func TestThroughKubectl(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"kubectl", "oldest"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if program == "oldest" {
				harness.NeedsLong(t)
			}
			run := func(stdin string, args ...string) result {
				t.Helper()
				return kubectlOf(t, program, stdin, args...)
			}
			var version struct{ Version, GoVersion, Platform string }
			out := run("", "akash-net", "version", "-o", "json").Exits(t, 0)
			if err := json.Unmarshal([]byte(out.Stdout), &version); err != nil || version.Version == "" || version.GoVersion == "" {
				t.Errorf("%v: %s", err, out)
			}
			first, second, host := leaseOf(newTenant(t), 1), leaseOf(newTenant(t), 1), newHost("kubectl")
			text, err := os.ReadFile(defineParts(t, first, webPart(host)))
			if err != nil {
				t.Fatal(err)
			}
			run(string(text), "akash-net", "apply", "-f", "-").Exits(t, 0).Prints(t, "is live")
			run("", "akash-net", "state", "hosts").Exits(t, 0).Prints(t, "HOST", host)
			run("", "akash-net", "state", "hosts", "-n", first.Namespace(), "--request-timeout=1m", "-o", "name").Exits(t, 0).Prints(t, "host/"+host)
			run("", "akash-net", "apply", "-f", defineParts(t, second, webPart(host))).Exits(t, 4).Says(t, first.Group().String())
			run("", "akash-net", "apply", "--no-such-flag").Exits(t, 2)
			run("", "akash-net", "apply", "--help").Exits(t, 0).Prints(t, "kubectl akash-net apply -f")
			// The claim is to be seen with kubectl alone.
			run("", "-n", ledger, "get", "lease", host, "-o", "jsonpath={.spec.holderIdentity}").Exits(t, 0).Prints(t, first.Owner)
			// A pipe of this kubectl applies what the plugin renders: each object is the one that apply wrote.
			rendered := run(string(text), "akash-net", "render", "-f", "-").Exits(t, 0)
			run(rendered.Stdout, "apply", "--server-side", "--dry-run=server", "-f", "-").Exits(t, 0).Prints(t, "ingress.networking.k8s.io/"+host)
			run("", "akash-net", "release", first.Group().String(), "-y").Exits(t, 0).Prints(t, "released")
		})
	}
}

// kubectl asks the plugin for completions by the name of the link.
func TestCompletionThroughKubectl(t *testing.T) {
	t.Parallel()
	id, other := leaseOf(newTenant(t), 1), leaseOf(newTenant(t), 1)
	host, others := newHost("complete"), newHost("complete")
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	admin().do(t, "apply", "-f", defineParts(t, other, webPart(others)))
	complete := func(words string) string {
		t.Helper()
		return "\n" + mustRun(t, 0, append([]string{"__complete"}, strings.Split(words, " ")...)...).Stdout
	}
	for words, want := range map[string][]string{
		"":                   {"apply", "convert", "install", "release", "render", "state", "version"},
		"state ":             {"hosts", "ips", "leases", "pools", "routes"},
		"state hosts ":       {"ips", "leases"},
		"state hosts -o ":    {"json", "wide", "jsonpath="},
		"apply --dry-run=":   {"client", "server"},
		"release ":           {id.Group().String()},
		"release lease/":     {"lease/" + id.Group().String()},
		"state host/" + host: {"host/" + host},
	} {
		out := complete(words)
		for _, w := range want {
			if !strings.Contains(out, "\n"+w) {
				t.Errorf("%q does not complete to %s: %s", words, w, out)
			}
		}
	}
	// After a lease what it holds is offered, and not what others hold, or what was not begun; nor what is named already.
	for words, not := range map[string]string{"release " + id.Group().String() + " host/": others, "release " + id.Owner: other.Owner, "state hosts ": "\nhosts"} {
		if out := complete(words); strings.Contains(out, not) {
			t.Errorf("%q completes to %s: %s", words, not, out)
		}
	}
	kubectl(t, "__complete", "akash-net", "release", id.Group().String(), "host/").Exits(t, 0).Prints(t, "host/"+host)
	// No other program of ours takes a command away, as one with a plugin's name would.
	kubectl(t, "__complete", "akash-net", "reconcile", "--h").Exits(t, 0).Prints(t, "--heal")
	if out := kubectl(t, "__complete", "akash-net", "rec").Exits(t, 0).Stdout; strings.Count(out, "reconcile\t") != 1 {
		t.Errorf("kubectl completes akash-net rec to\n%s", out)
	}
}

// -v shows the requests, and no credentials.
func TestVerbosity(t *testing.T) {
	t.Parallel()
	if r := kubectl(t, "akash-net", "state", "hosts").Exits(t, 0); strings.Contains(r.Stderr, "GET") {
		t.Errorf("without -v it says\n%s", r.Stderr)
	}
	kubectl(t, "akash-net", "state", "hosts", "-v", "6").Exits(t, 0).Says(t, `verb="GET"`, "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases")
	r := kubectl(t, "akash-net", "state", "hosts", "-v=9", "--token", "c2VjcmV0LXRva2Vu")
	if !strings.Contains(r.Stderr, "Authorization") || strings.Contains(r.Stderr, "c2VjcmV0LXRva2Vu") {
		t.Errorf("with -v=9 it says\n%.3000s", r.Stderr)
	}
}

// The first example of `render --help` works as it is printed, for a lease without a namespace.
func TestFirstExampleOfRender(t *testing.T) {
	t.Parallel()
	id := leaseOf(newTenant(t), 1)
	_, examples, _ := strings.Cut(admin().do(t, "render", "--help").Stdout, "Examples:")
	var example string
	for line := range strings.Lines(examples) {
		if line = strings.TrimSpace(line); example != "" || strings.HasPrefix(line, "kubectl ") {
			example += line
			if !strings.HasSuffix(line, "|") {
				break
			}
		}
	}
	const named = "akash1…/8438017/1/1/akash1…"
	if !strings.Contains(example, named) || !strings.Contains(example, "deploy.yaml") {
		t.Fatalf("the example is %q", example)
	}
	const sdl = `
version: "2.0"
services:
  web:
    image: registry.example.com/web:1
    expose:
    - {port: 8080, as: 80, accept: [%s], to: [{global: true}]}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {any: {pricing: {web: {denom: uakt, amount: 100}}}}
deployment: {web: {any: {profile: web, count: 1}}}
`
	dir := t.TempDir()
	write(t, filepath.Join(dir, "deploy.yaml"), fmt.Sprintf(sdl, newHost("example")))
	path, err := programs.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", strings.ReplaceAll(example, named, id.String()))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+harness.Plane.Kubeconfig, "PATH="+harness.Binaries()+":"+filepath.Dir(path)+":"+os.Getenv("PATH"))
	finish(cmd).Exits(t, 0)
	if got := objectsOf(t, id); len(got) == 0 {
		t.Error("the example applied nothing")
	}
}
