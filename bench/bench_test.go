//go:build linux

// Package bench measures the program beside helm, kustomize, kubectl, flux and the API server itself: the same work, on the
// same machine, in one run. Ratios are what counts. They are printed with their budgets; a missed budget is no failure.
package bench

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

var runs = flag.Int("runs", 3, "how often each program runs; medians count")

// program is a command line that is measured.
type program struct {
	name string
	args []string
	// kubeconfig selects a cluster; stdout is a file for the output, which is else thrown away.
	kubeconfig, stdout string
}

// usage is what a run of a program took, in units.
type usage [3]float64

const wall, cpu, peak = 0, 1, 2

var units = [3]string{"s", "cpu-s", "MiB"}

// helpers builds the programs of this folder, and returns where they are.
var helpers = sync.OnceValues(func() (string, error) {
	cache, err := programs.Cache()
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", cache+"/bin/", "./measure", "./startup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w: %s", err, out)
	}
	return cache + "/bin", err
})

// tool returns where a program is that `make bench` has built.
func tool(b *testing.B, name string) string {
	b.Helper()
	path, err := programs.Path(name)
	check(b, err)
	return path
}

// plugin returns the program that is measured: what `make build` has made, or what BENCH_PROGRAM names.
func plugin(b *testing.B) string {
	b.Helper()
	root, err := programs.Root()
	check(b, err)
	return cmp.Or(os.Getenv("BENCH_PROGRAM"), filepath.Join(root, "bin", "kubectl-akash_net"))
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// measure runs a program to its end.
func (p program) measure(b *testing.B) (u usage) {
	b.Helper()
	bin, err := helpers()
	check(b, err)
	stdout, err := os.Create(cmp.Or(p.stdout, os.DevNull))
	check(b, err)
	defer stdout.Close() //nolint:errcheck // the program has its own handle
	r, w, err := os.Pipe()
	check(b, err)
	defer r.Close() //nolint:errcheck // only read
	var stderr strings.Builder
	cmd := exec.CommandContext(b.Context(), filepath.Join(bin, "measure"), p.args...)
	cmd.Env = environment("KUBECONFIG=" + p.kubeconfig)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdout, &stderr, []*os.File{w}
	err = cmd.Run()
	_ = w.Close()
	if err != nil {
		b.Fatalf("%s: %v: %.2000s", p.name, err, stderr.String())
	}
	_, err = fmt.Fscan(r, &u[wall], &u[cpu], &u[peak])
	check(b, err)
	return u
}

// environment is that of a user: the Go programs collect garbage as they do by default, whatever make says of its own.
func environment(more ...string) []string {
	ours := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") })
	return append(ours, more...)
}

// alternate runs the programs in turn, n times, so that whatever else the machine does meets all of them. It returns the
// runs of each.
func alternate(b *testing.B, n int, all ...program) [][]usage {
	b.Helper()
	out := make([][]usage, len(all))
	for range n {
		for i, p := range all {
			out[i] = append(out[i], p.measure(b))
		}
	}
	return out
}

// compare reports the medians of the runs of programs, and how many times the wall of the first each takes.
func compare(b *testing.B, all []program, runs [][]usage) (times []float64) {
	b.Helper()
	for i, p := range all {
		u := median(runs[i])
		times = append(times, u[wall]/median(runs[0])[wall])
		show(b, p.name, u, metric{times[i], "times-ours"})
	}
	return times
}

// median takes the median of each figure.
func median(runs []usage) (u usage) {
	for i := range u {
		all := slices.Clone(runs)
		slices.SortFunc(all, func(a, b usage) int { return cmp.Compare(a[i], b[i]) })
		u[i] = all[len(all)/2][i]
	}
	return u
}

type metric struct {
	value float64
	unit  string
}

// show prints a line with what was measured.
func show(b *testing.B, name string, u usage, more ...metric) {
	b.Run(name, func(b *testing.B) {
		b.ReportMetric(0, "ns/op") // is not printed
		for i, unit := range units {
			if u[i] > 0 {
				b.ReportMetric(u[i], unit)
			}
		}
		for _, m := range more {
			b.ReportMetric(m.value, m.unit)
		}
	})
}

// atLeast and atMost print a figure with its budget.
func atLeast(what string, got, budget float64) { judge(what, got, "at least", budget, got >= budget) }

func atMost(what string, got, budget float64) { judge(what, got, "at most", budget, got <= budget) }

func judge(what string, got float64, bound string, budget float64, ok bool) {
	fmt.Printf("# %-5s %s: %.4g, %s %.4g\n", map[bool]string{true: "kept", false: "short"}[ok], what, got, bound, budget)
}

// concurrency is how many requests are under way at a time: the program's default, and the same for flux and for bare loops.
const concurrency = 16

// each calls work for 0 to n, several at a time.
func each(b *testing.B, n int, work func(context.Context, int) error) {
	b.Helper()
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() error { return work(ctx, i) })
	}
	check(b, group.Wait())
}
