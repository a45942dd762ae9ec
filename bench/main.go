//go:build linux

// Command bench measures the program beside helm, kustomize, kubectl, flux and the API server
// itself: the same work, on the same machine, in one run. Ratios are what counts. They are printed
// with their budgets and written to bench/results. A missed budget is no failure of the command.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// bench is one run of the benchmarks.
type bench struct {
	root  string // of the repository
	dir   string // for inputs and outputs; removed at the end
	tools tools
	runs  int
	// leases are rendered, and a hundred times as many for the memory that one takes.
	leases int
	// claims are what state is asked about.
	claims int
	report findings
}

// point is one comparison.
type point struct {
	name string
	run  func(*bench, context.Context) error
	// others is true where helm, kustomize or flux runs, which take minutes to build.
	others bool
}

var points = []point{
	{"start", (*bench).start, false},
	{"render", (*bench).render, true},
	{"workloads", (*bench).workloads, true},
	{"memory", (*bench).memory, false},
	{"apply", (*bench).apply, true},
	{"state", (*bench).state, false},
	{"admission", (*bench).admission, false},
	{"claims", (*bench).contend, false},
	{"resources", (*bench).resources, false},
	{"orders", (*bench).orders, false},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	only := flag.String("only", "", "the comparisons to make: "+strings.Join(names(), ","))
	out := flag.String("o", "", "the file for the results (bench/results/DATE.md where all comparisons are made)")
	b := &bench{}
	program := flag.String("program", "", "the program that is measured (bin/kubectl-akash_net)")
	flag.IntVar(&b.runs, "runs", 3, "how often each program runs; medians count")
	flag.IntVar(&b.leases, "leases", 1000, "how many leases are rendered")
	flag.IntVar(&b.claims, "claims", 20000, "how many claims state is asked about")
	flag.Parse()
	for _, name := range strings.FieldsFunc(*only, isComma) {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("-only: there is no comparison %q", name)
		}
	}
	if b.root, err = programs.Root(); err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(points), func(p point) bool {
		return *only != "" && !slices.Contains(strings.FieldsFunc(*only, isComma), p.name)
	})
	others := slices.ContainsFunc(chosen, func(p point) bool { return p.others })
	if b.tools, err = build(ctx, b.root, *program, others); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "akash-net-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // a leftover folder is harmless
	b.report.machine = machine(ctx)
	for _, p := range chosen {
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	fmt.Println()
	b.report.verdicts(os.Stdout)
	if *only != "" && *out == "" {
		return nil
	}
	return b.save(cmp.Or(*out, filepath.Join(b.root, "bench", "results", time.Now().UTC().Format(time.DateOnly)+".md")))
}

func (b *bench) save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.report.markdown()), 0o600)
}

// file is a path for an input or an output.
func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

func names() []string {
	out := make([]string, 0, len(points))
	for _, p := range points {
		out = append(out, p.name)
	}
	return out
}

func isComma(r rune) bool { return r == ',' }
