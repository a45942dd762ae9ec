package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A check, and a diff, of files that have the objects of a cluster answers as one of the cluster, field for field, whatever the
// cluster holds and the definitions ask for.
func TestFilesAnswerLikeTheClusterThatTheyAreOf(t *testing.T) {
	t.Parallel()
	empty := furnished(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSituation(rt, empty)
		s.drawHold(rt)
		s.answersAlike(t, rt, s.drawDefinitions(rt, 4), rapid.IntRange(0, 2).Draw(rt, "form"))
	})
}

// The answers are alike for each rule of check.
func TestFilesAnswerEachRule(t *testing.T) {
	t.Parallel()
	for rule, tt := range map[string]struct{ before, input []string }{
		"Free":              {nil, []string{"a1 a.example.com"}},
		"Own":               {[]string{"a1 a.example.com"}, []string{"a1 a.example.com"}},
		"Held":              {[]string{"a1 a.example.com"}, []string{"c1 a.example.com"}},
		"Withheld":          {[]string{"a1 a.example.com"}, []string{"a2 a.example.com"}},
		"Rival":             {nil, []string{"a1 a.example.com", "c1 a.example.com"}},
		"NoAddress":         {[]string{"a1 public:443 other:443", "c1 public:443 other:443"}, []string{"d1 public:443"}},
		"InUse":             {[]string{"by hand"}, []string{"a1 a.example.com"}},
		"InvalidDefinition": {nil, []string{"a1 a.example.com", "a1 b.example.com"}},
	} {
		t.Run(rule, func(t *testing.T) {
			s := newSituation(furnished(t))
			for _, text := range tt.before {
				if text == "by hand" {
					s.foreign("a.example.com", "akash-net")
				} else if err := apply.New(connect(s.server), s.options(1)).Apply(t.Context(), []*lease.Definition{defined(text)}); err != nil {
					t.Fatal(err)
				}
			}
			var input []*lease.Definition
			for _, text := range tt.input {
				input = append(input, defined(text))
			}
			for form := range 3 {
				if found := s.answersAlike(t, t, input, form); !strings.Contains(found, fmt.Sprintf("%q: %q", "rule", rule)) {
					t.Errorf("the check does not find it: %s", found)
				}
			}
		})
	}
}

// answersAlike compares check and diff of the cluster with those of files with its objects, and returns what check has found.
func (s *situation) answersAlike(t *testing.T, rt fatal, defs []*lease.Definition, form int) (found string) {
	t.Helper()
	folder, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		rt.Fatalf("%v", err)
	}
	save := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			rt.Fatalf("%v", err)
		}
		return path
	}
	var documents []string
	for _, def := range defs {
		text, err := json.Marshal(input.Encode(def))
		if err != nil {
			rt.Fatalf("%v", err)
		}
		documents = append(documents, string(text))
	}
	listener := httptest.NewServer(&outside{Server: s.server})
	defer listener.Close()
	kubeconfig := save("kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
  clusters: [{name: test, cluster: {server: %q}}], contexts: [{name: test, context: {cluster: test}}]}`, listener.URL))
	more := []string{"-o", "json", "-f", save("definitions.yaml", strings.Join(documents, "\n---\n")), "--config", save("provider.yaml", s.configText())}
	if s.adopt {
		more = append(more, "--adopt")
	}
	for _, command := range [][]string{{"diff", "--allow-empty"}, {"check"}} {
		args := slices.Concat(command, more)
		want := ask(t, "", append(args, "--kubeconfig", kubeconfig)...)
		in, ledger := s.exported(rt, save, form)
		got := ask(t, in, append(args, ledger...)...)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s (-of the cluster, +of files %q):\n%s\n%s\n%s", command, ledger, diff, strings.Join(s.told, "\n"), strings.Join(documents, "\n"))
		}
		found = got.Stdout
	}
	return found
}

// drawHold draws a hold that ends, or has ended.
func (s *situation) drawHold(t *rapid.T) {
	for range rapid.IntRange(0, 2).Draw(t, "holds") {
		a := apply.New(connect(s.server), s.options(1))
		a.Command.Options.Expires = rapid.SampledFrom([]time.Duration{time.Hour, -time.Hour}).Draw(t, "expires")
		id, host := rapid.SampledFrom(allLeases()).Draw(t, "holder"), rapid.SampledFrom(planHosts).Draw(t, "hold")
		err := a.Reserve(context.Background(), []state.Request{{Lease: id, Hosts: []state.HostWant{{Host: host, Path: "/"}}}})
		s.tell("reserved %s for %s, expires in %v: %v", host, id.Group(), a.Command.Options.Expires, err)
	}
}

// configText is the provider's configuration as a file.
func (s *situation) configText() string {
	return fmt.Sprintf(`{apiVersion: net.akash.network/v1alpha1, kind: ProviderConfig, metadata: {name: provider},
 spec: {target: %s, hosts: {wildcards: true}, ip: {mode: %s, ranges: [%q, %q]}}}`, s.cfg.Target, s.cfg.IP.Mode, situationRanges[0], situationRanges[1])
}

// exported has the objects of the cluster as a folder, a file or a pipe: what standard input has, and the flags.
func (s *situation) exported(t fatal, save func(name, text string) string, form int) (in string, ledger []string) {
	var lists [2][]string
	for i, path := range append(s.objects(), s.namespaces()...) {
		text, err := json.Marshal(s.server.objects[path].object)
		if err != nil {
			t.Fatalf("%v", err)
		}
		lists[i%2] = append(lists[i%2], string(text))
	}
	one, two := listOf(lists[0]), listOf(lists[1])
	switch form {
	case 0:
		return "", []string{"--ledger", save("one.yaml", one), "--ledger", save("two.json", two)}
	case 1:
		return one + "\n---\n" + two, []string{"--ledger", "-"}
	}
	folder := filepath.Join(filepath.Dir(save("empty", "")), "ledger")
	if err := os.MkdirAll(filepath.Join(folder, "below"), 0o700); err != nil {
		t.Fatalf("%v", err)
	}
	save("ledger/one.yaml", one)
	save("ledger/below/two.yaml", two)
	return "", []string{"--ledger", folder}
}

func listOf(items []string) string {
	return `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(items, ",") + `]}`
}

// namespaces are the paths of all namespaces.
func (s *situation) namespaces() (paths []string) {
	for path, o := range s.server.objects {
		if o.kind.plural == "namespaces" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// answered is how a command has answered.
type answered struct {
	Code           int
	Stdout, Stderr string
}

// ask runs the program.
func ask(t *testing.T, in string, args ...string) (a answered) {
	t.Helper()
	var out, text bytes.Buffer
	streams := genericiooptions.IOStreams{In: io.NopCloser(strings.NewReader(in)), Out: &out, ErrOut: &text}
	a.Code = plugin.Main(t.Context(), append([]string{"kubectl-akash_net"}, args...), streams)
	a.Stdout, a.Stderr = out.String(), text.String()
	return a
}
