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
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A check, and a diff, of files that have the objects of a cluster answers as one of the cluster, field for field, whatever the
// cluster holds and the definitions ask for.
func TestFilesAnswerLikeTheClusterThatTheyAreOf(t *testing.T) {
	empty := furnished(t)
	rules := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSituation(rt, empty)
		s.drawHold(rt)
		folder, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		save := func(name, text string) string {
			path := filepath.Join(folder, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				rt.Fatal(err)
			}
			return path
		}
		var documents []string
		for _, def := range s.drawDefinitions(rt, 4) {
			text, err := json.Marshal(input.Encode(def))
			if err != nil {
				rt.Fatal(err)
			}
			documents = append(documents, string(text))
		}
		definitions, cfg := save("definitions.yaml", strings.Join(documents, "\n---\n")), save("provider.yaml", s.configText())
		listener := httptest.NewServer(&outside{Server: s.server})
		defer listener.Close()
		kubeconfig := save("kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
  clusters: [{name: test, cluster: {server: %q}}], contexts: [{name: test, context: {cluster: test}}]}`, listener.URL))
		more := []string{"-f", definitions, "--config", cfg}
		if s.adopt {
			more = append(more, "--adopt")
		}
		for _, command := range [][]string{{"check"}, {"diff", "--allow-empty"}} {
			args := slices.Concat(command, []string{"-o", "json"}, more)
			want := ask(t, "", append(args, "--kubeconfig", kubeconfig)...)
			in, ledger := s.exported(rt, save)
			got := ask(t, in, append(args, ledger...)...)
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("%s (-of the cluster, +of files %q):\n%s\n%s\n%s", command, ledger, diff, strings.Join(s.told, "\n"), strings.Join(documents, "\n"))
			}
			var found struct{ Findings []struct{ Rule string } }
			if err := json.Unmarshal([]byte(got.Stdout), &found); err != nil {
				rt.Fatal(err)
			}
			for _, f := range found.Findings {
				rules[f.Rule]++
			}
		}
	})
	for _, rule := range []string{"Free", "Own", "Held", "Withheld", "Rival", "NoAddress"} {
		if rules[rule] == 0 {
			t.Errorf("nothing that was drawn is %s: %v", rule, rules)
		}
	}
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
func (s *situation) exported(t *rapid.T, save func(name, text string) string) (in string, ledger []string) {
	var lists [2][]string
	for i, path := range append(s.objects(), s.namespaces()...) {
		text, err := json.Marshal(s.server.objects[path].object)
		if err != nil {
			t.Fatal(err)
		}
		lists[i%2] = append(lists[i%2], string(text))
	}
	one, two := listOf(lists[0]), listOf(lists[1])
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		return "", []string{"--ledger", save("one.yaml", one), "--ledger", save("two.json", two)}
	case 1:
		return one + "\n---\n" + two, []string{"--ledger", "-"}
	}
	folder := filepath.Join(filepath.Dir(save("empty", "")), "ledger")
	if err := os.MkdirAll(filepath.Join(folder, "below"), 0o700); err != nil {
		t.Fatal(err)
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
