package docs

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The blocks ```console of a document are a session: each line that begins with "$ " is a command
// (lines that begin with "> " belong to it), and what follows is what it prints. The commands of
// one document run in one shell, in the repository's root, on a real control plane.
//
// What differs from run to run is not compared: durations, ages and times of day, the widths of
// columns, and the order of lines, as objects are written side by side. A line "…" in a document
// stands for any number of lines. Blocks ```sh are for the reader's own machine and are not run.

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

const marker = "=== end of command"

// session is a shell script that runs the commands and marks where the output of each ends.
func session(commands []command) string {
	var script strings.Builder
	script.WriteString("exec 2>&1\n")
	for _, c := range commands {
		fmt.Fprintf(&script, "%s\ncode=$?; echo '%s'; (exit $code)\n", c.text, marker)
	}
	return script.String()
}

// examples are the leases that the documents apply.
var examples = []string{
	"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1",
	"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438020/1",
	"akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905802/1",
	"akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905803/1",
}

// TestCommands runs README.md first, on an empty cluster; every other document begins on a cluster
// that is installed and in which nobody holds anything.
func TestCommands(t *testing.T) {
	for _, path := range documents(t) {
		want := commands(t, path)
		if len(want) == 0 {
			continue
		}
		t.Run(path, func(t *testing.T) {
			if path != "README.md" {
				shell(t, "kubectl akash-net install --config manifests/examples/provider-config.yaml")
			}
			got := strings.SplitAfter(shell(t, session(want)), marker+"\n")
			if len(got) != len(want)+1 {
				t.Fatalf("%d commands ran instead of %d:\n%s", len(got)-1, len(want), strings.Join(got, ""))
			}
			for i, c := range want {
				output := strings.TrimSuffix(got[i], marker+"\n")
				if diff := compare(c.output, output); diff != "" {
					t.Errorf("%s:%d: $ %s\n(-document +program)\n%s\nthe program printed:\n%s", path, c.line, c.text, diff, output)
				}
			}
			shell(t, "kubectl akash-net release "+strings.Join(examples, " "))
		})
	}
}

func shell(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = root(t), environment(t)
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%v\n%s", err, out)
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
