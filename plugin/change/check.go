package change

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
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
	opts.Check, opts.Report = true, k.reporter(f.output)
	warnings, err := manifestWarnings(ctx, command.New(f.cluster, opts), k.requests)
	if k.warn(warnings); err != nil {
		return err
	}
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
