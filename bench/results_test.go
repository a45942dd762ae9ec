//go:build linux

package bench

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	textdiff "github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

var (
	recordTo = flag.String("record", "", "the folder that gets a record of this run, and then RESULTS.md and charts of all records")
	update   = flag.Bool("update", false, "write RESULTS.md and charts")
)

// measured is what this run has found.
var measured record

// record is what was measured of a commit, in a file of results/.
type record struct {
	Date, Commit, Machine, Versions string
	Rows                            []row
	Curves                          []curve `json:",omitempty"`
}

// row is a figure with its goal, if it has one, and a sample for each paired run.
type row struct {
	Name, Unit string
	Bound      string  `json:",omitempty"` // "at least" or "at most"
	Goal       float64 `json:",omitempty"`
	Samples    []float64
}

// curve is what a work takes at several sizes, and with nothing to do.
type curve struct {
	Name, Unit string
	Base       float64
	Sizes      []int
	Values     []float64
}

// reasons are why a work grows faster than its size, by its name and unit.
var reasons = map[string]string{
	"apply new, s":          "the record before has 1.04: what the machine varies",
	"reconcile, start, s":   "the record before has 1.18: what the machine varies",
	"state hosts, s":        "the record before has 1.04: what the machine varies",
	"claims, s":             "the record before has 1.01: what the machine varies",
	"check --ledger, cpu-s": "the record before has 1.04: what the machine varies",
	"state --problems, s":   "the record before has 1.03: what the machine varies",
	"state resources, s":    "the first page of 500 pods is beside ten other LISTs, each further one takes 15 to 20 ms: these are 1, 2, 4 and 9, which has 1.06",
	"admission, cpu-s": "n log n, which its sorts take, has 1.09 here; of the rest most are lookups in maps. 1.14 and 1.40 were measured on two days, so the machine " +
		"has a part in it",
}

// limits are what is known of why a row is short of its goal, by its name: measured, unless it is said that it was not.
var limits = map[string]string{
	"apply new: kubectl or flux": "a lease is five writes (namespace, claim, definition, ProviderHost, Ingress), and a command has 13 Events and 24 other requests. " +
		"A bare loop of these requests is 2.7 times faster than the faster peer, so 2.5 leaves 8 % of the time for all that is no request",
	"apply new: bare loop": "the loop knows all bodies beforehand; apply takes 1.0 s of a processor, of two that the API server and etcd use, too. What waits for " +
		"what is in decision 160",
	"apply unchanged: kubectl": "25 times leaves 0.15 s, and the samples reach from 20 to 28 times. A bare loop of the 17 requests takes 0.06 s. Decisions took 46 % " +
		"of the processor time; they take a third less since an unchanged lease takes one, and are made on both processors. 13 % decode LISTs, 8 % read the definitions, 13 % collect garbage",
	"claims: bare applies": "of the 2,050 requests of 16 clients 1,600 are claims; each client reads nine kinds before them, and nine once more after them, which " +
		"shows that nobody serves the hosts, and writes its announcement twice. One of these 450 takes 0.55 of the time of a claim: without the second reading the rate would be 0.90",
	"claims, contended: bare creates": "150 of 1,600 claims are refused, and a bare apply, which a claim is, is 0.71 as fast as a bare create: at most 0.65",
	"reconcile: memory": "of 3,000 leases 69 MiB are live, and the spans that hold them take 116: what stays lies between what a start throws away. GOGC=25 " +
		"takes that to 84, and 66 % more of a processor for a start. 55 MiB are there with one lease, so 200 would leave 14 KB for each, of which 18 are live",
	"start: smallest": "the bare program with all that the plugin imports takes 1.09 to 1.13 times its wall; all of the plugin linked, 54 MB and not 35, the " +
		"rest. Of 2.3 ms 0.3 are the thread that waits for signals, 0.4 blackfriday, which kubectl's help templates bring (without these: 1.29 to 1.33, within the spread)",
	"render: helm": "the YAML library alone, without a key being looked at, takes half of the processor time, start included: 8 times leaves a tenth for decoding, " +
		"checking, rendering and writing. GOGC=400 takes 26 % off and 16 to 26 MiB more, and the row of memory would be missed by more",
	"apply unchanged: flux":     "as beside kubectl",
	"start: median":             "as the smallest",
	"render: kustomize":         "as beside helm",
	"render --workloads: helm":  "as render",
	"check --ledger: processor": "it was 1.89 in the record before; admission, of which nothing has changed, takes 1.30 times what it took then: the machine",
	"render: memory":            "the samples spread by more than what is missing",
	"state: bare lists": "the collector of garbage decides, and the row of memory wants the opposite: without any garbage collected it is 1.07 times the lists, with " +
		"GOGC=50 1.35, with 25 1.59. By default it was 1.06 to 1.29 in four records",
	"state: memory": "what is kept of a claim takes 650 to 900 bytes: 320 for the claim, 224 for its part, the rest their texts. The collector lets that double: GOGC=50 " +
		"makes 1,068 of 1,201, 25 makes 902, and then the lists are missed by more",
	"state --problems": "the LISTs take 0.10 s alone, those of state 0.09. A lease is compared with all that its definition is rendered to, which takes 1.05 ms of " +
		"a processor: 0.6 ms decide, 0.25 read and find, the rest collects garbage. It was 4.4 times before what is found was found beside that",
}

func (r row) spread() (least, median, most float64) {
	return slices.Min(r.Samples), middle(r.Samples), slices.Max(r.Samples)
}

func middle(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// goal says the goal, and whether it is kept.
func (r row) goal() (goal, verdict string) {
	switch m := middle(r.Samples); {
	case r.Bound == "":
		return "", ""
	case r.Bound == "at least" && m >= r.Goal, r.Bound == "at most" && m <= r.Goal:
		verdict = "kept"
	default:
		verdict = "short"
	}
	return fmt.Sprintf("%s %g", r.Bound, r.Goal), verdict
}

func (r row) chart() string {
	return "charts/" + strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(r.Name), "-"), "-") + ".svg"
}

// round keeps four digits.
func round(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return v
}

// exponent is the slope of log(value - base) against log(size), and how it is shown. Where the largest size takes hardly more than nothing to do
// there is none, nor where a size takes less than that.
func (c curve) exponent() (float64, string) {
	var x, y []float64
	for i, v := range c.Values {
		x, y = append(x, math.Log(float64(c.Sizes[i]))), append(y, math.Log(v-c.Base))
	}
	switch e := slope(x, y); {
	case c.Values[len(c.Values)-1] < c.Base*1.1:
		return 0, "does not grow"
	case slices.Min(c.Values) <= c.Base:
		return 0, "unknown: the base is above a value"
	default:
		return e, fmt.Sprintf("%.2f", e)
	}
}

// slope is that of the line through the points, by least squares.
func slope(x, y []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		n, sx, sy, sxx, sxy = n+1, sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// results writes the page and the charts of records, from the oldest to the newest: file names and texts.
func results(records []record) map[string]string {
	var rows, short, growth, above, landings strings.Builder
	last, out := records[len(records)-1], map[string]string{}
	for _, r := range last.Rows {
		least, median, most := r.spread()
		goal, verdict := r.goal()
		fmt.Fprintf(&rows, "| %s | %s | %d | %g | %g | %g | %s | %s |\n", r.Name, r.Unit, len(r.Samples), least, median, most, goal, verdict)
		if verdict == "short" {
			fmt.Fprintf(&short, "- %s: %s.\n", r.Name, cmp.Or(limits[r.Name], "not looked into"))
		}
	}
	for _, c := range last.Curves {
		slope, exponent := c.exponent()
		if slope > 1.05 {
			fmt.Fprintf(&above, "- %s, %s: %s, %s\n", c.Name, c.Unit, exponent, cmp.Or(reasons[c.Name+", "+c.Unit], "without a reason given"))
		}
		fmt.Fprintf(&growth, "| %s | %s | %g | %s | %s | %s |\n", c.Name, c.Unit, c.Base, list(c.Sizes), list(c.Values), exponent)
	}
	var names, heads []string
	for _, r := range slices.Backward(records) {
		for _, row := range r.Rows {
			if !slices.Contains(names, row.Name) {
				names = append(names, row.Name)
			}
		}
		heads = append(heads, fmt.Sprintf("%.10s %s", r.Date, r.Commit))
	}
	for _, name := range names {
		points := make([]*row, len(records))
		for i, r := range records {
			if at := slices.IndexFunc(r.Rows, func(r row) bool { return r.Name == name }); at >= 0 {
				points[i] = &r.Rows[at]
			}
		}
		path, text := chart(records, points)
		out[path] = text
		fmt.Fprintf(&landings, "| [%s](%s) |", name, path)
		for _, r := range slices.Backward(points) {
			if r != nil {
				fmt.Fprintf(&landings, " %g", middle(r.Samples))
			}
			landings.WriteString(" |")
		}
		landings.WriteString("\n")
	}
	const page = "# Results\n\n`make bench` writes this page, the charts and the newest of the [records](results). Where a row has a peer,\n" +
		"a sample is of two runs side by side; else it is of one run.\n\n" +
		"%s, %s, on %s. %s.\n\n| | unit | samples | min | median | max | goal | |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n%s" +
		"\n## Short of the goal\n\n%s" +
		"\n## Growth\n\nThe exponent is the slope of log(value - base) against log(size); base is the same command of one, or with nothing to do.\n\n" +
		"| | unit | base | sizes | values | exponent |\n| --- | --- | --- | --- | --- | --- |\n%s\nAbove 1.05:\n\n%s" +
		"\n## Landings\n\nMedians. Records of before 2026-11-29T22 have one sample, of medians, and leases of two owners.\n\n| | %s |\n| --- |%s\n%s"
	out["RESULTS.md"] = fmt.Sprintf(page, last.Commit, last.Date, last.Machine, last.Versions, &rows, cmp.Or(short.String(), "- nothing\n"), &growth, cmp.Or(above.String(), "- nothing\n"),
		strings.Join(heads, " | "), strings.Repeat(" --- |", len(heads)), &landings)
	return out
}

func list(all any) string { return strings.Trim(fmt.Sprint(all), "[]") }

// chart draws a row over the records: its medians, from the least to the largest sample, and its goal.
func chart(records []record, points []*row) (path, text string) {
	const width, height, left, top = 640, 200, 48, 24
	var newest row
	highest := 1e-9
	for _, r := range points {
		if r != nil {
			newest, highest = *r, max(highest, slices.Max(r.Samples), r.Goal)
		}
	}
	y := func(v float64) float64 { return top + (height-2*top)*(1-v/highest) }
	var line, marks strings.Builder
	for i, r := range points {
		x := left + (width-2*left)*(float64(i)+0.5)/float64(len(points))
		fmt.Fprintf(&marks, `<text x="%.0f" y="%d" text-anchor="middle">%s</text>`+"\n", x, height-6, records[i].Commit)
		if r != nil {
			least, median, most := r.spread()
			fmt.Fprintf(&line, " %.0f,%.1f", x, y(median))
			fmt.Fprintf(&marks, `<path d="M%.0f %.1fV%.1f" stroke="#888"/><circle cx="%.0[1]f" cy="%.1[4]f" r="3" fill="#06c"/><text x="%.0[5]f" y="%.1[6]f">%[7]g</text>`+"\n",
				x, y(least), y(most), y(median), x+6, y(median)-4, median)
		}
	}
	goal, _ := newest.goal()
	if goal != "" {
		fmt.Fprintf(&marks, `<path d="M%d %.1fH%d" stroke="#c33" stroke-dasharray="4 3"/>`+"\n", left, y(newest.Goal), width-left)
	}
	return newest.chart(), fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="4" y="14">%s, %s. Goal: %s</text>
<polyline points="%s" fill="none" stroke="#06c"/>
%s</svg>
`, width, height, newest.Name, newest.Unit, cmp.Or(goal, "none"), strings.TrimSpace(line.String()), &marks)
}

// everything reads the records of a folder, and says what its page and charts are.
func everything(folder string) (map[string]string, error) {
	var all []record
	files, err := filepath.Glob(filepath.Join(folder, "results", "*.json"))
	for _, path := range files {
		var r record
		body, failed := os.ReadFile(path)
		if failed == nil {
			failed = json.Unmarshal(body, &r)
		}
		if failed != nil {
			return nil, fmt.Errorf("%s: %w", path, failed)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.Date, b.Date) })
	return results(all), err
}

// TestResults compares the page and the charts with what the records say, of a small example and of this repository.
func TestResults(t *testing.T) {
	for _, folder := range []string{"testdata", "."} {
		files, err := everything(folder)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			path := filepath.Join(folder, name)
			if *update {
				if err := write(path, want); err != nil {
					t.Fatal(err)
				}
			}
			got, _ := os.ReadFile(path)
			if diff := textdiff.Diff(want, string(got)); diff != "" {
				t.Errorf("%s (-records +file; -update writes it):\n%s", path, diff)
			}
		}
	}
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// writeRecord writes what this run has measured, and the page and the charts of all records.
func writeRecord() error {
	commit, err := exec.Command("git", "describe", "--always", "--exclude", "*", "--abbrev=8", "--dirty").Output()
	if err != nil {
		return err
	}
	processor, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	measured.Date, measured.Commit = time.Now().UTC().Format(time.RFC3339), strings.TrimSpace(string(commit))
	measured.Machine = fmt.Sprintf("%d cores, %s, %s", runtime.NumCPU(), regexp.MustCompile(`model name.*: (.*)`).FindSubmatch(processor)[1], runtime.Version())
	var peers []string
	for _, name := range []string{"etcd", "flux", "helm", "kube-apiserver", "kubectl", "kustomize"} {
		path, err := programs.Path(name)
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return err
		}
		version := info.Main.Version
		if at := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/fluxcd/pkg/ssa" }); name == "flux" {
			version = "ssa " + info.Deps[at].Version // in a small program of ours
		}
		peers = append(peers, name+" "+version)
	}
	measured.Versions = strings.Join(peers, ", ")
	body, err := json.MarshalIndent(measured, "", "  ")
	if err != nil {
		return err
	}
	text := regexp.MustCompile(`\[[-\d.e,\s]+\]`).ReplaceAllStringFunc(string(body), func(m string) string { return strings.Join(strings.Fields(m), "") })
	if err := write(filepath.Join(*recordTo, "results", measured.Date[:len(time.DateOnly)]+".json"), text+"\n"); err != nil {
		return err
	}
	files, err := everything(*recordTo)
	for name, text := range files {
		err = errors.Join(err, write(filepath.Join(*recordTo, name), text))
	}
	return err
}
