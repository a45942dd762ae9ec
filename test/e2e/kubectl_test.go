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
	out := kubectl(t, "akash-net", "version", "-o", "json").exits(t, 0)
	if err := json.Unmarshal([]byte(out.stdout), &version); err != nil || version.Version == "" || version.GoVersion == "" {
		t.Errorf("%v: %s", err, out)
	}
	first, second, host := leaseOf(newTenant(), 1), leaseOf(newTenant(), 1), newHost("kubectl")
	kubectl(t, "akash-net", "apply", "-f", define(t, first, web(host))).exits(t, 0).prints(t, "is live")
	kubectl(t, "akash-net", "state", "hosts").exits(t, 0).prints(t, "HOST", host)
	kubectl(t, "akash-net", "state", "hosts", "-n", first.Namespace(), "--request-timeout=1m", "-o", "name").exits(t, 0).prints(t, "host/"+host)
	kubectl(t, "akash-net", "apply", "-f", define(t, second, web(host))).exits(t, 4).says(t, first.Group().String())
	kubectl(t, "akash-net", "apply", "--no-such-flag").exits(t, 2)
	kubectl(t, "akash-net", "apply", "--help").exits(t, 0).prints(t, "kubectl akash-net apply -f")
	// The claim is to be seen with kubectl alone.
	kubectl(t, "-n", ledger, "get", "lease", host, "-o", "jsonpath={.spec.holderIdentity}").exits(t, 0).prints(t, first.Owner)
}

// kubectl asks the plugin for completions by the name of the link.
func TestCompletionThroughKubectl(t *testing.T) {
	id := leaseOf(newTenant(), 1)
	admin().do(t, "apply", "-f", define(t, id, web(newHost("complete"))))
	for words, want := range map[string][]string{
		"":                    {"apply", "convert", "install", "release", "render", "state", "version"},
		"state ":              {"hosts", "ips", "leases", "pools", "routes"},
		"state hosts ":        {"ips", "leases"},
		"state hosts -o ":     {"json", "wide", "jsonpath="},
		"apply --dry-run=":    {"client", "server"},
		"release ":            {id.Group().String()},
		"release " + id.Owner: {id.Group().String()},
	} {
		args := append([]string{"__complete", "akash-net"}, strings.Split(words, " ")...)
		out := kubectl(t, args...).exits(t, 0)
		for _, w := range want {
			if !strings.Contains("\n"+out.stdout, "\n"+w) {
				t.Errorf("%q does not complete to %s: %s", words, w, out)
			}
		}
	}
	if out := kubectl(t, "__complete", "akash-net", "state", "hosts", ""); strings.Contains("\n"+out.stdout, "\nhosts") {
		t.Errorf("hosts is offered twice: %s", out)
	}
}
