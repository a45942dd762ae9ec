package plugin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// long puts names in the places of the words by which tables name them.
var long = strings.NewReplacer("LEASE", testLease, "GROUP", testOwner+"/8438017/1", "OWNER", testOwner)

// Wrong usage is found before a request is sent, and prints nothing else.
func TestUsage(t *testing.T) {
	golden.Rules{
		"usage": func(line string) string {
			code, out, errOut := main1(t, "", strings.Fields(long.Replace(line))...)
			said, ok := strings.CutPrefix(errOut, "Error: ")
			if code != codeUsage || out != "" || !ok {
				t.Errorf("%s: exit code %d\n%s%s", line, code, out, errOut)
			}
			said, _, _ = strings.Cut(said, "See 'kubectl akash-net")
			return strings.NewReplacer(testLease, "LEASE", testOwner, "OWNER").Replace(said)
		},
		"function": func(line string) string {
			code, out, errOut := main1(t, resourceList+line, "render")
			if code != codeInvalid || out != "" {
				t.Errorf("%s: exit code %d\n%s", line, code, out)
			}
			return errOut
		},
		"interrupt": func(line string) string {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var out bytes.Buffer
			args := append([]string{"kubectl-akash_net"}, strings.Fields(line)...)
			if args[1] != "convert" {
				args = append(args, "--server", "https://127.0.0.1:1", "--kubeconfig", os.DevNull)
			}
			code := Main(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
			return fmt.Sprintf("%d %s", code, &out)
		},
	}.Check(t, "testdata/usage.txt")
}

// A command that is named first is made alone, and is the same as among all.
func TestCommandAlone(t *testing.T) {
	among := func(first string) *cobra.Command {
		root := newRoot(session.New(t.Context(), genericiooptions.IOStreams{}), nil, first)
		cmd, _, err := root.Find([]string{first})
		if err != nil || cmd.Name() != first || len(root.Commands()) != 1 {
			t.Errorf("%s alone: %s of %d, %v", first, cmd.Name(), len(root.Commands()), err)
		}
		return cmd
	}
	for _, cmd := range newRoot(session.New(t.Context(), genericiooptions.IOStreams{}), nil, "").Commands() {
		isTopic := slices.ContainsFunc(topics, func(topic struct{ name, short, page, heading string }) bool { return topic.name == cmd.Name() })
		if isTopic || cmd.Name() == "help" {
			continue
		}
		if alone, all := among(cmd.Name()).UsageString(), cmd.UsageString(); alone != all {
			t.Errorf("%s (-all +alone):\n%s", cmd.Name(), cmp.Diff(all, alone))
		}
	}
}

// Every flag that a command inherits limits what it does, or is refused with exit code 2.
func TestInheritedFlags(t *testing.T) {
	t.Chdir("testdata")
	root := newRoot(session.New(t.Context(), genericiooptions.IOStreams{}), nil, "")
	commands := map[string]bool{}
	golden.Rules{"scope": func(line string) string {
		args := strings.Fields(long.Replace(line))
		commands[args[0]] = true
		supported := map[string]bool{}
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			kind := "connection"
			switch f.Name {
			case "kubeconfig", "v": // every command accepts these
				return
			case "namespace", "config":
				kind = f.Name
			}
			value := map[string]string{"bool": "true", "stringArray": "a=b", "string": "x"}[f.Value.Type()]
			if f.Name == "request-timeout" {
				value = "1s"
			}
			code, _, errOut := main1(t, "", append(slices.Clone(args), "--"+f.Name+"="+value)...)
			about, _ := strings.CutPrefix(errOut, "Error: --"+f.Name)
			refused := code == codeUsage && (strings.HasPrefix(about, ":") && (kind != "config" || !strings.Contains(errOut, "no such file")) ||
				strings.HasPrefix(about, " is about a connection") || strings.HasPrefix(about, " does not limit") || strings.Contains(errOut, "do not choose among them"))
			if was, known := supported[kind]; known && was == refused {
				t.Errorf("%s --%s=%s: refused is %v; exit code %d: %s", line, f.Name, value, refused, code, errOut)
			}
			supported[kind] = !refused
		})
		var kinds []string
		for _, kind := range []string{"connection", "config", "namespace"} {
			if supported[kind] {
				kinds = append(kinds, kind)
			}
		}
		return strings.Join(kinds, " ")
	}}.Check(t, "scope.txt")
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" && cmd.Runnable() && !commands[cmd.Name()] {
			t.Errorf("%s is not in the table", cmd.Name())
		}
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

const referenceHead = `# Reference

The help of every command, as ` + "`kubectl akash-net COMMAND --help`" + ` prints it.
`

var (
	listed      = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)
	blanksAtEnd = regexp.MustCompile(`(?m)[ \t]+$`)

	writeReference = flag.String("reference", "", "a file that the help of all commands is written into")
	// inDocuments are the flags that a document names: code that begins with one, and the commands of lines with theirs.
	inDocuments = regexp.MustCompile("`(--[a-z][a-z-]+)|kubectl akash-net ((?:[^|`\n&;#)]|\\\\\n)*)")
	flagOfLine  = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]+)`)
	flagOfHelp  = regexp.MustCompile(`(?m)^ +(?:-[a-zA-Z], )?(--[a-z][a-z-]+)=`)
	// ofOthers are flags of etcd, the API server, Akash's operator and ingress-nginx that the documents name, and cobra's.
	ofOthers = map[string]bool{"--service-node-port-range": true, "--event-ttl": true, "--quota-backend-bytes": true, "--etcd-servers-overrides": true, "--ingress-mode": true, "--enable-ssl-passthrough": true, "--help": true}
)

// The help of all commands, in the order in which the program lists them, has each flag that a document names, and each command that a
// document types has the flags that it gives it. With -reference it is written, for a site.
func TestReference(t *testing.T) {
	// What a flag's default takes from the environment is shown by the variable's name.
	t.Setenv("HOME", "$HOME")
	t.Setenv("KUBECACHEDIR", "")
	reference, flags := referenceHead, map[string]map[string]bool{} // by command
	section := func(words ...string) [][]string {
		args := append(words, "--help")
		if words != nil && words[0] == "options" {
			args = words
		}
		code, out, errOut := main1(t, "", args...)
		if code != 0 {
			t.Fatalf("%q ends with %d: %s", words, code, errOut)
		}
		help := strings.TrimSpace(blanksAtEnd.ReplaceAllString(strings.ReplaceAll(out, "\t", "        "), ""))
		of := map[string]bool{}
		for _, m := range flagOfHelp.FindAllStringSubmatch(help, -1) {
			of[m[1]] = true
		}
		flags[strings.Join(words, " ")] = of
		reference += fmt.Sprintf("\n## %s\n\n```text\n%s\n```\n", strings.Join(append([]string{"kubectl akash-net"}, words...), " "), help)
		return listed.FindAllStringSubmatch(help, -1)
	}
	commands := section()
	if len(commands) == 0 {
		t.Fatal("the help lists no commands")
	}
	for _, m := range commands {
		for _, sub := range section(m[1]) {
			section(m[1], sub[1])
		}
	}
	section("options")
	flags["leases"], flags["help"] = flags["state"], map[string]bool{} // "leases" is short for "state leases"
	hidden := map[string]bool{}
	commandsDoc, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range rareFlags {
		if hidden["--"+name] = true; !strings.Contains(string(commandsDoc), "`--"+name+"`") || regexp.MustCompile(`(?m)^    (-., )?--`+name+`=`).MatchString(reference) {
			t.Errorf("--%s is not in docs/commands.md, or is in the help", name)
		}
	}
	if *writeReference != "" {
		if err := os.WriteFile(*writeReference, []byte(reference), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inDocuments.FindAllStringSubmatch(string(text), -1) {
			words := append(strings.Fields(m[2]), "", "")
			command := words[0] + " " + words[1]
			if flags[command] == nil {
				command = words[0]
			}
			if lower := strings.ToLower(words[0]); m[2] != "" && words[0] == lower && !strings.HasPrefix(lower, "-") && flags[command] == nil {
				t.Errorf("%s types %q, which is no command", page, m[0])
			}
			for _, name := range flagOfLine.FindAllStringSubmatch(m[1]+m[2], -1) {
				seen++
				has := flags[command][name[1]] || flags["options"][name[1]] || ofOthers[name[1]] || hidden[name[1]]
				if m[2] == "" {
					has = has || slices.ContainsFunc(slices.Collect(maps.Values(flags)), func(of map[string]bool) bool { return of[name[1]] })
				}
				if !has {
					t.Errorf("%s names %s in %q, which has no such flag", page, name[1], m[0])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d flags were found in the documents", seen)
	}
}

// Each section of the help is of a command, and each command but those that explain themselves has one.
func TestHelpTexts(t *testing.T) {
	root, sections := newRoot(session.New(t.Context(), genericiooptions.IOStreams{}), nil, ""), 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if describe(cmd); cmd.Long != "" && !cmd.Hidden && cmd.Name() != "help" {
			sections++
		} else if explains := slices.Contains([]string{"help", "options", "version"}, cmd.Name()); cmd.Long == "" && cmd.Runnable() && !explains {
			t.Errorf("%s has no text in help.md", cmd.CommandPath())
		}
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check(root)
	if n := strings.Count(helpTexts, "\n## "); n != sections {
		t.Errorf("help.md has %d sections, of which %d are of commands", n, sections)
	}
}

// A command without a section in help.md keeps its own text.
func TestHelpOfHelp(t *testing.T) {
	if code, out, _ := main1(t, "", "help", "help"); code != codeDone || !strings.HasPrefix(out, "Help provides help for any command") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// Each topic is explained offline, in plain text that fits a terminal, and completely.
func TestTopics(t *testing.T) {
	for topic, texts := range map[string][]string{
		"exit-codes": {"\n  0\n", "\n  1\n", "\n  2\n", "\n  3\n", "\n  4\n", "\n  5\n", "\n  6\n", "\n  130\n"},
		"names":      {"  host/shop.example.com,", "  OWNER/DSEQ/GSEQ/OSEQ/PROVIDER\n", "akash1h24…9w3c9h/8438017/1", "--ignore-not-found"},
		"states":     {view.StateActive, view.StatePending, view.StateTransferring, view.StateReserved, view.StateExpired, view.StateWithheld, view.StateClaiming, view.StatePartial},
		"formats":    {"  render\n      yaml (default)", "custom-columns=", "    lease akash1"},
	} {
		code, out, errOut := main1(t, "", "help", topic)
		if short, again, _ := main1(t, "", topic); code != codeDone || errOut != "" || short != code || again != out {
			t.Errorf("%s: exit code %d: %s", topic, code, errOut)
		}
		for _, text := range texts {
			if !strings.Contains("\n"+out, text) {
				t.Errorf("%s: there is no %q in\n%s", topic, text, out)
			}
		}
		for line := range strings.Lines(out) {
			if code := strings.HasPrefix(line, "    "); !code && (strings.Contains(line, "`") || strings.Contains(line, "](") || utf8.RuneCountInString(line) > helpWidth+1) {
				t.Errorf("%s: the line %q", topic, line)
			}
		}
	}
}
