//go:build linux

package main

import "context"

// starts is how often the start is measured: it is short, and the smallest counts.
const starts = 30

// start compares `version` with the least that a plugin can be.
func (b *bench) start(ctx context.Context) error {
	runs, err := b.alternate(ctx, starts,
		program{name: "version", args: []string{b.tools.plugin, "version"}},
		program{name: "startup", args: []string{b.tools.startup, "version"}})
	if err != nil {
		return err
	}
	b.report.section("Start", "`version`, beside a program with cobra and cli-runtime's connection flags and nothing else. Medians of 30 runs, and the smallest wall.",
		"program", "wall", "processor", "peak", "smallest wall")
	for i, name := range []string{"kubectl akash-net version", "cobra and ConfigFlags"} {
		b.report.usage(name, median(runs[i]), seconds(fastest(runs[i])))
	}
	b.report.atMost("start: times the wall of a bare cobra program, smallest of 30", times(fastest(runs[0]), fastest(runs[1])), 1.5, "")
	b.report.atMost("start: times the wall of a bare cobra program, median of 30", times(median(runs[0]).Wall, median(runs[1]).Wall), 1.5, "")
	return nil
}
