//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// render renders the same leases with the program, with helm and with kustomize.
func (b *bench) render(ctx context.Context) error {
	ours, helm, kustomize, err := b.renderers(ctx)
	if err != nil {
		return err
	}
	// kustomize takes so long that a few runs of it are enough.
	quick, err := b.alternate(ctx, 3*b.runs, ours, helm)
	if err != nil {
		return err
	}
	slow, err := b.alternate(ctx, b.runs, kustomize)
	if err != nil {
		return err
	}
	mine, theirs, last := median(quick[0]), median(quick[1]), median(slow[0])
	b.report.section(fmt.Sprintf("Render %d leases (%d objects)", b.leases, 2*b.leases),
		"The objects were compared and are the same. helm has the leases as values of a small chart, kustomize the finished objects as one resource; its output is sorted.",
		"program", "wall", "processor", "peak", "wall / ours")
	b.report.usage("kubectl akash-net render", mine, "1")
	b.report.usage("helm template", theirs, figure(times(theirs.Wall, mine.Wall), ""))
	b.report.usage("kustomize build", last, figure(times(last.Wall, mine.Wall), ""))
	b.report.atLeast("render: times faster than helm template", times(theirs.Wall, mine.Wall), 5)
	b.report.atLeast("render: times faster than kustomize build", times(last.Wall, mine.Wall), 100)
	return nil
}

// renderers prepares the inputs, and makes sure that all programs make the same objects of them.
func (b *bench) renderers(ctx context.Context) (ours, helm, kustomize program, err error) {
	leases, values, folder := b.file("leases.yaml"), b.file("values.yaml"), b.file("kustomize")
	rendered := b.file("rendered.yaml")
	ours = program{name: "render", args: []string{b.tools.plugin, "render", "-f", leases}, stdout: rendered}
	helm = program{name: "helm", args: []string{b.tools.helm, "template", "leases", b.root + "/bench/chart", "--values", values}, stdout: b.file("helm.yaml")}
	kustomize = program{name: "kustomize", args: []string{b.tools.kustomize, "build", folder}, stdout: b.file("kustomized.yaml")}
	if err = writeDefinitions(leases, b.leases); err != nil {
		return
	}
	if err = writeValues(values, b.leases); err != nil {
		return
	}
	var want map[string]any
	for _, p := range []program{ours, helm, kustomize} {
		if p.name == kustomize.name {
			if err = writeKustomization(folder, rendered); err != nil {
				return
			}
		}
		if _, err = b.measure(ctx, p); err != nil {
			return
		}
		var got map[string]any
		if got, err = objectsIn(p.stdout); err != nil {
			return
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 2*b.leases {
			err = fmt.Errorf("%s makes %d objects, and they differ:\n%s", p.name, len(got), diff[:min(len(diff), 2000)])
			return
		}
	}
	ours.stdout, helm.stdout, kustomize.stdout = "", "", ""
	return
}

// objectsIn are the objects of a file of YAML documents, by kind, namespace and name.
func objectsIn(path string) (map[string]any, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	out := map[string]any{}
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 1<<16); ; {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case err == io.EOF: //nolint:errorlint // the decoder returns it as it is
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case len(o.Object) > 0:
			out[strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")] = o.Object
		}
	}
}

// memory renders a hundred times as many leases: what one of them takes beyond the base.
func (b *bench) memory(ctx context.Context) error {
	few, many := b.file("few.yaml"), b.file("many.yaml")
	if err := writeDefinitions(few, b.leases); err != nil {
		return err
	}
	if err := writeDefinitions(many, 100*b.leases); err != nil {
		return err
	}
	runs, err := b.alternate(ctx, b.runs,
		program{name: "render", args: []string{b.tools.plugin, "render", "-f", few}},
		program{name: "render", args: []string{b.tools.plugin, "render", "-f", many}})
	if err != nil {
		return err
	}
	base, large := median(runs[0]), median(runs[1])
	perLease := float64(large.Peak-base.Peak) / float64(99*b.leases)
	b.report.section("Memory of many leases", "The base is the peak with the first number of leases.", "leases", "wall", "processor", "peak", "bytes a lease beyond the base")
	b.report.usage(fmt.Sprint(b.leases), base, "")
	b.report.usage(fmt.Sprint(100*b.leases), large, fmt.Sprintf("%.0f", perLease))
	b.report.atMost(fmt.Sprintf("render %d leases: memory a lease beyond the base", 100*b.leases), perLease, 200, " bytes")
	return nil
}
