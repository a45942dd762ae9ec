package lease_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// What a user reads of a name that is refused: testdata/names.txt has a rule a block and a name a line, as Go quotes it
// where it needs quotes. `go test ./lease -rewrite` writes what is said now.
func TestNames(t *testing.T) {
	rules := map[string]func(string) error{
		"host": lease.CheckHost, "host-or-wildcard": lease.CheckHostOrWildcard, "path": lease.CheckPath, "service": lease.CheckServiceName,
		"endpoint": lease.CheckEndpointName, "owner": lease.CheckAddress, "template": hosttemplate.Check,
		"route": func(s string) error {
			host, path, _ := strings.Cut(s, " ")
			return lease.CheckRoute(host, path)
		},
		"address": func(s string) error {
			a, _ := netip.ParseAddr(s)
			return lease.CheckAddr(a)
		},
		"lease": func(s string) error {
			id, err := lease.ParseID(s)
			if err == nil && id.String() != s {
				t.Errorf("%s is read as %s", s, id)
			}
			return err
		},
		"group": func(s string) error {
			g, err := lease.ParseGroup(s)
			if err == nil && !strings.HasPrefix(s+"/", g.String()+"/") {
				t.Errorf("%s is read as %s", s, g)
			}
			return err
		},
	}
	datadriven.RunTest(t, "testdata/names.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			name := expand(t, strings.TrimSuffix(line, "\n"))
			said := "good"
			if err := rules[d.Cmd](name); err != nil {
				said = err.Error()
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", strings.TrimSuffix(line, "\n"), said)
		}
		return out.String()
	})
}

// expand writes names that are too long to be read, "a*63", in full.
func expand(t *testing.T, line string) string {
	t.Helper()
	words := strings.Split(line, "+")
	for i, word := range words {
		var n int
		if text, times, ok := strings.Cut(word, "×"); ok {
			if _, err := fmt.Sscan(times, &n); err != nil {
				t.Fatal(line, err)
			}
			words[i] = strings.Repeat(text, n)
		}
	}
	return strings.NewReplacer(`\e`, "\x1b", `\n`, "\n", `\u202e`, "\u202e", `\u0131`, "\u0131", `\u212a`, "\u212a", `\xff`, "\xff").Replace(strings.Join(words, ""))
}

// What a user reads of a definition that breaks a rule, with its place: testdata/definitions.txt. A block is what stands
// below spec; its lines are those of the problems.
func TestDefinitions(t *testing.T) {
	datadriven.RunTest(t, "testdata/definitions.txt", func(t *testing.T, d *datadriven.TestData) string {
		if said := told(t, d.Input); said != "" {
			return said
		}
		return "good\n"
	})
}

// told is what a user reads of a LeaseDefinition, by what stands below its spec: lines and columns are those of the
// spec. It is empty for a good one.
func told(t *testing.T, spec string) (said string) {
	t.Helper()
	text := "spec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ")
	if !strings.Contains(text, "lease:") {
		text += "\n  lease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h}"
	}
	text += "\napiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata: {name: a}\n"
	problems, err := input.Read(t.Context(), strings.NewReader(expand(t, text)), "", input.Options{}, func(*lease.Definition) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		p.At.Line, p.At.Column = p.At.Line-1, p.At.Column-2
		said += p.Error() + "\n"
	}
	return said
}
