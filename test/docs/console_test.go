package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The blocks ```console of a document are a session: each line that begins with "$ " is a command
// (lines that begin with "> " belong to it), and what follows is what it prints. The commands of
// one document run in one shell, in the repository's root, on a real control plane.
//
// What differs from run to run is not compared: durations, ages and times of day, the widths of
// columns, and the order of lines, as objects are written side by side. A line "…" in a document
// stands for any number of lines. A command that fails shows that: it prints "Error: …", or the next
// command prints its exit code. Blocks ```sh are for the reader's own machine and are not run.

type command struct {
	text, output string
	line         int
}

func commands(t *testing.T, path string) []command {
	t.Helper()
	var all []command
	for _, b := range blocks(t, path) {
		if b.info != "console" {
			continue
		}
		for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
			if text, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, command{text: text, line: b.line + i})
				continue
			}
			if i == 0 {
				t.Fatalf("%s:%d: a console block begins with a command", path, b.line)
			}
			last := &all[len(all)-1]
			if text, ok := strings.CutPrefix(line, "> "); ok && last.output == "" {
				last.text += "\n" + text
				continue
			}
			last.output += line + "\n"
		}
	}
	return all
}

// session is a shell script that runs the commands and marks where the output of each ends, with its exit code.
func session(commands []command) string {
	var script strings.Builder
	script.WriteString("exec 2>&1\n")
	for _, c := range commands {
		fmt.Fprintf(&script, "%s\ncode=$?; echo \"=== exit code $code ===\"; (exit $code)\n", c.text)
	}
	return script.String()
}

var marker = regexp.MustCompile(`=== exit code (\d+) ===\n`)

// printed is what one command of a session has printed, and how it ended.
type printed struct {
	output string
	failed bool
}

// results are what a session has printed, by command.
func results(output string) (all []printed) {
	start := 0
	for _, m := range marker.FindAllStringSubmatchIndex(output, -1) {
		all = append(all, printed{output: output[start:m[0]], failed: output[m[2]:m[3]] != "0"})
		start = m[1]
	}
	return all
}

// mayFail reports whether a document shows that its command i fails. diff does if there are differences.
func mayFail(commands []command, i int) bool {
	next := i+1 < len(commands) && strings.Contains(commands[i+1].text, "exit code $?")
	return next || strings.Contains(commands[i].text, "akash-net diff ") || strings.Contains(commands[i].output, "Error: ") || strings.Contains(commands[i].output, "error: ")
}

// examples are the leases that the documents apply.
var examples = []string{
	"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1",
	"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438020/1",
	"akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905802/1",
	"akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905803/1",
}

// TestCommands runs README.md first, on an empty cluster and on a terminal; every other document begins on a cluster
// that is installed and in which nobody holds anything. The tutorial has a cluster of its own.
func TestCommands(t *testing.T) {
	for i, path := range documents(t) {
		if path != "README.md" && (i+harness.Today())%5 != 0 && !harness.Long() {
			continue // its day comes
		}
		want := commands(t, path)
		if len(want) == 0 || path == tutorial {
			continue
		}
		t.Run(path, func(t *testing.T) {
			run := terminal
			if path != "README.md" {
				shell(t, "kubectl akash-net install --config manifests/examples/provider-config.yaml")
				run = shell
			}
			verify(t, path, want, run(t, session(want)))
			shell(t, "kubectl akash-net release "+strings.Join(examples, " "))
		})
	}
}

// verify compares what the commands of a document have printed with what it shows.
func verify(t *testing.T, path string, want []command, output string) {
	t.Helper()
	got := results(output)
	if len(got) != len(want) {
		t.Fatalf("%d commands ran instead of %d:\n%s", len(got), len(want), output)
	}
	for i, c := range want {
		if diff := compare(c.output, got[i].output); diff != "" {
			t.Errorf("%s:%d: $ %s\n(-document +program)\n%s\nthe program printed:\n%s", path, c.line, c.text, diff, got[i].output)
		}
		if got[i].failed && !mayFail(want, i) {
			t.Errorf("%s:%d: $ %s\nfailed, which the document does not show:\n%s", path, c.line, c.text, got[i].output)
		}
	}
}

// shell runs a script in the repository's root, and returns what it prints. Further settings are NAME=VALUE.
func shell(t *testing.T, script string, settings ...string) string {
	t.Helper()
	return run(t, settings, "bash", "-c", script)
}

// terminal runs a script on a terminal of 100 columns, without colours. What stands there at the end is returned: a line
// that was written over is gone.
func terminal(t *testing.T, script string, settings ...string) string {
	t.Helper()
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("script, of util-linux, is not installed")
	}
	file := filepath.Join(t.TempDir(), "session")
	if err := os.WriteFile(file, []byte("stty cols 100\n"+script), 0o600); err != nil {
		t.Fatal(err)
	}
	out := run(t, append(settings, "TERM=xterm", "NO_COLOR=1"), "script", "-qec", "bash "+file, os.DevNull)
	return writtenOver.ReplaceAllString(strings.ReplaceAll(out, "\r\n", "\n"), "")
}

// writtenOver is the beginning of a line that was erased.
var writtenOver = regexp.MustCompile(`(?m)^.*\r\x1b\[K`)

// slow is how long a session may take before it counts as stuck, on a machine that does much else: the tutorial builds the program.
const slow = 15 * time.Minute

func run(t *testing.T, settings []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = root(t), append(environment(t), settings...), time.Second
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		t.Fatalf("%v, %v\n%s", err, ctx.Err(), out)
	}
	return string(out)
}

// compare says how the output differs from the document; "" when it does not.
func compare(document, output string) string {
	want, got := stable(document), stable(output)
	if slices.Contains(want, "…") {
		return missing(slices.DeleteFunc(want, func(line string) bool { return line == "…" }), got)
	}
	return cmp.Diff(want, got)
}

// missing are the lines of a shortened output that the program did not print.
func missing(want, got []string) string {
	var out strings.Builder
	for _, line := range want {
		if !slices.Contains(got, line) {
			fmt.Fprintln(&out, "-"+line)
		}
	}
	return out.String()
}

// varying is what differs from run to run, and what stands for it.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d(T| )\d\d:\d\d:\d\d(\.\d+)?(Z| UTC)`), "<time>"},
	{regexp.MustCompile(`(^|[ ,])\d+(\.\d+)?(ms|s|m|h|d)(\d+s)?(  |$)`), "$1<duration>$5"},
	{regexp.MustCompile(`"seconds":[0-9.e-]+`), `"seconds":0`},
	{regexp.MustCompile(`"run":"[a-z2-7]{13}(-\d+)?"`), `"run":"<nonce>"`},
	{regexp.MustCompile(`\s+`), " "},
}

// stable are the lines of an output, sorted, without what differs from run to run.
func stable(output string) []string {
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		for _, v := range varying {
			line = v.pattern.ReplaceAllString(line, v.instead)
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
