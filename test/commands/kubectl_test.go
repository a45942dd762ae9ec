package commands

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Each kubectl, the newest and the oldest, finds the plugin by its name, hands it arguments, standard input and exit code,
// and applies its YAML.
func TestThroughKubectl(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"kubectl", "oldest"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			run := func(stdin string, args ...string) result {
				t.Helper()
				return kubectlOf(t, program, stdin, args...)
			}
			var version struct{ Version, GoVersion, Platform string }
			out := run("", "akash-net", "version", "-o", "json").Exits(t, 0)
			if err := json.Unmarshal([]byte(out.Stdout), &version); err != nil || version.Version == "" || version.GoVersion == "" {
				t.Errorf("%v: %s", err, out)
			}
			first, second, host := leaseOf(newTenant(), 1), leaseOf(newTenant(), 1), newHost("kubectl")
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
	id, other := leaseOf(newTenant(), 1), leaseOf(newTenant(), 1)
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
