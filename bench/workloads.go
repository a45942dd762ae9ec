//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// runs is what the service of a definition runs, below its exposes, and the group that it belongs to.
const (
	inGroup = "  group: dcloud\n  services:\n"
	runs    = `    workload:
      image: registry.example.com/shop:1
      env: [MODE=production]
      resources:
        id: 1
        cpu: 500m
        memory: 512Mi
        storage:
        - size: 1Gi
`
)

// objectsOfWorkload are those of a lease with one service that runs: Namespace, Manifest, NetworkPolicy, Deployment, Service,
// ProviderHost, Ingress.
const objectsOfWorkload = 7

// workloads renders what leases run, and their routes, with the program and with helm.
func (b *bench) workloads(ctx context.Context) error {
	leases, values := b.file("workloads.yaml"), b.file("workload-values.yaml")
	if err := writeRunning(leases, b.leases); err != nil {
		return err
	}
	if err := writeRunningValues(ctx, leases, values); err != nil {
		return err
	}
	ours := program{name: "render --workloads", args: []string{b.tools.plugin, "render", "--workloads", "-f", leases}, stdout: b.file("workloads.out")}
	helm := program{name: "helm", args: []string{b.tools.helm, "template", "leases", b.root + "/bench/chart-workloads", "--values", values}, stdout: b.file("workloads-helm.out")}
	if err := b.sameObjects(ctx, ours, helm); err != nil {
		return err
	}
	ours.stdout, helm.stdout = "", ""
	found, err := b.alternate(ctx, 3*b.runs, ours, helm)
	if err != nil {
		return err
	}
	mine, theirs := median(found[0]), median(found[1])
	b.report.section(fmt.Sprintf("Render what %d leases run (%d objects)", b.leases, objectsOfWorkload*b.leases),
		"Each lease is a namespace, a Manifest, a NetworkPolicy, a Deployment, a Service, a ProviderHost and an Ingress. The objects were compared and are the same. helm has the leases as values of a chart whose templates are these objects.",
		"program", "wall", "processor", "peak", "wall / ours")
	b.report.usage("kubectl akash-net render --workloads", mine, "1")
	b.report.usage("helm template", theirs, figure(times(theirs.Wall, mine.Wall), ""))
	b.report.atLeast("render --workloads: times faster than helm template", times(theirs.Wall, mine.Wall), 5)
	return nil
}

// sameObjects makes sure that both programs make the same objects.
func (b *bench) sameObjects(ctx context.Context, ours, theirs program) error {
	var made [2]map[string]any
	for i, p := range []program{ours, theirs} {
		if _, err := b.measure(ctx, p); err != nil {
			return err
		}
		var err error
		if made[i], err = objectsIn(p.stdout); err != nil {
			return err
		}
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" || len(made[0]) != objectsOfWorkload*b.leases {
		return fmt.Errorf("%s makes %d objects, and they differ from %s's:\n%s", theirs.name, len(made[1]), ours.name, diff[:min(len(diff), 2000)])
	}
	return nil
}

// writeRunning writes the leases 0 to n, each with a service that runs, into one file.
func writeRunning(path string, n int) error {
	text := strings.Replace(document, "  services:\n", inGroup, 1) + runs
	return write(path, func(w *bufio.Writer) error {
		for i := range n {
			if i > 0 {
				fmt.Fprintln(w, "---")
			}
			d := definition(i)
			fmt.Fprintf(w, text, d.Name, d.Lease.Owner, d.Lease.DSeq, d.Lease.Provider, d.Services[0].Expose[0].Hosts[0].Name)
		}
		return nil
	})
}

// writeRunningValues writes the leases of a file as values of the chart, with what it cannot compute.
func writeRunningValues(ctx context.Context, leases, values string) error {
	file, err := os.Open(leases)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	return write(values, func(w *bufio.Writer) error {
		fmt.Fprintln(w, "leases:")
		limits := config.Default().Limits
		problems, err := input.Read(ctx, file, leases, input.Options{DocumentSize: limits.DocumentSize, Workloads: true}, func(d *lease.Definition) error {
			id, host := d.Lease, d.Services[0].Expose[0].Hosts[0].Name
			fmt.Fprintf(w, "- owner: %s\n  dseq: %d\n  provider: %s\n  host: %s\n  namespace: %s\n  definition: %s\n", id.Owner, id.DSeq, id.Provider, host, id.Namespace(), d.Hash)
			return nil
		})
		if err == nil && problems.Failed() {
			err = problems.Errors()
		}
		return err
	})
}
