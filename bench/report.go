//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// findings are what a run has found so far.
type findings struct {
	machine  []string
	sections []string
	lines    []string
}

// section begins a comparison, with its table's columns.
func (r *findings) section(title, text string, columns ...string) {
	r.sections = append(r.sections, fmt.Sprintf("\n## %s\n\n%s\n\n| %s |\n|%s\n", title, text,
		strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns))))
	fmt.Printf("\n%s\n", title)
}

// row adds a line to the table.
func (r *findings) row(cells ...string) {
	r.sections[len(r.sections)-1] += "| " + strings.Join(cells, " | ") + " |\n"
	fmt.Printf("  %-44s %s\n", cells[0], strings.Join(cells[1:], "  "))
}

// usage adds what a program took.
func (r *findings) usage(name string, u usage, more ...string) {
	r.row(append([]string{name, seconds(u.Wall), seconds(u.CPU), mebibytes(u.Peak)}, more...)...)
}

// atLeast and atMost judge a figure.
func (r *findings) atLeast(what string, got, budget float64) {
	r.judge(what, got, budget, got >= budget, "at least", "")
}

func (r *findings) atMost(what string, got, budget float64, unit string) {
	r.judge(what, got, budget, got <= budget, "at most", unit)
}

func (r *findings) judge(what string, got, budget float64, ok bool, bound, unit string) {
	verdict := "short"
	if ok {
		verdict = "PASS"
	}
	r.lines = append(r.lines, fmt.Sprintf("%-5s | %s | %s | %s %s", verdict, what, figure(got, unit), bound, figure(budget, unit)))
}

// figure has as many digits as one can rely on.
func figure(f float64, unit string) string {
	if f < 10 {
		return fmt.Sprintf("%.2f%s", f, unit)
	}
	return fmt.Sprintf("%.0f%s", f, unit)
}

// verdicts prints the budgets.
func (r *findings) verdicts(w io.Writer) {
	for _, line := range r.lines {
		fmt.Fprintln(w, strings.ReplaceAll(line, " | ", "  "))
	}
}

// markdown is the whole report.
func (r *findings) markdown() string {
	var s strings.Builder
	fmt.Fprintf(&s, "# Benchmarks, %s\n\nMade by `make bench`, all in one run on one machine. Walls and processor times are in seconds, medians of the runs; the peak is the largest resident set.\n\n", time.Now().UTC().Format(time.DateOnly))
	for _, m := range r.machine {
		fmt.Fprintf(&s, "- %s\n", m)
	}
	fmt.Fprint(&s, "\n## Budgets\n\n| | what | measured | budget |\n| --- | --- | --- | --- |\n")
	for _, line := range r.lines {
		fmt.Fprintf(&s, "| %s |\n", line)
	}
	for _, section := range r.sections {
		fmt.Fprint(&s, section)
	}
	return s.String()
}

// machine describes where the run is made, without naming it.
func machine(ctx context.Context) []string {
	kernel, err := exec.CommandContext(ctx, "uname", "-sr").Output()
	if err != nil {
		kernel = []byte(runtime.GOOS)
	}
	return []string{
		fmt.Sprintf("processor: %s, %d cores", procField("/proc/cpuinfo", "model name"), runtime.NumCPU()),
		"memory: " + procField("/proc/meminfo", "MemTotal"),
		"kernel: " + strings.TrimSpace(string(kernel)),
		"Go: " + runtime.Version() + " " + runtime.GOARCH,
	}
}

func procField(path, name string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// seconds and mebibytes leave out what was not measured.
func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", d.Seconds())
}

func mebibytes(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}

// times is how many times b goes into a.
func times(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }
