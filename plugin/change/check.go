package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/findings"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// outputGitHub is the value of check's --output for annotations; reportOutputs are those for a report.
const outputGitHub = "github"

var reportOutputs = []string{emit.JSON, emit.YAML, outputGitHub}

// checkFlags are the arguments and flags of check.
type checkFlags struct {
	reserveFlags
	ledger         flags.Ledger
	failOnWithheld bool
}

// NewCheck returns the command that checks whether host names and addresses can be reserved.
func NewCheck(c *session.Session) *cobra.Command {
	f := &checkFlags{reserveFlags: reserveFlags{leaseCommand: leaseCommand{c: c, allowEmpty: true}}}
	cmd := &cobra.Command{
		Use:   "check (-f FILE | --lease LEASE [HOST[/PATH]...] [--address ADDRESS])",
		Short: "Check whether host names and addresses can be reserved",
		RunE: func(cmd *cobra.Command, args []string) error {
			return readOnly(cmd.Context(), func(ctx context.Context) error { return f.run(ctx, args) })
		},
	}
	f.add(cmd, "; 'json' and 'yaml' are what was found, 'github' the errors and warnings", reportOutputs...)
	f.ledger.Add(cmd, "Where to look for who holds what", flags.LedgerCluster)
	cmd.Flags().BoolVar(&f.failOnWithheld, "fail-on-withheld", false,
		"Exit with 4 if another deployment of the same owner holds something that a lease asks for")
	f.proof.add(cmd, flagDNS, "Also check whether DNS proves that the tenant controls the hosts")
	return c.SetScope(cmd, session.Scope{Leases: session.LeaseFlag, Offline: f.ledger.IsFiles})
}

// run checks everything that the input asks for, and prints what was found.
func (f *checkFlags) run(ctx context.Context, args []string) error {
	hosts, err := f.arguments(args)
	switch {
	case err != nil:
		return err
	case f.ledger.IsFiles() && f.input.FromCluster:
		return usage.Errorf("--from-cluster and --ledger FILE cannot be used together")
	}
	if err := f.ledger.Check(&f.input.Names); err != nil {
		return err
	}
	unread, err := f.openLedger(ctx)
	if err != nil {
		return err
	}
	k := &checked{console: &f.c.Console, failOnWithheld: f.failOnWithheld}
	k.invalid(findings.InvalidLedger, unread)
	if err := f.read(ctx, k, hosts); err != nil {
		return err
	}
	f.c.Leases = len(k.requests)
	f.dryRun = command.DryRunClient
	opts := f.options(console.NewEvents(&f.c.Console, f.output, ""))
	opts.Check, opts.Report, opts.Warn = true, k.reporter(f.output), k.warn
	if len(k.requests) > 0 {
		err = apply.New(f.cluster, opts).Reserve(ctx, k.requests, k.kinds...)
	}
	return errors.Join(k.print(f.output, err), beside(k.unread(), report.Gather([]error{err, k.withheldError()})))
}

// openLedger opens the cluster, or the files that take its place. unread are the errors in files.
func (f *checkFlags) openLedger(ctx context.Context) (unread lease.Problems, err error) {
	if !f.ledger.IsFiles() {
		return nil, f.open(ctx)
	}
	if f.cluster, f.cfg, unread, _, err = clusterOfFiles(ctx, f.c, &f.ledger); err != nil {
		return nil, err
	}
	return unread, f.configure(ctx)
}

// read adds the requests of the input. An error in one definition stops no other.
func (f *checkFlags) read(ctx context.Context, k *checked, hosts []string) error {
	in := &f.input
	if !in.Given() {
		request, err := f.namedRequest(ctx, hosts)
		k.requests = append(k.requests, request)
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	defs, problems, err := f.definitions(ctx)
	if err != nil {
		return err
	}
	k.fromCluster = in.FromCluster
	k.doubts(in.Warnings)
	k.invalid(findings.InvalidDefinition, problems)
	first := map[lease.Group]lease.Place{}
	for _, def := range defs {
		k.warn(lease.Warnings(def))
		request, found := state.NewRequest(def, f.cfg)
		found = append(append(found, apply.Invalid(def, f.cfg)...), apply.Repeated(first, def)...)
		if errs := found.Sorted().Errors(); len(errs) > 0 {
			k.invalid(findings.InvalidDefinition, errs)
			continue
		}
		k.requests, k.kinds = append(k.requests, request), append(k.kinds, render.Kinds(def, f.cfg))
	}
	return nil
}

// definitions returns the definitions in the input that can be read, and the errors in the others.
func (f *checkFlags) definitions(ctx context.Context) (defs []*lease.Definition, problems lease.Problems, err error) {
	if f.input.FromCluster {
		err = f.collect(ctx)
		defs, err = f.defs, cmp.Or(err, f.unread)
	} else if defs, err = f.input.Collect(ctx, &f.c.Console, f.cluster, f.cfg); err == nil && len(defs) == 0 {
		err = checkNotEmpty(defs, false)
	}
	if problems, invalid := errors.AsType[lease.Problems](err); invalid {
		return defs, problems, nil
	}
	return defs, nil, err
}

// maxInvalid is how many errors of the input, and of the ledger, a report lists.
const maxInvalid = 5000

// checked collects what a check finds.
type checked struct {
	console        *console.Console
	failOnWithheld bool
	// fromCluster is true if the definitions are objects of a cluster, so that no place is one in a file.
	fromCluster bool
	requests    []state.Request
	kinds       [][]kinds.Kind
	// problems are the errors in the input and in the ledger, found what was found apart from things of leases, and events the latter.
	problems lease.Problems
	found    []findings.Finding
	events   []report.Event
}

// warn prints warnings, and adds them.
func (k *checked) warn(problems lease.Problems) {
	k.console.Warn(problems)
	k.doubts(problems)
}

// doubts adds warnings that were printed.
func (k *checked) doubts(problems lease.Problems) {
	for _, p := range problems.Warnings() {
		k.add(findings.Finding{Rule: findings.Doubtful, Level: findings.Warning, Message: p.Message}, p.At)
	}
}

// invalid adds errors in the input or in the ledger.
func (k *checked) invalid(rule findings.Rule, problems lease.Problems) {
	k.problems = append(k.problems, problems...)
	for _, p := range problems[:min(len(problems), maxInvalid)] {
		k.add(findings.Finding{Rule: rule, Level: findings.Error, Message: p.Message}, p.At)
	}
	if more := len(problems) - maxInvalid; more > 0 {
		k.add(findings.Finding{Rule: rule, Level: findings.Error, Message: fmt.Sprintf("%d more errors are not listed", more)}, lease.Place{})
	}
}

func (k *checked) add(f findings.Finding, at lease.Place) { k.found = append(k.found, k.placed(f, at)) }

// placed returns a finding with its place, if that is one in a file.
func (k *checked) placed(f findings.Finding, at lease.Place) findings.Finding {
	if !k.fromCluster || f.Rule == findings.InvalidLedger {
		return f.At(at)
	}
	f.Message = lease.Problem{At: at, Message: f.Message}.Error()
	return f
}

// unread returns the errors in the input and in the ledger.
func (k *checked) unread() error {
	if len(k.problems) == 0 {
		return nil
	}
	return k.problems
}

// reporter returns the function that keeps the events, and prints them unless the output is a report.
func (k *checked) reporter(output string) func(report.Event) {
	events := console.NewEvents(k.console, output, "")
	events.Check = true
	// A file of the ledger that cannot be read may say who holds a thing: none is called free then.
	partly := slices.ContainsFunc(k.found, func(f findings.Finding) bool { return f.Rule == findings.InvalidLedger })
	return func(e report.Event) {
		if partly && e.Action == report.Free {
			return
		}
		if !isReport(output) {
			events.Report(e)
		}
		k.events = append(k.events, e)
	}
}

// maxWithheld is how many withheld things an error names.
const maxWithheld = 10

// withheldError returns the error of --fail-on-withheld, or nil.
func (k *checked) withheldError() error {
	var names []string
	for _, e := range k.events {
		if e.Action == report.Withheld {
			names = append(names, e.Kind+"/"+e.Name)
		}
	}
	if len(names) == 0 || !k.failOnWithheld {
		return nil
	}
	return &console.RefusedError{Err: fmt.Errorf("--fail-on-withheld: another deployment of the same owner holds %s", lease.Some(names, maxWithheld))}
}

// isReport reports whether the output is a report, and not a line for each event.
func isReport(output string) bool { return slices.Contains(reportOutputs, output) }

// print prints the report of the check that has ended with an error, if the output is one.
func (k *checked) print(output string, err error) error {
	if !isReport(output) {
		return nil
	}
	r := findings.NewReport(append(k.found, k.ofLeases(err)...))
	switch output {
	case outputGitHub:
		err = r.WriteGitHub(k.console.Text, findings.SourceRoot())
	case emit.JSON:
		err = emit.WriteJSON(k.console.Out, r)
	default:
		var data []byte
		if data, err = document.Marshal(r); err == nil {
			_, err = k.console.Out.Write(data)
		}
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// ofLeases returns what was found of the leases, in the order of the input, and the errors that belong to none.
func (k *checked) ofLeases(err error) (out []findings.Finding) {
	errs, others := report.ByLease(err)
	for _, e := range others {
		out = append(out, findings.Finding{Rule: findings.Refused, Level: findings.Error, Message: e.Error()})
	}
	events := map[lease.Group][]report.Event{}
	for _, e := range k.events {
		events[e.Lease.Group()] = append(events[e.Lease.Group()], e)
	}
	for _, r := range k.requests {
		for _, e := range events[r.Lease.Group()] {
			if f, ok := k.ofEvent(e); ok {
				out = append(out, f)
			}
		}
		for _, e := range errs[r.Lease.Group()] {
			if failed, ok := errors.AsType[*report.LeaseError](e); ok {
				e = failed.Err // the finding names the lease
			}
			out = append(out, k.ofError(r, e)...)
		}
	}
	return out
}

// ofEvent returns the finding that an event tells.
func (k *checked) ofEvent(e report.Event) (f findings.Finding, ok bool) {
	f = findings.Finding{
		Level: findings.None, Lease: e.Lease.String(), Kind: e.Kind, Name: e.Name, Message: string(e.Action), By: findings.HolderOf(e.By),
	}
	if e.Message != "" {
		f.Message += " " + e.Message
	}
	switch e.Action {
	case report.Free:
		f.Rule = findings.Free
	case report.Held:
		f.Rule = findings.Own
	case report.Withheld:
		f.Rule, f.Level = findings.Withheld, findings.Warning
		f.Message = e.Kind + " " + e.Name + " is withheld: " + e.Message
		if k.failOnWithheld {
			f.Level = findings.Error
		}
	default:
		return f, false
	}
	return k.placed(f, e.At), true
}

// ofError returns the findings of an error of a lease.
func (k *checked) ofError(r state.Request, err error) (out []findings.Finding) {
	add := func(f findings.Finding, at lease.Place) {
		f.Level, f.Lease = findings.Error, r.Lease.String()
		out = append(out, k.placed(f, at))
	}
	var held *report.HeldError
	var exhausted *report.ExhaustedError
	var unproved *apply.UnprovedError
	switch {
	case errors.As(err, &held):
		for _, h := range held.Held {
			rule := findings.Held
			switch {
			case h.By.Input != "":
				rule = findings.Rival
			case h.Unclaimed():
				rule = findings.InUse
			}
			add(findings.Finding{Rule: rule, Kind: string(h.Kind), Name: h.Thing, Message: h.String(), By: findings.HolderOf(h.By)}, h.At)
		}
	case errors.As(err, &exhausted):
		add(findings.Finding{Rule: findings.NoAddress, Kind: string(state.Endpoint), Name: exhausted.Endpoint, Message: exhausted.Error()}, exhausted.At)
	case errors.As(err, &unproved):
		for _, h := range unproved.Hosts {
			add(findings.Finding{
				Rule: findings.Unproved, Kind: string(state.Host), Name: h.Host, Message: "host " + h.Host + " is not proved: " + h.Err.Error(),
			}, h.At)
		}
	default:
		add(findings.Finding{Rule: findings.Refused, Message: err.Error()}, r.At())
	}
	return out
}
