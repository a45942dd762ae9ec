//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Each lease is four objects in the cluster: a namespace, a claim, a ProviderHost, an Ingress.
const (
	applied       = 1000
	appliedLeases = applied / 4
)

// writer is a way to bring the leases into the cluster.
type writer struct {
	name string
	program
	// first and again are the requests of the two runs.
	first, again []request
	// new and unchanged are what the measured runs took.
	new, unchanged []usage
}

// apply applies new objects, then the same ones again, with the program, kubectl and flux, and
// makes the program's requests in a bare loop.
func (b *bench) apply(ctx context.Context) (err error) {
	c, err := b.startCluster(ctx)
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err != nil {
		return err
	}
	writers, err := b.writers(c)
	if err != nil {
		return err
	}
	// One run of each through a proxy that counts; it also warms the API server up.
	for _, w := range writers {
		if err := b.rehearse(ctx, c, w); err != nil {
			return err
		}
	}
	bare, err := newReplay(c, writers[0].first, appliedLeases)
	if err != nil {
		return err
	}
	var loop []usage
	for range b.runs {
		for _, w := range writers {
			if err := b.compete(ctx, c, w); err != nil {
				return err
			}
		}
		if err := c.clear(ctx, appliedLeases); err != nil {
			return err
		}
		took, err := bare.run(ctx)
		if err != nil {
			return err
		}
		loop = append(loop, usage{Wall: took})
	}
	b.reportNew(writers, median(loop).Wall)
	b.reportUnchanged(writers)
	return nil
}

func (b *bench) writers(c *system) ([]*writer, error) {
	leases, objects := b.file("new.yaml"), b.file("new-objects.yaml")
	if err := writeDefinitions(leases, appliedLeases); err != nil {
		return nil, err
	}
	err := writeObjects(objects, appliedLeases)
	return []*writer{
		{name: "kubectl akash-net apply", program: program{
			name: "apply", args: []string{b.tools.plugin, "apply", "-f", leases, fmt.Sprint("--concurrency=", concurrency)}}},
		{name: "kubectl apply --server-side", program: program{
			name: "kubectl", args: []string{b.tools.kubectl, "apply", "--server-side", "-f", objects}}},
		{name: "flux ssa ApplyAll", program: program{
			name: "flux", args: []string{b.tools.flux, "-kubeconfig", c.Kubeconfig, "-f", objects, fmt.Sprint("-concurrency=", concurrency)}}},
	}, err
}

// rehearse runs a writer twice on an empty cluster and counts requests and objects.
func (b *bench) rehearse(ctx context.Context, c *system, w *writer) error {
	if err := c.clear(ctx, appliedLeases); err != nil {
		return err
	}
	var err error
	copied := func() program {
		p := w.program
		p.args = append([]string{}, p.args...)
		return p
	}
	if w.first, err = b.record(ctx, c, copied()); err != nil {
		return err
	}
	if w.again, err = b.record(ctx, c, copied()); err != nil {
		return err
	}
	n, err := c.count(ctx)
	if err == nil && n != applied {
		err = fmt.Errorf("%s left %d objects in the cluster, not %d", w.name, n, applied)
	}
	return err
}

// compete measures a writer on an empty cluster, and once more when nothing has to change.
func (b *bench) compete(ctx context.Context, c *system, w *writer) error {
	if err := c.clear(ctx, appliedLeases); err != nil {
		return err
	}
	p := w.program
	p.env = c.env()
	first, err := b.measure(ctx, p)
	if err != nil {
		return err
	}
	again, err := b.measure(ctx, p)
	w.new, w.unchanged = append(w.new, first), append(w.unchanged, again)
	return err
}

func (b *bench) reportNew(writers []*writer, loop time.Duration) {
	b.report.section(fmt.Sprintf("Apply %d new objects (%d leases)", applied, appliedLeases),
		fmt.Sprintf("Each lease is a namespace, a claim, a ProviderHost and an Ingress; kubectl and flux get the same objects as a file. The program announces itself before its first write, and takes that back at its end. All have %d requests under way at a time but kubectl, which has one. The bare loop makes the program's requests again, from a running process.", concurrency),
		"program", "wall", "processor", "peak", "requests", "objects/s", "requests/s", "wall / ours")
	ours := median(writers[0].new).Wall
	rates := func(wall time.Duration, requests int) []string {
		return []string{fmt.Sprint(requests), fmt.Sprintf("%.0f", applied/wall.Seconds()), fmt.Sprintf("%.0f", float64(requests)/wall.Seconds()), figure(times(wall, ours), "")}
	}
	for _, w := range writers {
		u := median(w.new)
		b.report.usage(w.name, u, rates(u.Wall, len(w.first))...)
	}
	b.report.usage("bare loop of the same requests", usage{Wall: loop}, rates(loop, len(writers[0].first))...)
	faster := min(median(writers[1].new).Wall, median(writers[2].new).Wall)
	b.report.atLeast("apply new: times faster than the faster of kubectl and flux", times(faster, ours), 2)
	b.report.atLeast("apply new: part of the speed of a bare loop of its requests", times(loop, ours), 0.8)
}

func (b *bench) reportUnchanged(writers []*writer) {
	b.report.section(fmt.Sprintf("Apply %d unchanged objects", applied), "The same command again.",
		"program", "wall", "processor", "peak", "requests", "of these, writes", "wall / ours")
	ours := median(writers[0].unchanged).Wall
	for _, w := range writers {
		u := median(w.unchanged)
		b.report.usage(w.name, u, fmt.Sprint(len(w.again)), fmt.Sprint(writes(w.again)), figure(times(u.Wall, ours), ""))
	}
	b.report.atLeast("apply unchanged: times faster than kubectl apply --server-side", times(median(writers[1].unchanged).Wall, ours), 20)
	b.report.atLeast("apply unchanged: times faster than flux's ssa", times(median(writers[2].unchanged).Wall, ours), 1)
}
