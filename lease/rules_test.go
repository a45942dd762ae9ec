package lease_test

import (
	"fmt"
	"net/netip"
	"regexp"
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
	t.Parallel()
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
		"order": func(s string) error {
			o, err := lease.ParseOrder(s)
			if err == nil && o.String() != s {
				t.Errorf("%s is read as %s", s, o)
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

// What a user reads of a definition that breaks a rule: testdata/definitions.txt.
//
//	spec      a block is what stands below spec; what is said has its place
//	expose    a line is what a port of service web has beside "port: 80, global: true, hosts: [a.example.com]", or all its
//	          ports in braces; there are services canary (80, 53/UDP), blue and green, and the IP endpoints that are named
//	same      two of these, " | " between them, and whether they have one hash: which objects would be written anew
func TestDefinitions(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/definitions.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "spec" {
			if said := told(t, d.Input); said != "" {
				return said
			}
			return "good\n"
		}
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			if d.Cmd == "same" {
				one, other, _ := strings.Cut(line, " | ")
				hash := ""
				told(t, specOf(one), func(d *lease.Definition) { hash = d.Hash })
				told(t, specOf(other), func(d *lease.Definition) { fmt.Fprintf(&out, "%s  =>  %t\n", line, d.Hash == hash) })
				continue
			}
			said := told(t, specOf(line))
			if said == "" {
				said = "good\n"
			}
			fmt.Fprintln(&out, line)
			for problem := range strings.Lines(said) {
				fmt.Fprint(&out, "    "+regexp.MustCompile(`^:\d+:\d+: (spec\.services\[3\]\.)?`).ReplaceAllString(problem, ""))
			}
		}
		return out.String()
	})
}

// specOf is the spec of a line of "expose".
func specOf(line string) string {
	exposes, endpoints := line, map[string]bool{}
	if !strings.HasPrefix(line, "{") {
		exposes = "{port: 80, global: true, hosts: [a.example.com], " + line + "}"
	}
	spec := "services: [{name: canary, expose: [{port: 8080, as: 80}, {port: 53, protocol: UDP}]}, {name: blue, expose: [{port: 80}]}, " +
		"{name: green, expose: [{port: 80}]}, {name: web, expose: [" + exposes + "]}]\nipEndpoints: ["
	for _, ip := range regexp.MustCompile(`ip: (\w+)`).FindAllStringSubmatch(exposes, -1) {
		if !endpoints[ip[1]] {
			spec += "{name: " + ip[1] + "}, "
		}
		endpoints[ip[1]] = true
	}
	return spec + "]"
}

// told is what a user reads of a LeaseDefinition, by what stands below its spec: lines and columns are those of the
// spec. It is empty for a good one, which read is given.
func told(t *testing.T, spec string, read ...func(*lease.Definition)) (said string) {
	t.Helper()
	text := "spec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ")
	if !strings.Contains(text, "lease:") {
		text += "\n  lease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h}"
	}
	text += "\napiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata: {name: a}\n"
	var warnings lease.Problems
	problems, err := input.Read(t.Context(), strings.NewReader(expand(t, text)), "", input.Options{}, func(d *lease.Definition) error {
		warnings = lease.Warnings(d)
		for _, f := range read {
			f(d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(problems, warnings...) {
		p.At.Line, p.At.Column = p.At.Line-1, p.At.Column-2
		said += p.Error() + "\n"
	}
	return said
}
