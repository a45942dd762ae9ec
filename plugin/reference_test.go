package plugin

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

var update = flag.Bool("update", false, "write the reference")

const referenceHead = `# Reference

The help of every command, as ` + "`kubectl akash-net COMMAND --help`" + ` prints it. This file is generated:
` + "`make generate`" + ` writes it anew. What all commands have in common (exit codes, output formats,
events, environment) is in [commands.md](commands.md).
`

var (
	listed      = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)
	blanksAtEnd = regexp.MustCompile(`(?m)[ \t]+$`)
)

// docs/reference.md is the help of all commands, in the order in which the program lists them; with -update it is written.
func TestReference(t *testing.T) {
	const file = "../docs/reference.md"
	// What a flag's default takes from the environment is shown by the variable's name.
	t.Setenv("HOME", "$HOME")
	t.Setenv("KUBECACHEDIR", "")
	want := referenceHead
	section := func(words ...string) string {
		var out, wrong bytes.Buffer
		args := append(append([]string{"kubectl-akash_net"}, words...), "--help")
		if code := Main(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &wrong}); code != 0 {
			t.Fatalf("%q ends with %d: %s", args, code, wrong.String())
		}
		help := strings.TrimSpace(blanksAtEnd.ReplaceAllString(strings.ReplaceAll(out.String(), "\t", "        "), ""))
		want += fmt.Sprintf("\n## %s\n\n```text\n%s\n```\n", strings.Join(append([]string{"kubectl akash-net"}, words...), " "), help)
		return help
	}
	commands := listed.FindAllStringSubmatch(section(), -1)
	if len(commands) == 0 {
		t.Fatal("the help lists no commands")
	}
	for _, m := range commands {
		for _, sub := range listed.FindAllStringSubmatch(section(m[1]), -1) {
			section(m[1], sub[1])
		}
	}
	section("options")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what the commands' help says (%v); write it with: make generate", file, err)
	}
}
