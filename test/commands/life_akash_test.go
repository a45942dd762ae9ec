package commands

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// asAkash is what is rendered as Akash's provider writes it: with the version of the Manifest on each object and pod, without what this
// program adds, and nothing in the ledger.
func asAkash(text string) string {
	var out []string
	for document := range strings.SplitSeq(text, "\n---\n") {
		if strings.Contains(document, "kind: Ingress\n") || strings.Contains(document, "kind: ProviderHost\n") {
			continue
		}
		document = strings.ReplaceAll(document, "akash.network: \"true\"\n", "akash.network: \"true\"\n@akash.network/manifest.resource.version: \"77\"\n")
		var lines []string
		indent := ""
		for line := range strings.Lines(document) {
			switch {
			case strings.HasPrefix(line, "@"):
				line = indent + strings.TrimPrefix(line, "@")
			case strings.Contains(line, "net.akash.network/"):
				line = strings.Replace(line, "net.akash.network/definition", "example.com/note", 1)
			}
			indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
			lines = append(lines, line)
		}
		// Selectors have no version.
		out = append(out, dropFrom(strings.Join(lines, ""), "selector:", "akash.network/manifest.resource.version"))
	}
	return strings.Join(out, "\n---\n")
}

// dropFrom takes the first line with a text after another line out, where both are there.
func dropFrom(document, after, text string) string {
	head, tail, found := strings.Cut(document, after)
	if !found {
		return document
	}
	lines := strings.SplitAfter(tail, "\n")
	for i, line := range lines {
		if strings.Contains(line, text) {
			return head + after + strings.Join(append(lines[:i:i], lines[i+1:]...), "")
		}
	}
	return document
}

// A lease that Akash's provider deployed, of which the ledger knows nothing, shows as one of ours.
func TestLeasesOfAkashsProvider(t *testing.T) {
	t.Parallel()
	d, kubelet := newDeployment(), harness.StartKubelet(t)
	if err := harness.Kubectl(t.Context(), asAkash(d.render(t, "1")), nil, "create", "--field-manager=provider-services", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	ns := d.id.Namespace()
	web, db := harness.Pods(t, ns, "web", 1), harness.Pods(t, ns, "db", 1)
	if v := web[0].Labels["akash.network/manifest.resource.version"]; v != "77" || web[0].Labels[lease.LabelOwner] != "" {
		t.Fatalf("the pod is not as Akash's provider makes it: %v", web[0].Labels)
	}
	d.shows(t, "active", "0/2", "")
	kubelet.Runs(t, append(web, db...)...)
	d.shows(t, "complete", "2/2", "")
	kubelet.Prints(web[0], "hello\n")
	sameLines(t, harness.Run(t.Context(), "logs", d.id.String(), "--service", "web").Exits(t, 0), "hello")
	harness.Run(t.Context(), "events", d.id.String(), "--service", "web").Exits(t, 0).Prints(t, "ScalingReplicaSet")
	harness.Run(t.Context(), "status", d.id.Group().String()).Exits(t, 0).Prints(t, `"available": 1`)
}
