//go:build linux

// Package bench measures the program beside helm, kustomize, kubectl, flux and the API server itself: the same work, on the
// same machine, in one run. Ratios of paired runs are what counts: run k of ours beside run k of the other.
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

var (
	runs     = flag.Int("runs", 5, "how many paired runs there are of what is judged")
	smallest = flag.Bool("smallest", false, "run each benchmark once, at its smallest size, without programs that are not built")
)

func TestMain(m *testing.M) {
	if flag.Parse(); *smallest {
		*runs = 1
	}
	code := m.Run()
	err := stopShared()
	if *recordTo != "" && code == 0 && err == nil {
		err = writeRecord()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// size is how much there is of something; few with -smallest.
func size(full, few int) int {
	if *smallest {
		return few
	}
	return full
}

// sizes are four, each twice the one before it.
func sizes(largest int) []int {
	n := size(largest, 8)
	return []int{n / 8, n / 4, n / 2, n}
}

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
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", cache+"/bench/", "./measure", "./startup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w: %s", err, out)
	}
	return cache + "/bench", err
})

// tool returns where a program is that `make bench` has built; with -smallest it may be nowhere, and then it is not measured.
func tool(b *testing.B, name string) string {
	b.Helper()
	path, err := programs.Path(name)
	if *smallest && err != nil {
		return ""
	}
	check(b, err)
	return path
}

// plugin returns the program that is measured: the one that BENCH_PROGRAM names, or what `make test` or `make build` has made.
func plugin(b *testing.B) string {
	b.Helper()
	root, err := programs.Root()
	check(b, err)
	return cmp.Or(os.Getenv("BENCH_PROGRAM"), filepath.Join(cmp.Or(os.Getenv("AKASH_NET_BIN"), filepath.Join(root, "bin")), "kubectl-akash_net"))
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (p program) missing() bool { return len(p.args) > 0 && p.args[0] == "" }

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
// runs of each; none of a program that is missing.
func alternate(b *testing.B, n int, all ...program) [][]usage {
	b.Helper()
	out := make([][]usage, len(all))
	for range n {
		for i, p := range all {
			if !p.missing() {
				out[i] = append(out[i], p.measure(b))
			}
		}
	}
	return out
}

// compare prints the medians of the runs of programs.
func compare(b *testing.B, all []program, runs [][]usage) {
	b.Helper()
	for i, p := range all {
		if len(runs[i]) > 0 {
			show(b, p.name, median(runs[i]))
		}
	}
}

// grow measures a command of one, and of four sizes, and records how its time and its memory grow. program prepares a size.
func grow(b *testing.B, name string, n, largest int, program func(size int) program, figures ...int) {
	b.Helper()
	of := func(size int) usage { return median(alternate(b, min(n, *runs), program(size))[0]) }
	base, at := of(1), sizes(largest)
	var found []usage
	for _, size := range at {
		found = append(found, of(size))
	}
	grown(b, name, base, at, found, figures...)
}

// grown records what work took at four sizes, beside a base.
func grown(b *testing.B, name string, base usage, at []int, found []usage, figures ...int) {
	b.Helper()
	for i, n := range at {
		show(b, fmt.Sprint(name, " of ", n), found[i])
	}
	for _, f := range figures {
		c := curve{Name: name, Unit: units[f], Base: round(base[f]), Sizes: at}
		for _, u := range found {
			c.Values = append(c.Values, round(u[f]))
		}
		measured.Curves = append(measured.Curves, c)
	}
}

// ratios divides a figure of each run by that of its pair.
func ratios(of, by []usage, figure int) (out []float64) {
	for k := range min(len(of), len(by)) {
		out = append(out, of[k][figure]/by[k][figure])
	}
	return out
}

// beyond is what a figure of each run is beyond that of its pair, a piece of n.
func beyond(of, base []usage, figure int, n, unit float64) (out []float64) {
	for k := range of {
		out = append(out, (of[k][figure]-base[k][figure])*unit/n)
	}
	return out
}

// each figure of runs.
func figures(runs []usage, figure int) (out []float64) {
	for _, u := range runs {
		out = append(out, u[figure])
	}
	return out
}

// median takes the median of each figure.
func median(runs []usage) (u usage) {
	for i := range u {
		u[i] = middle(figures(runs, i))
	}
	return u
}

// show prints a line with what was measured.
func show(b *testing.B, name string, u usage) {
	b.Run(name, func(b *testing.B) {
		b.ReportMetric(0, "ns/op") // is not printed
		for i, unit := range units {
			if u[i] > 0 {
				b.ReportMetric(u[i], unit)
			}
		}
	})
}

// judge records a figure with its goal, "at least" or "at most", or without one, and prints it. A goal that is not kept is no failure.
func judge(name, unit, bound string, goal float64, samples []float64) {
	if len(samples) == 0 {
		return // there was nobody to compare with
	}
	for i, v := range samples {
		samples[i] = round(v)
	}
	r := row{name, unit, bound, goal, samples}
	measured.Rows = append(measured.Rows, r)
	least, median, most := r.spread()
	said, verdict := r.goal()
	fmt.Printf("# %-5s %s: %.4g (%.4g to %.4g) %s; %s\n", verdict, name, median, least, most, unit, cmp.Or(said, "no goal"))
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
