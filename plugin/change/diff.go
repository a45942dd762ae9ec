package change

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
)

// diffFlags are the arguments and flags of diff.
type diffFlags struct {
	input         flags.Input
	workloads     flags.Workloads
	adopt         bool
	requireProof  bool
	target        string
	output        string
	ledger        flags.Ledger
	operators     string
	assumeServing bool
	prune         bool
	allowEmpty    bool
	concurrency   int
	// kept are the leases to compare with the definitions that the ledger keeps.
	kept []thing.Thing
}

// NewDiff returns the command that shows what apply would change.
func NewDiff(c *session.Session) *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff (-f FILE [--lease LEASE] | LEASE...)",
		Short: "Show what apply would change",
		Long: `
			Show what "apply" would change: the host names and addresses that it would claim or give up, and for
			each object the changed fields with both values and the field manager that owns the current one.
			Nothing is written.

			Leases that are named instead of a file are compared with the definition that each was last applied
			with, which the ledger keeps. What a lease has given up since is shown, and not claimed again.

			The last line counts the changes. Of an object of which only the hash of the definition changes, one
			line says so.

			A field that another manager owns is marked with "!": apply would not overwrite it. What another
			owner holds, so that apply would refuse the lease, is a difference too.

			With --workloads the workloads and the reservations of the leases' orders are also compared. The
			data of Secrets and passwords are never shown.

			KUBECTL_EXTERNAL_DIFF names a program that compares two folders, as for "kubectl diff": the current
			and the changed objects. Its words may have parameters of letters, digits, "-" and "=".

			With --ledger FILE objects from files, folders or a pipe are compared instead of the cluster's: the
			output of "kubectl get -o yaml --show-managed-fields", or of "render". No cluster is contacted.

			Exit code 0: no differences. 1: differences. 6: the diff failed.`,
		Example: `
			kubectl akash-net diff -f shop.yaml

			# Save the plan, and make exactly these changes
			kubectl akash-net diff -f shop.yaml -o json > plan.json
			kubectl akash-net apply --plan plan.json

			# Changes of a lease since it was last applied
			kubectl akash-net diff akash1…/8438017/1

			# With a folder of exported objects instead of the cluster
			kubectl akash-net diff -f shop.yaml --ledger exported/

			# With your own diff program
			KUBECTL_EXTERNAL_DIFF="colordiff -N -u" kubectl akash-net diff -f shop.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			return diffError(readOnly(cmd.Context(), func(ctx context.Context) error { return f.run(ctx, c) }))
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Lease),
	}
	f.input.Add(cmd)
	f.workloads.Add(cmd, "Compare")
	addAdopt(cmd, &f.adopt)
	cmd.Flags().BoolVar(&f.requireProof, flagRequireProof, false,
		"Let the plan claim nothing for a lease unless DNS proves that the tenant controls its hosts: \"apply --plan\" asks")
	flags.AddTarget(cmd, &f.target)
	addOperators(cmd, &f.operators)
	addAssumeServing(cmd, &f.assumeServing)
	flags.AddOutput(cmd, &f.output, "", "One of 'json' and 'yaml', for the plan, and 'name', for the names of what changes", "json", "yaml", console.OutputName)
	flags.AddColor(cmd, &c.Color)
	f.ledger.Add(cmd, "What to compare with", flags.LedgerCluster)
	cmd.Flags().BoolVar(&f.prune, "prune", true, "Show what would be removed because the lease no longer defines it")
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false,
		"Accept a definition that defines nothing; with --prune it would remove everything that the lease has")
	addConcurrency(cmd, &f.concurrency)
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease, Offline: f.ledger.IsFiles})
}

// check validates the flags, and parses the leases in args.
func (f *diffFlags) check(args []string) (err error) {
	err = cmp.Or(flags.CheckTarget(f.target), checkOperators(f.operators), flags.CheckOneOf("output", f.output, "", "json", "yaml", console.OutputName),
		checkConcurrency(f.concurrency), f.ledger.Check(&f.input.Flags))
	if err != nil {
		return err
	}
	switch {
	case f.ledger.IsFiles() && f.input.FromCluster:
		return usage.Errorf("--from-cluster and --ledger FILE cannot be used together")
	case len(args) == 0 && !f.input.Given():
		return usage.Errorf("must specify one of -f, --from-cluster and LEASE")
	case len(args) == 0:
		return f.input.Check()
	case f.input.Given() || f.input.Lease != "" || f.allowEmpty || f.requireProof:
		return usage.Errorf("a LEASE is compared with the definition that the ledger keeps: -f, --from-cluster, --lease, --allow-empty " +
			"and --require-dns-proof cannot be used with it")
	}
	f.kept, err = flags.ParseThings(args, thing.Lease)
	return err
}

// diffError turns the error of a failed diff into a *console.DiffError. Differences, invalid inputs and usage errors have
// their own exit codes.
func diffError(err error) error {
	if err == nil || console.Is[*console.ReportedError](err) || console.Is[lease.Problems](err) || console.Is[*usage.Error](err) {
		return err
	}
	return &console.DiffError{Err: err}
}

func (f *diffFlags) run(ctx context.Context, c *session.Session) error {
	cluster, cfg, err := f.openLedger(ctx, c)
	if err != nil {
		return err
	}
	if f.target != "" {
		cfg.Target = f.target
	}
	workloads, params, err := f.loadWorkloads(ctx, cfg)
	if err != nil {
		return err
	}
	defs, unread, err := f.definitions(ctx, c, cluster, cfg)
	if err == nil {
		err = checkScheduler(workloads, defs)
	}
	if err != nil {
		return err
	}
	for _, def := range defs {
		c.Warn(render.Warnings(def, cfg))
	}
	c.Leases = len(defs)
	planOf := apply.Plan
	if f.kept != nil {
		planOf = apply.PlanKept
	}
	plan, err := planOf(ctx, cluster, command.Options{
		Config: cfg, Prune: f.prune, Operators: f.operators, AssumeServing: f.assumeServing, Concurrency: f.concurrency,
		Workloads: workloads, Adopt: f.adopt,
	}, defs)
	if err != nil {
		return err
	}
	plan.Settings.RequireDNSProof = f.requireProof
	if plan, err = withDefinitions(plan, defs, params); err != nil {
		return err
	}
	return beside(unread, f.show(ctx, c, plan))
}

// loadWorkloads returns the options for comparing workloads, or nil if they are not compared. The definitions that the ledger
// keeps have no workloads.
func (f *diffFlags) loadWorkloads(ctx context.Context, cfg *config.ProviderConfig) (*command.Workloads, []byte, error) {
	switch {
	case f.kept != nil && (f.workloads.Requested() || f.adopt):
		return nil, nil, usage.Errorf("the definition that the ledger keeps says nothing of what a LEASE runs: " +
			"--workloads, --scheduler-params and --adopt require -f")
	case f.kept != nil:
		return nil, nil, nil
	}
	w, params, err := f.workloads.Load(ctx, cfg)
	f.input.Workloads = w != nil
	return w, params, err
}

// definitions returns the definitions to compare with the cluster: those in the input, or those that the ledger keeps. A kept
// definition may be empty.
func (f *diffFlags) definitions(
	ctx context.Context, c *session.Session, from *cluster.Cluster, cfg *config.ProviderConfig,
) (defs []*lease.Definition, unread, err error) {
	if f.kept != nil {
		defs, err = f.keptDefinitions(ctx, from, cfg)
		return defs, nil, err
	}
	return collect(ctx, &c.Console, &f.input, from, cfg, f.allowEmpty)
}

// keptDefinitions returns the definitions that the ledger keeps of the named leases, without duplicates.
func (f *diffFlags) keptDefinitions(
	ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig,
) ([]*lease.Definition, error) {
	var groups []lease.Group
	var leases []thing.Thing
	for _, t := range f.kept {
		if !slices.Contains(groups, t.Group) {
			groups, leases = append(groups, t.Group), append(leases, t)
		}
	}
	defs, err := observed.KeptDefinitions(ctx, from, cfg.LedgerNamespace, groups)
	if err != nil {
		return nil, err
	}
	return defs, flags.MissingThings(leases, func(t thing.Thing) bool {
		return !slices.ContainsFunc(defs, func(d *lease.Definition) bool { return d.Lease.Group() == t.Group })
	}, "no definition of %s is kept in namespace %s: the next apply of the lease keeps it (kubectl akash-net apply -f FILE); "+
		"until then compare with a file (kubectl akash-net diff -f FILE)", cfg.LedgerNamespace)
}

// show prints the plan. It returns a *console.ReportedError if there are differences.
func (f *diffFlags) show(ctx context.Context, c *session.Session, p plan.Plan) error {
	if f.output == "" {
		program, err := externalDiff()
		if err != nil {
			return err
		}
		if len(program) > 0 {
			return runExternalDiff(ctx, &c.Console, program, p)
		}
	}
	if err := printPlan(&c.Console, p, f.output); err != nil {
		return err
	}
	if p.Differs() {
		return &console.ReportedError{Message: "there are differences"}
	}
	return nil
}
