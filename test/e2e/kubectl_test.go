package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// kubectl finds the plugin by its name and hands it arguments and exit code.
func TestThroughKubectl(t *testing.T) {
	t.Parallel()
	var version struct{ Version, GoVersion, Platform string }
	out := kubectl(t, "akash-net", "version", "-o", "json").Exits(t, 0)
	if err := json.Unmarshal([]byte(out.Stdout), &version); err != nil || version.Version == "" || version.GoVersion == "" {
		t.Errorf("%v: %s", err, out)
	}
	first, second, host := leaseOf(newTenant(), 1), leaseOf(newTenant(), 1), newHost("kubectl")
	kubectl(t, "akash-net", "apply", "-f", define(t, first, web(host))).Exits(t, 0).Prints(t, "is live")
	kubectl(t, "akash-net", "state", "hosts").Exits(t, 0).Prints(t, "HOST", host)
	kubectl(t, "akash-net", "state", "hosts", "-n", first.Namespace(), "--request-timeout=1m", "-o", "name").Exits(t, 0).Prints(t, "host/"+host)
	kubectl(t, "akash-net", "apply", "-f", define(t, second, web(host))).Exits(t, 4).Says(t, first.Group().String())
	kubectl(t, "akash-net", "apply", "--no-such-flag").Exits(t, 2)
	kubectl(t, "akash-net", "apply", "--help").Exits(t, 0).Prints(t, "kubectl akash-net apply -f")
	// The claim is to be seen with kubectl alone.
	kubectl(t, "-n", ledger, "get", "lease", host, "-o", "jsonpath={.spec.holderIdentity}").Exits(t, 0).Prints(t, first.Owner)
}

// kubectl asks the plugin for completions by the name of the link.
func TestCompletionThroughKubectl(t *testing.T) {
	id, other := leaseOf(newTenant(), 1), leaseOf(newTenant(), 1)
	host, others := newHost("complete"), newHost("complete")
	admin().do(t, "apply", "-f", define(t, id, web(host)))
	admin().do(t, "apply", "-f", define(t, other, web(others)))
	for words, want := range map[string][]string{
		"":                    {"apply", "convert", "install", "release", "render", "state", "version"},
		"state ":              {"hosts", "ips", "leases", "pools", "routes"},
		"state hosts ":        {"ips", "leases"},
		"state hosts -o ":     {"json", "wide", "jsonpath="},
		"apply --dry-run=":    {"client", "server"},
		"release ":            {id.Group().String()},
		"release " + id.Owner: {id.Group().String()},
		"release lease/":      {"lease/" + id.Group().String()},
		"state host/" + host:  {"host/" + host},
	} {
		args := append([]string{"__complete", "akash-net"}, strings.Split(words, " ")...)
		out := kubectl(t, args...).Exits(t, 0)
		for _, w := range want {
			if !strings.Contains("\n"+out.Stdout, "\n"+w) {
				t.Errorf("%q does not complete to %s: %s", words, w, out)
			}
		}
	}
	// After a lease what it holds is offered, and not what others hold.
	out := kubectl(t, "__complete", "akash-net", "release", id.Group().String(), "host/").Exits(t, 0).Prints(t, "host/"+host)
	if strings.Contains(out.Stdout, others) {
		t.Errorf("offered is what another lease holds: %s", out)
	}
	if out := kubectl(t, "__complete", "akash-net", "release", id.Owner); strings.Contains(out.Stdout, other.Owner) {
		t.Errorf("offered is what was not begun: %s", out)
	}
	if out := kubectl(t, "__complete", "akash-net", "state", "hosts", ""); strings.Contains("\n"+out.Stdout, "\nhosts") {
		t.Errorf("hosts is offered twice: %s", out)
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
