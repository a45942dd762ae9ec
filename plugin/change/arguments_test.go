package change

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/report"
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

func things(t *testing.T, texts ...string) (out []thing.Thing) {
	t.Helper()
	for _, text := range texts {
		parsed, err := thing.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, parsed)
	}
	return out
}

func TestParseRelease(t *testing.T) {
	const other = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8/1"
	for _, c := range []struct {
		name           string
		args           []string
		groups, things int
		want           string
	}{
		{"one lease", []string{group}, 1, 0, ""},
		{"several leases", []string{group, "lease/" + other}, 2, 0, ""},
		{"a lease twice", []string{group, "lease/" + group + "/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}, 1, 0, ""},
		{"things of a lease", []string{group, "a.example.com", "203.0.113.7", "endpoint/public"}, 1, 3, ""},
		{"a thing without a lease", []string{"a.example.com"}, 0, 0, "a.example.com: name the lease (OWNER/DSEQ/GSEQ) first"},
		{"a lease after a thing", []string{group, "a.example.com", other}, 0, 0, other + ": name the lease first"},
		{"things of several leases", []string{group, other, "a.example.com"}, 0, 0, "things of one lease are released at a time"},
		{"an order", []string{"order/" + group + "/1"}, 0, 0, "is not what this command takes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			groups, named, err := parseRelease(c.args)
			check(t, err, c.want)
			if len(groups) != c.groups || len(named) != c.things {
				t.Errorf("%d leases and %d things, want %d and %d", len(groups), len(named), c.groups, c.things)
			}
		})
	}
}

func TestClaimNames(t *testing.T) {
	for _, c := range []struct{ name, arg, want, fails string }{
		{"a host", "host/A.example.com", "a.example.com", ""},
		{"an address", "address/2001:DB8::1", "2001:db8::1", ""},
		{"an endpoint keeps its kind", "endpoint/public", "endpoint/public", ""},
		{"a single word may be a host or an endpoint", "public", "public", ""},
		{"a path is refused", "a.example.com/v1", "", "release works on hosts with all their paths; name host/a.example.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, err := claimNames(things(t, c.arg), "release")
			check(t, err, c.fails)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("name is %q, want %q", got, c.want)
			}
		})
	}
}

// Events are "ACTION KIND NAME".
func TestMissingWatcher(t *testing.T) {
	for _, c := range []struct {
		name                  string
		events                []string
		thing                 string
		notReleased, notFound bool
	}{
		{"nothing happened", nil, "a.example.com", true, false},
		{"the host was released", []string{"released host a.example.com"}, "a.example.com", false, false},
		{"another host was released", []string{"released host b.example.com"}, "a.example.com", true, false},
		{"the lease failed", []string{string(report.Failed) + " lease a.example.com"}, "a.example.com", true, false},
		{"a port was released", []string{"released endpoint 203.0.113.7"}, "endpoint/public", false, false},
		{"a host was released, not the endpoint", []string{"released host a.example.com"}, "endpoint/public", true, false},
		{"a transfer did not find the host", []string{string(report.Left) + " " + apply.KindThing + " a.example.com"}, "a.example.com", true, true},
		{"a transfer did not find the endpoint", []string{string(report.Left) + " " + apply.KindThing + " endpoint/public"}, "endpoint/public", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			reported := 0
			m := newMissingWatcher(func(report.Event) { reported++ })
			for _, e := range c.events {
				words := strings.Fields(e)
				m.add(report.Event{Action: report.Action(words[0]), Kind: words[1], Name: words[2]})
			}
			x := things(t, c.thing)[0]
			if m.notReleased(x) != c.notReleased || m.notFound(x) != c.notFound {
				t.Errorf("not released %t, not found %t", m.notReleased(x), m.notFound(x))
			}
			if reported != len(c.events) {
				t.Errorf("%d of %d events were passed on", reported, len(c.events))
			}
		})
	}
}

func TestCheckNotEmpty(t *testing.T) {
	empty := &lease.Definition{}
	workloads := &lease.Definition{Workloads: &lease.Workloads{Services: make([]lease.Workload, 1)}}
	for _, c := range []struct {
		name    string
		defs    []*lease.Definition
		allowed bool
		want    string
	}{
		{"no definition", nil, false, "the input holds no lease definition"},
		{"an empty definition", []*lease.Definition{workloads, empty}, false, "--allow-empty takes it all the same"},
		{"only workloads", []*lease.Definition{workloads}, false, ""},
		{"an empty definition with --allow-empty", []*lease.Definition{empty}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, checkNotEmpty(c.defs, c.allowed), c.want) })
	}
}

func TestCheckScheduler(t *testing.T) {
	params := &command.Workloads{Scheduler: map[uint32]*lease.SchedulerParams{}}
	two := []*lease.Definition{{}, {}}
	check(t, checkScheduler(params, two), "--scheduler-params is for one lease, and this is another")
	check(t, checkScheduler(params, two[:1]), "")
	check(t, checkScheduler(&command.Workloads{}, two), "")
	check(t, checkScheduler(nil, two), "")
}

func TestCheckDryRun(t *testing.T) {
	for value, want := range map[string]string{"none": "", "": "", "client": "client", "server": "server"} {
		got := value
		if err := checkDryRun(&got); err != nil || got != want {
			t.Errorf("%q is %q, error %v", value, got, err)
		}
	}
	wrong := "true"
	check(t, checkDryRun(&wrong), `--dry-run must be "none", "server", or "client", not "true"`)
}

func TestCheckOutput(t *testing.T) {
	check(t, checkOutput("events"), "")
	check(t, checkOutput("json"), `--output must be 'events' or 'name', not "json"`)
	check(t, checkOutput("json", "json", "yaml"), "")
	check(t, checkOutput("wide", "json", "yaml"), `--output must be 'events', 'name', 'json' or 'yaml', not "wide"`)
}

func TestCrashedAfterHasAMinimum(t *testing.T) {
	check(t, (&crashedFlags{after: minCrashedAfter}).check(), "")
	check(t, (&crashedFlags{after: minCrashedAfter - 1}).check(), "--crashed-after must be at least 1m, not 59.999999999s")
	check(t, (&crashedFlags{after: 0, assume: true}).check(), "")
}

func TestReadPlan(t *testing.T) {
	head := fmt.Sprintf("apiVersion: %s\nkind: %s\n", plan.APIVersion, plan.Kind)
	const settings, leases = "settings: {target: ingress, operators: auto}\n", "leases: [{lease: x, changes: []}]\n"
	for _, c := range []struct{ name, text, want string }{
		{"a plan", head + settings + leases, ""},
		{"another kind", "apiVersion: v1\nkind: List\n", `it is "List" of "v1"`},
		{"an unknown field", head + settings + leases + "more: 1\n", "more"},
		{"no leases", head + settings, "it has no leases"},
		{"an unknown target", head + "settings: {target: service, operators: auto}\n" + leases, "--target must be"},
		{"an unknown mode of operators", head + "settings: {target: ingress, operators: x}\n" + leases, "--operators must be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p plan.Plan
			err := readPlan([]byte(c.text), "plan.yaml", &p)
			check(t, err, c.want)
			if err != nil && !strings.HasPrefix(err.Error(), "plan.yaml:1:1: not a plan as diff -o json prints it: ") {
				t.Errorf("error %v", err)
			}
		})
	}
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

func TestExternalDiff(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "mydiff")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	for _, c := range []struct {
		name, value string
		want        []string
		fails       string
	}{
		{"no program", " ", nil, ""},
		{"a program with parameters", "mydiff -N -u --color=always", []string{program, "-N", "-u", "--color=always"}, ""},
		{"other words are dropped", "mydiff $(id) -u a/b", []string{program, "-u"}, ""},
		{"a missing program", "otherdiff", nil, "KUBECTL_EXTERNAL_DIFF: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBECTL_EXTERNAL_DIFF", c.value)
			got, err := externalDiff()
			check(t, err, c.fails)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFileName(t *testing.T) {
	for want, c := range map[string]plan.Change{
		"ingress.ns.a.example.com": {Kind: "ingress", Namespace: "ns", Name: "a.example.com"},
		"wildcard._.example.com":   {Kind: "wildcard", Name: "*.example.com"},
		"host.a.example.com_v1":    {Kind: "host", Name: "a.example.com/v1"},
	} {
		if got := fileName(c); got != want {
			t.Errorf("%+v has the file %q, want %q", c, got, want)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		name string
		s    selection
		args []string
		want string
	}{
		{"named leases", selection{}, []string{group}, ""},
		{"a selector", selection{selector: "a=b"}, nil, ""},
		{"all leases", selection{all: true}, nil, ""},
		{"nothing", selection{}, nil, "name the leases to release"},
		{"two ways", selection{all: true, selector: "a=b"}, nil, "name the leases to release"},
		{"an invalid selector", selection{selector: "a=b=c"}, nil, "--selector: "},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.s.check(c.args, "release", "-f, -l and --all"), c.want) })
	}
	for _, c := range []struct {
		name   string
		s      selection
		dryRun string
		answer string
		want   bool
		asks   bool
	}{
		{"yes", selection{all: true}, "", " Yes\n", true, true},
		{"no answer", selection{all: true}, "", "", false, true},
		{"-y", selection{all: true, yes: true}, "", "", true, false},
		{"a dry run", selection{all: true}, "client", "", true, false},
		{"named leases", selection{}, "", "", true, false},
		{"a short name", selection{short: true}, "", "n\n", false, true},
		{"-l, in a script", selection{selector: "a=b"}, "", "", true, false},
		{"-f, in a script", selection{files: true}, "", "", true, false},
	} {
		t.Run("confirmed by "+c.name, func(t *testing.T) {
			var asked bytes.Buffer
			con := &console.Console{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(c.answer), ErrOut: &asked}}
			if got := c.s.confirm(con, c.dryRun, 2, "Sure?"); got != c.want || strings.HasPrefix(asked.String(), "Sure? [y/N] ") != c.asks {
				t.Errorf("confirmed %t, asked %q", got, asked.String())
			}
		})
	}
}

// A command waits for as long as --timeout says: not at all with 0, and for a week with less, as `kubectl wait` does.
func TestTimeout(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want time.Duration
	}{
		{nil, time.Minute},
		{[]string{"--timeout=90s"}, 90 * time.Second},
		{[]string{"--timeout=0"}, 0},
		{[]string{"--timeout=-1s"}, 7 * 24 * time.Hour},
		{[]string{"--wait=false"}, 0},
		{[]string{"--wait=false", "--timeout=-1s"}, 0},
	} {
		var f changeFlags
		cmd := &cobra.Command{}
		f.addWait(cmd, "for it")
		if err := cmd.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		if got := f.options(config.Default(), &console.Events{}).Wait; got != tt.want {
			t.Errorf("%q waits for %s, want %s", tt.args, got, tt.want)
		}
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
		event(one, report.Left, "definition", "", "too long"),
		event(one, report.Replaced, "dnsrecord", "a.example.com", "by another"),
		event(one, report.Configured, "ingress", "a.example.com", ""),
		event(one, report.Configured, "ingress", "b.example.com", ""),
		event(one, report.Unchanged, "namespace", "ns", ""),
	}
	golden.Cases{"brief": string(previewText(p, told, false, true)), "whole": string(previewText(p, told, false, false))}.Check(t, "testdata/preview.golden")
}

// Leases, hosts and addresses are told from the names of problems, however they are written.
func TestSplitNames(t *testing.T) {
	leases, things, problems := splitNames([]string{
		"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1", "Shop.example.com.", "host/a.example.com", "a.example.com/v2", "203.0.113.7",
		"ip/2001:db8::1", "BlockedHost/bad.example.com", "blockedhost/bad.example.com", "LostMarks/ingress/a.example.com", "BlockedHost", "*.example.com",
	})
	if len(leases) != 1 || leases[0].DSeq != 8438017 {
		t.Errorf("leases %v", leases)
	}
	if want := []string{"shop.example.com", "a.example.com", "a.example.com", "203.0.113.7", "2001:db8::1", "*.example.com"}; !slices.Equal(things, want) {
		t.Errorf("things %q, want %q", things, want)
	}
	if want := []string{"BlockedHost/bad.example.com", "blockedhost/bad.example.com", "LostMarks/ingress/a.example.com", "BlockedHost"}; !slices.Equal(problems, want) {
		t.Errorf("problems %q, want %q", problems, want)
	}
}

// All spellings of a thing give the printed name of the problem.
func TestProblemName(t *testing.T) {
	const order = "order/akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1"
	for typed, want := range map[string]string{
		"HoldEnded/" + order:                       "HoldEnded/" + order,
		"HoldEnded/host/A.example.com.":            "HoldEnded/a.example.com",
		"UnreadableClaim/a.example.com":            "UnreadableClaim/a.example.com",
		"UnreadableClaim/rs--x/y z":                "UnreadableClaim/rs--x/y z",
		"SquattedAddress/ip/203.0.113.7":           "SquattedAddress/203.0.113.7",
		"HoldEnded/https://a.example.com/not?that": "HoldEnded/https://a.example.com/not?that",
	} {
		if got := problemName(typed); got != want {
			t.Errorf("%s is %s, want %s", typed, got, want)
		}
	}
}

// The addresses of reserve may have the prefix of an address in all its forms.
func TestReserveAddresses(t *testing.T) {
	f := reserveFlags{addresses: []string{"203.0.113.1", "address/203.0.113.2", "ip/203.0.113.3", "IPs/203.0.113.4"}}
	hosts, err := f.parseArgs([]string{"hosts/shop.example.com", "addresses/203.0.113.5"})
	want := []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4", "203.0.113.5"}
	if err != nil || !slices.Equal(hosts, []string{"shop.example.com"}) || !slices.Equal(f.addresses, want) {
		t.Errorf("hosts %q, addresses %q, error %v", hosts, f.addresses, err)
	}
}
