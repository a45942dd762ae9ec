//go:build linux

package bench

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	textdiff "github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The tenants and the provider of all leases; the addresses are made up, their checksums hold.
var owners = func() (all []string) {
	for i := range 500 {
		all = append(all, leasetest.Wallet(fmt.Sprint("owner ", i)))
	}
	return all
}()

const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

// definition is the lease of a number: one web service with one host.
func definition(i int) *lease.Definition {
	d := &lease.Definition{
		Name:  fmt.Sprintf("shop-%05d", i),
		Lease: lease.ID{Owner: owners[i%len(owners)], DSeq: uint64(8438017 + i), GSeq: 1, OSeq: 1, Provider: provider},
		Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{
			Port: 8080, As: 80, Protocol: lease.TCP, Global: true,
			Hosts: []lease.Host{{Name: fmt.Sprintf("shop-%05d.example.com", i)}},
		}}}},
	}
	d.Hash = lease.Sum(d)
	return d
}

// document is how a user writes the definition, and runs what its service runs.
const (
	document = `---
apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: %s}
spec:
  lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s}
  services:
  - name: web
    expose: [{port: 8080, as: 80, global: true, hosts: [%s]}]
`
	workload = `    workload:
      image: registry.example.com/shop:1
      env: [MODE=production]
      resources: {id: 1, cpu: 500m, memory: 512Mi, storage: [{size: 1Gi}]}
  group: dcloud
`
)

// addressed has an address in place of a host.
var addressed = strings.Replace(document, "as: 80, global: true, hosts: [%s]}]", "as: 25, protocol: TCP, global: true, ip: p%[3]d}]\n  ipEndpoints: [{name: p%[3]d}]", 1)

// file writes a file of the benchmark and returns its path.
func file(b *testing.B, write func(w io.Writer)) string {
	b.Helper()
	var text strings.Builder
	write(&text)
	path := filepath.Join(b.TempDir(), "input.yaml")
	check(b, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// definitions writes the leases 0 to n.
func definitions(b *testing.B, n int, document string) string {
	b.Helper()
	return file(b, func(w io.Writer) {
		for i := range n {
			d := definition(i)
			fmt.Fprintf(w, document, d.Name, d.Lease.Owner, d.Lease.DSeq, d.Lease.Provider, d.Services[0].Expose[0].Hosts[0].Name)
		}
	})
}

// values writes the leases of a file as values of a chart. What the chart cannot compute, the name of the namespace and the
// definition's hashes, are values too.
func values(b *testing.B, leases string, workloads bool) string {
	b.Helper()
	in, err := os.Open(leases)
	check(b, err)
	defer in.Close() //nolint:errcheck // only read
	return file(b, func(w io.Writer) {
		fmt.Fprintln(w, "leases:")
		options := input.Options{DocumentSize: int64(config.Default().Limits.DocumentSize), Workloads: workloads}
		problems, err := input.Read(b.Context(), in, leases, options, func(d *lease.Definition) error {
			id := d.Lease
			_, err := fmt.Fprintf(w, "- {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s, host: %s, service: web, port: 80, namespace: %s, definition: %q, whole: %q}\n",
				id.Owner, id.DSeq, id.Provider, d.Services[0].Expose[0].Hosts[0].Name, id.Namespace(), d.Hash, lease.SumWhole(d))
			return err
		})
		check(b, err)
		if problems.Failed() {
			b.Fatalf("%.2000s", problems)
		}
	})
}

// objects writes the objects that apply makes of the leases 0 to n as documents: namespaces first.
func objects(b *testing.B, n int, write func(io.Writer, any) error) string {
	b.Helper()
	var first, rest []any
	for i := range n {
		d := definition(i)
		first = append(first, corev1.Namespace(d.Lease.Namespace()).WithLabels(state.LeaseNamespaceLabels(d.Lease)))
		rendered, err := render.Lease(d, config.Default(), nil)
		check(b, err)
		rest = append(rest, claimOf(d))
		for _, o := range rendered {
			rest = append(rest, o)
		}
	}
	return file(b, func(w io.Writer) {
		for _, o := range append(first, rest...) {
			fmt.Fprintln(w, "---")
			check(b, write(w, o))
		}
	})
}

// claimOf is the claim on the lease's host, as apply leaves it.
func claimOf(d *lease.Definition) *coordinationv1.LeaseApplyConfiguration {
	cfg := config.Default()
	request, problems := state.NewRequest(d, cfg)
	if len(problems) > 0 {
		panic(problems)
	}
	hold := request.Hosts[0].Hold(request.Lease)
	for i := range hold.Parts {
		hold.Parts[i].Run, hold.Parts[i].Applied = strings.Repeat("a", 13), true // the mark of a command that has ended
	}
	return hold.Claim().Configuration(cfg.LedgerNamespace, hold.Parts)
}

// BenchmarkStart compares `version` with the least that a plugin can be. A start is short, so the smallest counts too.
func BenchmarkStart(b *testing.B) {
	bin, err := helpers()
	check(b, err)
	all := []program{
		{name: "version", args: []string{plugin(b), "version"}},
		{name: "cobra and ConfigFlags", args: []string{filepath.Join(bin, "startup"), "version"}},
	}
	var least, medians [2][]usage
	for range *runs {
		for i, found := range alternate(b, size(20, 2), all...) {
			least[i] = append(least[i], usage{slices.Min(figures(found, wall))})
			medians[i] = append(medians[i], median(found))
		}
	}
	compare(b, all, medians[:])
	judge("start: smallest", "times the wall of a bare cobra program", "at most", 1.25, ratios(least[0], least[1], wall))
	judge("start: median", "times the wall of a bare cobra program", "at most", 1.25, ratios(medians[0], medians[1], wall))
}

// BenchmarkRender renders 1,000 leases, two objects each, with the program, with helm, which has the leases as values of a small
// chart, and with kustomize, which has the finished objects as one resource: the fastest way to hand them over.
func BenchmarkRender(b *testing.B) {
	n, folder := size(1000, 10), b.TempDir()
	render := func(n int) program {
		return program{name: "render", args: []string{plugin(b), "render", "-f", definitions(b, n, document)}}
	}
	ours := render(n)
	ours.stdout = filepath.Join(folder, "leases.yaml")
	helm := program{name: "helm template", args: []string{tool(b, "helm"), "template", "leases", "chart", "--values", values(b, ours.args[3], false)}}
	kustomize := program{name: "kustomize build", args: []string{tool(b, "kustomize"), "build", folder}}
	check(b, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte("resources: [leases.yaml]\n"), 0o600))
	all := []program{ours, helm, kustomize}
	sameObjects(b, 2*n, all[:size(2, 3)]...) // kustomize takes long
	all[0].stdout = ""
	found := alternate(b, *runs, all...)
	compare(b, all, found)
	judge("render: helm", "times faster than helm template", "at least", 8, ratios(found[1], found[0], wall))
	judge("render: kustomize", "times faster than kustomize build", "at least", 150, ratios(found[2], found[0], wall))
	grow(b, "render", 2, 32_000, render, wall, peak)
	many := size(32_000, 20)
	pairs := alternate(b, *runs, render(n), render(many))
	judge("render: memory", "bytes a lease", "at most", 140, beyond(pairs[1], pairs[0], peak, float64(many-n), 1<<20))
}

// BenchmarkWorkloads renders what leases run: a namespace, a Manifest, a NetworkPolicy, a Deployment, a Service, a
// ProviderHost and an Ingress each. helm has the leases as values of a chart whose templates are these objects.
func BenchmarkWorkloads(b *testing.B) {
	render := func(n int) program {
		return program{name: "render --workloads", args: []string{plugin(b), "render", "--workloads", "-f", definitions(b, n, document+workload)}}
	}
	n := size(1000, 10)
	ours := render(n)
	helm := program{name: "helm template", args: []string{tool(b, "helm"), "template", "leases", "chart-workloads", "--values", values(b, ours.args[4], true)}}
	sameObjects(b, 7*n, ours, helm)
	found := alternate(b, *runs, ours, helm)
	compare(b, []program{ours, helm}, found)
	judge("render --workloads: helm", "times faster than helm template", "at least", 7, ratios(found[1], found[0], wall))
	grow(b, "render --workloads", 2, 4000, render, wall, peak)
}

// sameObjects makes sure that all programs make the same objects, n of them.
func sameObjects(b *testing.B, n int, all ...program) {
	b.Helper()
	var want []string
	for _, p := range all {
		if p.missing() {
			continue
		}
		p.stdout = cmp.Or(p.stdout, filepath.Join(b.TempDir(), "objects.yaml"))
		p.measure(b)
		text, err := os.ReadFile(p.stdout)
		check(b, err)
		var got []string
		for document := range strings.SplitSeq("\n"+string(text), "\n---") {
			object, err := yaml.YAMLToJSON([]byte(document))
			check(b, err)
			if string(object) != "null" {
				got = append(got, string(object))
			}
		}
		if slices.Sort(got); want == nil {
			want = got
		}
		if len(got) != n || !slices.Equal(want, got) {
			b.Fatalf("%s makes %d objects, and they differ: %.2000s", p.name, len(got), textdiff.Diff(want, got))
		}
	}
}
