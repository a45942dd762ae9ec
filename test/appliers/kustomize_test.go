package appliers_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const shopLease = `
spec:
  lease: {owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, dseq: 8438017, gseq: 1, oseq: 1, provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0}
  services:
  - name: web
    expose:
    - {port: 80, global: true, hosts: [HOST]}
`

// kustomize builds a folder with a kustomization, in which the program is a function.
func kustomize(t *testing.T, host, kustomization string) harness.Result {
	t.Helper()
	path, err := programs.Path("kustomize")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	function := "\n    config.kubernetes.io/function: |\n      exec: {path: " + filepath.Join(harness.Binaries(), harness.Program) + ", args: [render]}"
	definition := "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata:\n  name: shop\n  annotations:\n    config.kubernetes.io/local-config: \"true\""
	r := repository{}
	for name, text := range map[string]string{
		"kustomization.yaml": kustomization,
		"shop.yaml":          definition + strings.ReplaceAll(shopLease, "HOST", host),
		"generator.yaml":     definition + function + strings.ReplaceAll(shopLease, "HOST", host),
		"provider.yaml":      "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata:\n  name: provider\n  annotations:" + function + "\nspec: {ingress: {className: web}}\n",
		"mine.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\ndata: {a: b}\n",
	} {
		r.write(t, filepath.Join(dir, name), text)
	}
	return harness.Finish(exec.CommandContext(t.Context(), path, "build", "--enable-alpha-plugins", "--enable-exec", dir))
}

// kindsOf returns the kinds of a stream of objects.
func kindsOf(t *testing.T, stream string) string {
	t.Helper()
	var kinds []string
	for _, text := range strings.Split(stream, "\n---\n") {
		var o struct{ Kind string }
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, o.Kind)
	}
	return strings.Join(kinds, " ")
}

// kustomize gets the objects of leases from the program, as a generator and as a transformer: once, beside what the user has, and
// without the definitions.
func TestKustomize(t *testing.T) {
	t.Parallel()
	for name, kustomization := range map[string]string{
		"generator":   "resources: [mine.yaml]\ngenerators: [generator.yaml]\n",
		"transformer": "resources: [mine.yaml, shop.yaml]\ntransformers: [provider.yaml]\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := kustomize(t, "shop.example.com", kustomization).Exits(t, 0)
			if got, want := kindsOf(t, r.Stdout), "ConfigMap ProviderHost Ingress"; got != want {
				t.Errorf("the objects are %s, want %s: %s", got, want, r)
			}
			if name == "transformer" {
				r.Prints(t, "ingressClassName: web")
			}
			bad := kustomize(t, "BAD_", kustomization).Says(t, `spec.services[0].expose[0].hosts[0]: "BAD_" is not a host name`)
			if bad.Code == 0 || bad.Stdout != "" {
				t.Errorf("an invalid definition does not end the build: %s", bad)
			}
		})
	}
	if r := kustomize(t, "shop.example.com", "resources: [mine.yaml]\ntransformers: [provider.yaml]\n"); r.Code == 0 || r.Stdout != "" {
		t.Errorf("a build without leases is not refused: %s", r)
	}
}
