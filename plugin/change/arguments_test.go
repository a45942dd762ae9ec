package change

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

const group = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/7/1"

// check compares an error with a part of its text; "" is no error.
func check(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// What arguments and flags mean, and what is said of those that mean nothing: testdata/arguments.txt. GROUP and OTHER are leases.
//
//	release, claim, repair, problem, reserve   arguments of commands
//	missing    events as "ACTION KIND NAME; …", and a thing of which is asked after "?"
//	crashed, timeout                           flags
//	confirm    flags, whether it is a dry run, and the answer after "?"
//	defined    --allow-empty, and definitions: empty ones or those that have workloads
//	plan       what apply --plan reads, where PLAN is the version and the kind
//	external   KUBECTL_EXTERNAL_DIFF, where mydiff is a program; other words than parameters are dropped
//	file       the file in which an external diff finds KIND NAMESPACE NAME
func TestArguments(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "mydiff"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	names := strings.NewReplacer("GROUP", group, "OTHER", strings.Replace(group, "/7/", "/8/", 1), "PROVIDER", "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0")
	say := func(err error, format string, args ...any) string {
		if err != nil {
			return "! " + strings.ReplaceAll(err.Error(), group, "GROUP")
		}
		return strings.ReplaceAll(fmt.Sprintf(format, args...), group, "GROUP")
	}
	golden.Rules{
		"release": func(line string) string {
			groups, things, err := parseRelease(strings.Fields(names.Replace(line)))
			return say(err, "%d leases, %d things", len(groups), len(things))
		},
		"claim": func(line string) string {
			parsed, err := thing.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			claims, err := claimNames([]thing.Thing{parsed}, "release")
			return say(err, "%s", strings.Join(claims, " "))
		},
		"missing": func(line string) string {
			events, asked, _ := strings.Cut(line, "? ")
			reported := 0
			m := newMissingWatcher(func(report.Event) { reported++ })
			for i, e := range strings.Split(events, ";") {
				if words := strings.Fields(e); len(words) == 3 {
					m.add(report.Event{Action: report.Action(words[0]), Kind: words[1], Name: words[2]})
					if reported != i+1 {
						t.Errorf("%s: %d events were passed on", line, reported)
					}
				}
			}
			x, err := thing.Parse(asked)
			return say(err, "not released %t, not found %t", m.notReleased(x), m.notFound(x))
		},
		"crashed": func(line string) string {
			var f crashedFlags
			if f.assume = line == "assumed"; !f.assume {
				f.after, _ = time.ParseDuration(line)
			}
			return say(f.check(), "good")
		},
		"timeout": func(line string) string {
			var f leaseCommand
			cmd := &cobra.Command{}
			f.addWait(cmd, "for it")
			err := cmd.ParseFlags(strings.Fields(line))
			return say(err, "%s", f.options(&console.Events{}).Wait)
		},
		"confirm": func(line string) string {
			flags, answer, _ := strings.Cut(line, "?")
			s, dryRun := selection{}, ""
			for _, word := range strings.Fields(flags) {
				switch name, value, _ := strings.Cut(word, "="); name {
				case "--all":
					s.all = true
				case "-y":
					s.yes = true
				case "-l":
					s.selector = value
				case "-f":
					s.files = true
				case "short":
					s.short = true
				case "--dry-run":
					dryRun = "client"
				}
			}
			var asked bytes.Buffer
			con := &console.Console{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(answer), ErrOut: &asked}}
			did := s.confirm(con, dryRun, 2, "Sure?")
			var args []string
			if strings.Contains(flags, "GROUP") {
				args = []string{group}
			}
			return say(nil, "%t, after %q; ", did, strings.TrimSpace(asked.String())) + say(s.check(args, "release", "-f, -l and --all"), "good")
		},
		"repair": func(line string) string {
			leases, things, problems := splitNames([]string{names.Replace(line)})
			return say(nil, "leases %v, things %q, problems %q", leases, things, problems)
		},
		"problem": problemName,
		"defined": func(line string) string {
			var defs []*lease.Definition
			for _, word := range strings.Fields(strings.NewReplacer("--allow-empty", "", "nothing", "").Replace(line)) {
				def := &lease.Definition{}
				if word == "workloads" {
					def.Workloads = &lease.Workloads{Services: make([]lease.Workload, 1)}
				}
				defs = append(defs, def)
			}
			return say(checkNotEmpty(defs, strings.HasPrefix(line, "--allow-empty")), "good")
		},
		"plan": func(line string) string {
			var p plan.Plan
			text := strings.ReplaceAll(line, "PLAN", fmt.Sprintf("apiVersion: %s, kind: %s", plan.APIVersion, plan.Kind))
			return say(readPlan([]byte("{"+text+"}"), "plan.yaml", &p), "%d leases", len(p.Leases))
		},
		"external": func(line string) string {
			t.Setenv("KUBECTL_EXTERNAL_DIFF", strings.TrimPrefix(line, "blank"))
			command, err := externalDiff()
			return strings.ReplaceAll(say(err, "%q", command), folder, "PATH")
		},
		"file": func(line string) string {
			words := strings.Fields(line)
			return fileName(plan.Change{Kind: words[0], Namespace: strings.Trim(words[1], "-"), Name: words[2]})
		},
		"reserve": func(line string) string {
			f := reserveFlags{}
			var args []string
			for _, word := range strings.Fields(line) {
				if address, ok := strings.CutPrefix(word, "--address="); ok {
					f.addresses = append(f.addresses, address)
				} else {
					args = append(args, word)
				}
			}
			hosts, err := f.parseArgs(args)
			return say(err, "hosts %q, addresses %q", hosts, f.addresses)
		},
	}.Check(t, "testdata/arguments.txt")
}

func TestCheckScheduler(t *testing.T) {
	params := &command.Workloads{Scheduler: map[uint32]*lease.SchedulerParams{}}
	two := []*lease.Definition{{}, {}}
	check(t, checkScheduler(params, two), "--scheduler-params is for one lease, and this is another")
	check(t, checkScheduler(params, two[:1]), "")
	check(t, checkScheduler(&command.Workloads{}, two), "")
	check(t, checkScheduler(nil, two), "")
}

func TestRefusals(t *testing.T) {
	check(t, refusals(plan.Plan{Leases: []plan.Lease{{Lease: "a"}}}), "")
	err := refusals(plan.Plan{Leases: []plan.Lease{{Lease: "a", Refused: "held"}, {Lease: "b"}, {Lease: "c", Refused: "taken"}}})
	check(t, err, "lease a is refused: held; lease c is refused: taken")
	if !console.Is[*console.RefusedError](err) {
		t.Errorf("%T has another exit code", err)
	}
}

func TestDiffError(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		failed bool
	}{
		{"no differences", nil, false},
		{"differences", &console.ReportedError{Message: "differences"}, false},
		{"an invalid input", lease.Problems{{Message: "wrong"}}, false},
		{"a usage error", usage.Errorf("wrong"), false},
		{"any other error", errors.New("broken"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := diffError(c.err)
			if console.Is[*console.DiffError](err) != c.failed || !c.failed && fmt.Sprint(err) != fmt.Sprint(c.err) {
				t.Errorf("error is %T: %v", err, err)
			}
		})
	}
}

// apply --plan reads what diff has printed, whatever characters a definition has.
func TestPlansAreReadAsTheyWerePrinted(t *testing.T) {
	const env = "A=a\u0085b\x7fc\u2028d\ufeffe😀\x1b f\u009fg"
	const definition = "{\"env\":[\"A=a\u0085b\x7f\"]}"
	p := plan.New(plan.Settings{Operators: "auto", Scheduler: []byte("{\"a\":\"x\u0085\"}")}, []plan.Lease{
		{Lease: "akash1one/1/1/1/p", Definition: []byte(definition), Changes: []plan.Change{{Action: plan.Update, Kind: "deployment", Name: "web", Fields: []plan.Field{{Path: plan.Path{"env"}, Before: "A=x", After: env}}}}},
	})
	for _, output := range []string{"json", "yaml"} {
		var out bytes.Buffer
		if err := printPlan(&console.Console{IOStreams: genericiooptions.IOStreams{Out: &out}}, p, output); err != nil {
			t.Errorf("%s: %v", output, err)
			continue
		}
		var got plan.Plan
		if err := readPlan(out.Bytes(), "plan", &got); err != nil {
			t.Errorf("%s: %v", output, err)
			continue
		}
		if after := got.Leases[0].Changes[0].Fields[0].After; after != env {
			t.Errorf("%s: the value is %q, want %q", output, after, env)
		}
		var text bytes.Buffer
		if err := json.Compact(&text, got.Leases[0].Definition); err != nil || text.String() != definition {
			t.Errorf("%s: the definition is %q (%v), want %q", output, &text, err, definition)
		}
	}
}

// Each change follows the line of its event; other events follow for each lease. On a terminal unchanged objects are omitted, and
// control characters in values are escaped.
func TestPreviewText(t *testing.T) {
	one, two := lease.ID{Owner: "akash1one", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "p"}, lease.ID{Owner: "akash1two", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "p"}
	event := func(id lease.ID, action report.Action, kind, name, message string) report.Event {
		return report.Event{Lease: id, Action: action, Kind: kind, Name: name, Message: message}
	}
	p := plan.New(plan.Settings{}, []plan.Lease{
		{Lease: one.String(), Changes: []plan.Change{
			{Action: plan.Claim, Kind: "host", Name: "a.example.com", After: map[string]any{"/": "web:80"}},
			{Action: plan.Claim, Kind: "wildcard", Name: "*.example.com", Before: map[string]any{"/": "old:80"}, After: map[string]any{"/": "web:80"}},
			{Action: plan.Delete, Kind: "dnsrecord", Name: "a.example.com"},
			{Action: plan.Update, Kind: "ingress", Name: "a.example.com", Fields: []plan.Field{{Path: plan.Path{"spec", "x"}, Before: "1", After: "2\x1b[2J"}}},
			{Action: plan.Update, Kind: "ingress", Name: "b.example.com", Fields: []plan.Field{{Path: plan.Path{"metadata", "annotations", lease.AnnotationDefinition}, Before: "1", After: "2"}}},
		}},
		{Lease: two.String(), Refused: "host b.example.com is held"},
	})
	told := []report.Event{
		event(two, report.Failed, "lease", two.String(), ""),
		event(one, report.Claimed, "host", "a.example.com", ""),
		event(one, report.Skipped, "definition", "", "too long"),
		event(one, report.Replaced, "dnsrecord", "a.example.com", "by another"),
		event(one, report.Configured, "ingress", "a.example.com", ""),
		event(one, report.Configured, "ingress", "b.example.com", ""),
		event(one, report.Unchanged, "namespace", "ns", ""),
	}
	golden.Cases{"brief": string(previewText(p, told, false, true)), "whole": string(previewText(p, told, false, false))}.Check(t, "testdata/preview.golden")
}
