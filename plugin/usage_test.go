package plugin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

// What is no name, or no name of what is listed, is exit code 2 with what to type, before a cluster is asked.
func TestStateNamesThatAreNotUnderstood(t *testing.T) {
	for line, want := range map[string]string{
		"pods":                            `there is no subject "pods"; hosts, ips,`,
		"hosts shop_example.com":          "is not a host name",
		"ips 203.0.113.0/28":              "is a range of addresses",
		"hosts 203.0.113.5":               "address/203.0.113.5 does not name any of the hosts; they are named by a host",
		"ips shop.example.com":            "host/shop.example.com does not name any of the ips",
		"leases shop.example.com":         "they are named by a lease (OWNER/DSEQ/GSEQ)",
		"pools akash":                     "they have no names to choose by",
		"routes ingress/ns/a":             "is not a host, address, endpoint or lease",
		"hosts ips shop.example.com":      "no name is given for the ips; they are named by an address",
		"shop.example.com public":         `"public": which subject?`,
		"shop.example.com hosts":          "Subjects come before names",
		"hosts a.b -l x=y":                "choose rows by their leases",
		"hosts --ignore-not-found":        "--ignore-not-found is about names",
		"--problems problem/StrayRoute/a": "is not a host, address, endpoint or lease",
		"--problems host/a.b":             "--problems cannot be combined with a subject",
	} {
		line = strings.ReplaceAll(line, "OWNER", testOwner)
		if code, _, errOut := main1(t, "", append([]string{"state"}, strings.Fields(line)...)...); code != codeUsage || !strings.Contains(errOut, want) {
			t.Errorf("state %s: exit code %d, %q; want 2 and %q", line, code, errOut, want)
		}
	}
}

// Usage errors are found before a request is sent.
func TestStateUsage(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent")
	for words, want := range map[string]string{
		"routes,pods":                        `no subject "pods"`,
		"hosts --shard blue":                 "--shard is about routes",
		"routes -f - --watch":                "look at a cluster, not at files",
		"--problems -f -":                    "look at a cluster, not at files",
		"routes -f - --shard blue":           `no shard "blue" (spec.shards: -)`,
		"hosts,":                             `no subject ""`,
		"-o xml":                             `unknown format "xml"`,
		"-o custom-columns":                  "name the columns",
		"-o custom-columns=HOST":             `"HOST" is not HEADER:PATH`,
		"-o custom-columns=HOST:.host[":      "column HOST",
		"-o jsonpath={.hosts":                "jsonpath",
		"-o jsonpath=":                       "no template",
		"-o jsonpath-file=/nonexistent/file": "/nonexistent/file",
		"-l a=b=c":                           "--selector",
		"--watch":                            "--watch shows one subject",
		"hosts ips --watch":                  "--watch shows one subject",
		"hosts --unknown":                    "unknown flag",
	} {
		t.Run(words, func(t *testing.T) {
			var out, errOut bytes.Buffer
			args := append([]string{"kubectl-akash_net", "state"}, strings.Fields(words)...)
			code := Main(context.Background(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
			if code != codeUsage || out.Len() > 0 || !strings.Contains(errOut.String(), want) {
				t.Errorf("code %d, stdout %q, stderr %q; want code %d and %q on stderr only", code, out.String(), errOut.String(), codeUsage, want)
			}
		})
	}
}

// Help that cannot be written is no wrong usage.
func TestHelpThatIsLost(t *testing.T) {
	var errOut bytes.Buffer
	code := Main(t.Context(), []string{"kubectl-akash_net", "--help"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: fullDisk{}, ErrOut: &errOut})
	if code != 1 || strings.Contains(errOut.String(), "for usage") || !strings.Contains(errOut.String(), "standard output cannot be written") {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// The command that is printed after an interrupt must not release more than the interrupted command has changed.
func TestInterruptSaysHowToGoOn(t *testing.T) {
	const again, undo = "Run the same command again to finish", "kubectl akash-net release"
	for _, tt := range []struct {
		args  []string
		again bool
		undo  bool
	}{
		{[]string{"apply", "-f", "-"}, true, false}, // nothing is begun
		{[]string{"apply", "-f", "-", "--dry-run"}, false, false},
		{[]string{"apply", "-f", "-", "--dry-run=server"}, false, false},
		{[]string{"diff", "-f", "-"}, false, false},
		{[]string{"convert", "-f", "-"}, false, false},
		{[]string{"repair", "-f", "-"}, true, false},
		{[]string{"install"}, true, false},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
		args := append([]string{"kubectl-akash_net"}, tt.args...)
		if tt.args[0] != "convert" {
			args = append(args, "--server", "https://127.0.0.1:1", "--kubeconfig", os.DevNull)
		}
		code := Main(ctx, args, streams)
		text := out.String()
		if code != codeInterrupted || !strings.Contains(text, "Interrupted.") || strings.Contains(text, again) != tt.again || strings.Contains(text, undo) != tt.undo {
			t.Errorf("%q: exit code %d\n%s", tt.args, code, text)
		}
	}
}

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

// Each topic is explained offline, in plain text that fits a terminal, and completely.
func TestTopics(t *testing.T) {
	for topic, texts := range map[string][]string{
		"exit-codes": {"\n  0\n", "\n  1\n", "\n  2\n", "\n  3\n", "\n  4\n", "\n  5\n", "\n  6\n", "\n  130\n"},
		"names":      {"  host/shop.example.com,", "  OWNER/DSEQ/GSEQ/OSEQ/PROVIDER\n", "akash1h24…9w3c9h/8438017/1", "--ignore-not-found", "apply --workloads also deploys"},
		"states":     {view.StateActive, view.StatePending, view.StateTransferring, view.StateReserved, view.StateExpired, view.StateWithheld, view.StateClaiming, view.StatePartial},
		"formats":    {"  render\n      yaml (default)", "custom-columns=", "    lease akash1"},
	} {
		code, out, errOut := main1(t, "", "help", topic)
		if code != codeDone || errOut != "" {
			t.Errorf("%s: exit code %d: %s", topic, code, errOut)
		}
		for _, text := range texts {
			if !strings.Contains("\n"+out, text) {
				t.Errorf("%s: there is no %q in\n%s", topic, text, out)
			}
		}
		for line := range strings.Lines(out) {
			if code := strings.HasPrefix(line, "    "); (strings.Contains(line, "`") || strings.Contains(line, "](")) && !code || !code && utf8.RuneCountInString(line) > helpWidth+1 {
				t.Errorf("%s: the line %q", topic, line)
			}
		}
	}
	if code, out, _ := main1(t, "", "exit-codes"); code != codeDone || !strings.Contains(out, "success") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
