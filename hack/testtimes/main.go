// Command testtimes reads what `go test -json` prints and prints it as go test does without -v: a line for each package, and the output of
// tests that fail. It adds the times to a file. With -slowest it prints the ten slowest packages and tests of that file, and exits with 1
// where a package took longer than the budget.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// event is a line of `go test -json` (go doc test2json), and of the file of times.
type event struct {
	Action, Package, Test, Output string
	// Elapsed is in seconds.
	Elapsed float64
}

func main() {
	file := flag.String("file", ".cache/test-times.json", "the file of times")
	slowest := flag.Bool("slowest", false, "print the ten slowest packages and tests")
	budget := flag.Duration("budget", 2*time.Minute, "what a package may take")
	flag.Parse()
	run := record
	if *slowest {
		run = func(file string) (bool, error) { return show(file, *budget) }
	}
	ok, err := run(*file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtimes:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// record prints the events of standard input, and appends those that end a package or a test to the file. It reports whether all passed.
func record(file string) (passed bool, err error) {
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	times := json.NewEncoder(out)
	passed = true
	said := map[[2]string][]string{}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		var e event
		switch broken := json.Unmarshal(line, &e); {
		case err == io.EOF && len(line) == 0:
			return passed, out.Close()
		case err != nil && err != io.EOF:
			return false, err
		case broken != nil: // of the build, or of a program that a test has run
			fmt.Print(string(line))
			continue
		}
		of := [2]string{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "output":
			if !isNoise(e) {
				said[of] = append(said[of], e.Output)
			}
		case "fail", "pass", "skip":
			if passed = passed && e.Action != "fail"; e.Action == "fail" || e.Test == "" {
				say(said[of])
			}
			delete(said, of)
			if e.Action == "fail" && e.Test == "" { // the time is up, or the program has ended: the tests that it ran have no end
				for _, test := range slices.SortedFunc(maps.Keys(said), func(a, b [2]string) int { return cmp.Compare(a[1], b[1]) }) {
					if test[0] == e.Package {
						say(said[test])
						delete(said, test)
					}
				}
			}
			if err := times.Encode(event{Action: e.Action, Package: e.Package, Test: e.Test, Elapsed: e.Elapsed}); err != nil {
				return false, err
			}
		}
	}
}

// say prints what a test has said.
func say(lines []string) {
	for _, line := range lines {
		fmt.Print(line)
	}
}

// isNoise reports whether go test prints the output only with -v.
func isNoise(e event) bool {
	return strings.HasPrefix(e.Output, "=== ") || e.Test == "" && strings.HasPrefix(e.Output, "PASS") || e.Test == "" && strings.Contains(e.Output, "[no test files]")
}

// show prints the slowest packages and tests of the file, and reports whether each package kept to the budget.
func show(file string, budget time.Duration) (kept bool, err error) {
	in, err := os.Open(file)
	if err != nil {
		return false, fmt.Errorf("%w: make test writes it", err)
	}
	defer in.Close() //nolint:errcheck // only read
	var packages, tests []event
	for d := json.NewDecoder(in); ; {
		var e event
		if err := d.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			return false, fmt.Errorf("%s: %w", file, err)
		}
		if e.Test == "" {
			packages = append(packages, e)
		} else if !strings.Contains(e.Test, "/") {
			tests = append(tests, e)
		}
	}
	kept = true
	for _, list := range [][]event{packages, tests} {
		slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
		for i, e := range list {
			over := e.Test == "" && e.Elapsed > budget.Seconds()
			if kept = kept && !over; i < 10 || over {
				fmt.Printf("%8.1fs  %s %s%s\n", e.Elapsed, e.Package, e.Test, map[bool]string{true: "more than " + budget.String()}[over])
			}
		}
		fmt.Println()
	}
	return kept, nil
}
