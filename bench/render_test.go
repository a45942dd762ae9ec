//go:build linux

package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// rendered is how many leases are rendered.
const rendered = 1000

// BenchmarkStart compares `version` with the least that a plugin can be. A start is short, so the smallest counts too.
func BenchmarkStart(b *testing.B) {
	bin, err := helpers()
	check(b, err)
	all := []program{
		{name: "version", args: []string{plugin(b), "version"}},
		{name: "cobra and ConfigFlags", args: []string{filepath.Join(bin, "startup"), "version"}},
	}
	found := alternate(b, 10**runs, all...)
	least := func(runs []usage) (least float64) {
		for _, u := range runs {
			if least == 0 || u[wall] < least {
				least = u[wall]
			}
		}
		return least
	}
	atMost("start: times the wall of a bare cobra program, smallest of 30", least(found[0])/least(found[1]), 1.5)
	atMost("start: times the wall of a bare cobra program, median of 30", 1/compare(b, all, found)[1], 1.5)
}

// BenchmarkRender renders leases, two objects each, with the program, with helm, which has the leases as values of a small
// chart, and with kustomize, which has the finished objects as one resource: the fastest way to hand them over.
func BenchmarkRender(b *testing.B) {
	leases, folder := definitions(b, rendered, ""), b.TempDir()
	ours := program{name: "render", args: []string{plugin(b), "render", "-f", leases}, stdout: filepath.Join(folder, "leases.yaml")}
	helm := program{name: "helm template", args: []string{tool(b, "helm"), "template", "leases", "chart", "--values", values(b, leases, false)}}
	kustomize := program{name: "kustomize build", args: []string{tool(b, "kustomize"), "build", folder}}
	check(b, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte("resources: [leases.yaml]\n"), 0o600))
	sameObjects(b, 2*rendered, ours, helm, kustomize)
	ours.stdout = ""
	all := []program{ours, helm, kustomize}
	times := compare(b, all, append(alternate(b, 3**runs, ours, helm), alternate(b, *runs, kustomize)...))
	atLeast("render: times faster than helm template", times[1], 5)
	atLeast("render: times faster than kustomize build", times[2], 100)
}

// BenchmarkWorkloads renders what leases run: a namespace, a Manifest, a NetworkPolicy, a Deployment, a Service, a
// ProviderHost and an Ingress each. helm has the leases as values of a chart whose templates are these objects.
func BenchmarkWorkloads(b *testing.B) {
	leases := definitions(b, rendered, workload)
	all := []program{
		{name: "render --workloads", args: []string{plugin(b), "render", "--workloads", "-f", leases}},
		{name: "helm template", args: []string{tool(b, "helm"), "template", "leases", "chart-workloads", "--values", values(b, leases, true)}},
	}
	sameObjects(b, 7*rendered, all...)
	atLeast("render --workloads: times faster than helm template", compare(b, all, alternate(b, 3**runs, all...))[1], 5)
}

// BenchmarkMemory renders a hundred times as many leases: what one of them takes beyond the base.
func BenchmarkMemory(b *testing.B) {
	all := []program{
		{name: fmt.Sprint(rendered), args: []string{plugin(b), "render", "-f", definitions(b, rendered, "")}},
		{name: fmt.Sprint(100 * rendered), args: []string{plugin(b), "render", "-f", definitions(b, 100*rendered, "")}},
	}
	found := alternate(b, *runs, all...)
	compare(b, all, found)
	atMost("render 100000 leases: bytes a lease beyond the base", (median(found[1])[peak]-median(found[0])[peak])*(1<<20)/(99*rendered), 200)
}

// sameObjects makes sure that all programs make the same objects, n of them.
func sameObjects(b *testing.B, n int, all ...program) {
	b.Helper()
	var want map[string]any
	for _, p := range all {
		if p.stdout == "" {
			p.stdout = filepath.Join(b.TempDir(), "objects.yaml")
		}
		p.measure(b)
		got := objectsIn(b, p.stdout)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) != n {
			b.Fatalf("%s makes %d objects, and they differ:\n%.2000s", p.name, len(got), diff)
		}
	}
}

// objectsIn are the objects of a file of YAML documents, by kind, namespace and name.
func objectsIn(b *testing.B, path string) map[string]any {
	b.Helper()
	in, err := os.Open(path)
	check(b, err)
	defer in.Close() //nolint:errcheck // only read
	out := map[string]any{}
	for decoder := yaml.NewYAMLOrJSONDecoder(in, 1<<16); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		check(b, err)
		if len(o.Object) > 0 {
			out[strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")] = o.Object
		}
	}
}
