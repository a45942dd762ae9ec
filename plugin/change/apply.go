// Package change has the commands that change what leases hold, and those that tell what would change.
package change

import (
	"context"
	"errors"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/spf13/cobra"
)

// applyFlags are the flags of apply as they are typed.
type applyFlags struct {
	input         flags.Input
	proof         proofFlags
	workloads     flags.Workloads
	adopt         bool
	target        string
	output        string
	dryRun        string
	operators     string
	assumeServing bool
	prune         bool
	wait          bool
	timeout       time.Duration
	concurrency   int
	assumeCrashed bool
	allowEmpty    bool
	// plan is the file of a plan to carry out.
	plan string
}

// applyOptions are what apply works by.
type applyOptions struct {
	applyFlags
	input *flags.Inputs
}

// NewApply claims and configures what leases define.
func NewApply(c *session.Session) *cobra.Command {
	f := &applyFlags{}
	cmd := &cobra.Command{
		Use:   "apply -f FILE [--lease LEASE] | apply --plan FILE",
		Short: "Claim and configure everything a lease defines",
		Long: `
			Claim the host names and addresses of lease definitions, write the objects that serve them, remove
			what a lease no longer defines, and wait until the addresses are granted.

			A lease gets everything that it defines, or nothing is changed. What another deployment of the same
			owner holds is withheld: it is reported and not taken. If another owner holds something, that lease
			fails with exit code 4.

			With --workloads the workloads are also written, after the claims and before the routes: Manifest,
			network policies, Deployments, StatefulSets, Services and Secrets in the lease's namespace. The
			cards of a service come from --scheduler-params, otherwise from the existing Manifest. --adopt takes
			over what Akash's provider has deployed for the lease, without restarting its pods.

			With --require-dns-proof DNS must prove that the tenant controls each host, before anything is
			claimed for the lease: by a TXT record _akash-challenge.HOST with the owner's address, or by a CNAME
			into the provider's ingress domain. Without proof the exit code is 3.

			With --dry-run=client the changes are printed as kubectl does, with the changed fields below each
			object, as "diff" shows them.

			With --plan exactly the changes of a saved plan are made. If anything that the plan depends on has
			changed since, the plan is refused with exit code 1, and the objects are named.`,
		Example: `
			# A lease definition
			kubectl akash-net apply -f shop.yaml

			# An SDL, for its lease
			kubectl akash-net apply -f deploy.yaml --lease akash1…/8438017/1/1/akash1…

			# With the workloads of the lease
			kubectl akash-net apply -f deploy.yaml --lease akash1…/8438017/1/1/akash1… --workloads

			# Preview: what would change, field by field
			kubectl akash-net apply -f shop.yaml --dry-run=client

			# Let the API server validate the changes
			kubectl akash-net apply -f shop.yaml --dry-run=server`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.plan != "" {
				for _, check := range []error{checkPlanFlags(cmd), checkOutput(f.output), checkConcurrency(f.concurrency)} {
					if check != nil {
						return check
					}
				}
				return f.carryOut(cmd.Context(), c)
			}
			o, err := f.toOptions(c)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), c)
		},
	}
	f.input.Add(cmd)
	f.proof.add(cmd, flagRequireProof, proofUsage)
	f.workloads.Add(cmd, "Apply")
	addAdopt(cmd, &f.adopt)
	flags.AddTarget(cmd, &f.target)
	addDryRun(cmd, &f.dryRun)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "One of 'events' (one JSON object per line) or 'name'; with --dry-run=client also 'json' or 'yaml' for the plan, as diff prints it")
	flags.Complete(cmd, "output", console.OutputEvents, console.OutputName, "json", "yaml")
	addOperators(cmd, &f.operators)
	addAssumeServing(cmd, &f.assumeServing)
	addWait(cmd, &f.wait, &f.timeout, "until the addresses are in the Services' status, the DNS records are served, and with --workloads the workloads are ready")
	cmd.Flags().BoolVar(&f.prune, "prune", true, "Remove what the lease no longer defines")
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false, "Accept a definition that defines nothing; with --prune it removes everything that the lease has")
	cmd.Flags().StringVar(&f.plan, flagPlan, "", "A file with a plan, as printed by \"diff -o json\" or \"-o yaml\"; - is standard input")
	addConcurrency(cmd, &f.concurrency)
	addAssumeCrashed(cmd, &f.assumeCrashed)
	return cmd
}

func (f *applyFlags) toOptions(c *session.Session) (*applyOptions, error) {
	in, err := f.input.ToOptions(&c.Console)
	if err != nil {
		return nil, err
	}
	o := &applyOptions{applyFlags: *f, input: in}
	for _, check := range []error{checkDryRun(&o.dryRun), flags.CheckTarget(o.target), checkOperators(o.operators), o.checkOutput(), checkConcurrency(o.concurrency), o.proof.check()} {
		if check != nil {
			return nil, check
		}
	}
	if !o.wait {
		o.timeout = 0
	}
	return o, nil
}

// asPlan is true where a dry run is to print the plan as data.
func (f *applyFlags) asPlan() bool { return f.output == "json" || f.output == "yaml" }

func (f *applyFlags) checkOutput() error {
	switch {
	case !f.asPlan():
		return checkOutput(f.output)
	case f.dryRun != command.DryRunClient:
		return usage.Errorf("--output %s prints the plan, which --dry-run=client makes", f.output)
	}
	return nil
}

func (o *applyOptions) run(ctx context.Context, c *session.Session) error {
	cluster, cfg, err := c.Open(ctx, o.concurrency)
	if err != nil {
		return err
	}
	if o.target != "" {
		cfg.Target = o.target
	}
	workloads, params, err := o.workloads.Applied(ctx, cfg)
	if err != nil {
		return err
	}
	o.input.Workloads = workloads != nil
	defs, err := o.input.Collect(ctx, &c.Console, cluster, cfg)
	if err != nil {
		return err
	}
	if err := checkOne(workloads, defs); err != nil {
		return err
	}
	if err := notEmpty(defs, o.allowEmpty); err != nil {
		return err
	}
	for _, def := range defs {
		c.Warn(render.Warnings(def, cfg))
	}
	prove, err := o.proof.prove(cfg)
	if err != nil {
		return err
	}
	c.Leases = len(defs)
	if o.asPlan() {
		plan, err := planned(ctx, cluster, command.Options{
			Config: cfg, Prune: o.prune, Operators: o.operators, AssumeServing: o.assumeServing, Prove: prove, Concurrency: o.concurrency,
			Workloads: workloads, Adopt: o.adopt,
		}, defs, params)
		if err == nil {
			err = printPlan(&c.Console, plan, o.output)
		}
		return errors.Join(err, refusals(plan))
	}
	opts := command.Options{
		Config: cfg, DryRun: o.dryRun, Prune: o.prune, Wait: o.timeout, Operators: o.operators, AssumeServing: o.assumeServing,
		Workloads: workloads, Adopt: o.adopt, Prove: prove, AssumeCrashed: o.assumeCrashed, Version: version.Version, Concurrency: o.concurrency,
	}
	if o.dryRun == command.DryRunClient && o.output == "" {
		return preview(ctx, &c.Console, cluster, opts, defs)
	}
	events := console.NewEvents(&c.Console, o.output, o.dryRun)
	opts.Report, opts.Progress = events.Report, events.Progress
	return apply.New(cluster, opts).Apply(ctx, defs)
}

// notEmpty refuses definitions that define nothing: with them, everything would be pruned.
func notEmpty(defs []*lease.Definition, allowed bool) error {
	if allowed {
		return nil
	}
	if len(defs) == 0 {
		return lease.Problems{{Message: "the input holds no lease definition"}}
	}
	var problems lease.Problems
	for _, def := range defs {
		if !def.Exposes() && (def.Workloads == nil || len(def.Workloads.Services) == 0) {
			problems.Add(def.At, "lease %s defines no host and no address; --allow-empty takes it all the same", def.Lease)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// checkOne refuses scheduler params for more than one lease: they do not say whose they are.
func checkOne(w *command.Workloads, defs []*lease.Definition) error {
	if w == nil || w.Scheduler == nil || len(defs) < 2 {
		return nil
	}
	return lease.Problems{{At: defs[1].At, Message: "--scheduler-params is for one lease, and this is another"}}
}
