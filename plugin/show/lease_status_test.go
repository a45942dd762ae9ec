package show

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/session"
	state "github.com/akash-net/kubectl-akash-net/state/status"
)

func TestStatusIsPrinted(t *testing.T) {
	l := &state.Lease{
		Services: map[string]*state.Service{"web": {Name: "web", Available: 1, Total: 2, ReadyReplicas: 2, URIs: []string{"a.example.com", "b\x1b[31m.example.com"}}, "db": {Name: "db"}},
		ForwardedPorts: map[string][]state.ForwardedPort{
			"web": {{Port: 53, ExternalPort: 31000, Proto: "UDP", Name: "web"}}},
		IPs: map[string][]state.LeasedIP{"web": {{Port: 80, ExternalPort: 8080, Protocol: "TCP", IP: "203.0.113.7"}}},
	}
	for output, want := range map[string][]string{
		"json": {`"externalPort": 31000`, `"ExternalPort": 8080`, `"uris": null`},
		"yaml": {"externalPort: 31000", `IP: "203.0.113.7"`, "uris: null"},
		"wide": {"SERVICE", "db        0/0", "web       1/2", "53:31000/UDP", "203.0.113.7 8080/TCP", "<none>"},
	} {
		var out bytes.Buffer
		c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if err := printStatus(&c.Console, l, l, output); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("-o %s: %q is not printed:\n%s", output, text, out.String())
			}
		}
	}
}
