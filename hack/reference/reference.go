// Package reference writes the part of the documentation that follows from the code: the help of all
// commands.
package reference

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin"
)

// File is where the reference belongs, from the repository's root.
const File = "docs/reference.md"

const program = "kubectl-akash_net"

const head = `# Reference

The help of every command, as ` + "`kubectl akash-net COMMAND --help`" + ` prints it. This file is generated:
` + "`make generate`" + ` writes it anew. What all commands have in common (exit codes, output formats,
events, environment) is in [commands.md](commands.md).
`

// Markdown is the reference of all commands as Markdown: the help that they print, in the order
// in which the program lists them. The program is asked as a user asks it.
func Markdown() (string, error) {
	// What a flag's default takes from the environment is shown by the variable's name.
	defer setenv("HOME", "$HOME")()
	defer setenv("KUBECACHEDIR", "")()
	overview, err := help()
	if err != nil {
		return "", err
	}
	names := commandNames(overview)
	if len(names) == 0 {
		return "", fmt.Errorf("the help lists no commands:\n%s", overview)
	}
	var out strings.Builder
	out.WriteString(head)
	section(&out, "kubectl akash-net", overview)
	for _, name := range append(names, "options") {
		text, err := help(name)
		if err != nil {
			return "", err
		}
		section(&out, "kubectl akash-net "+name, text)
	}
	return out.String(), nil
}

func section(out *strings.Builder, title, text string) {
	fmt.Fprintf(out, "\n## %s\n\n```text\n%s\n```\n", title, strings.TrimSpace(text))
}

var listed = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)

// commandNames are the commands that the program's help lists, in its order.
func commandNames(help string) []string {
	var names []string
	for _, m := range listed.FindAllStringSubmatch(help, -1) {
		names = append(names, m[1])
	}
	return names
}

var blanksAtEnd = regexp.MustCompile(`(?m)[ \t]+$`)

// help is what --help prints, tabs as blanks.
func help(words ...string) (string, error) {
	var out, wrong bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &wrong}
	args := append(append([]string{program}, words...), "--help")
	if code := plugin.Main(context.Background(), args, streams); code != 0 {
		return "", fmt.Errorf("%s ends with %d: %s", strings.Join(args, " "), code, wrong.String())
	}
	text, err := io.ReadAll(&out)
	return blanksAtEnd.ReplaceAllString(strings.ReplaceAll(string(text), "\t", "        "), ""), err
}

// setenv sets a variable and returns what sets it back.
func setenv(name, value string) func() {
	before, had := os.LookupEnv(name)
	_ = os.Setenv(name, value) // fails for malformed names only
	return func() {
		if had {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}
