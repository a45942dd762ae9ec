// Package change has the commands that change what leases hold, and those that preview changes.
package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/dnsproof"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	changeFlags
	input                    flags.Input
	proof                    proofFlags
	workloads                flags.Workloads
	target                   string
	adopt, prune, allowEmpty bool
	forceConflicts           bool
	// plan is the file with a plan to execute.
	plan string
}

// NewApply returns the command that claims and configures everything that leases define.
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

			A field that another manager has set otherwise ends the lease with exit code 1: the message has both
			values and the manager. With --force-conflicts fields are taken back that kubectl users have set on
			objects of the lease, at the version that was read; what is overwritten is printed.

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
		Args: flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.plan != "" {
				if err := cmp.Or(checkPlanFlags(cmd), f.check()); err != nil {
					return err
				}
				return f.executePlan(cmd.Context(), c)
			}
			if err := f.checkAll(); err != nil {
				return err
			}
			return f.run(cmd.Context(), c)
		},
	}
	f.input.Add(cmd)
	f.proof.add(cmd, flagRequireProof, proofUsage)
	f.workloads.Add(cmd, "Apply")
	addAdopt(cmd, &f.adopt)
	flags.AddTarget(cmd, &f.target)
	flags.AddColor(cmd, &c.Color)
	addDryRun(cmd, &f.dryRun)
	f.add(cmd, "json", "yaml")
	cmd.Flags().Lookup("output").Usage += "; with --dry-run=client also 'json' or 'yaml' for the plan, as diff prints it"
	addAssumeServing(cmd, &f.assumeServing)
	f.addWait(cmd,
		"until the addresses are in the Services' status, the DNS records are served, and with --workloads the workloads are ready")
	cmd.Flags().BoolVar(&f.prune, "prune", true, "Remove what the lease no longer defines")
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false,
		"Accept a definition that defines nothing; with --prune it removes everything that the lease has")
	cmd.Flags().StringVar(&f.plan, flagPlan, "",
		"A file with a plan, as printed by \"diff -o json\" or \"-o yaml\"; - is standard input")
	cmd.Flags().BoolVar(&f.forceConflicts, flagForceConflicts, false,
		"Take back fields of the leases' own objects that kubectl users have set. Claims and other managers' fields are never forced")
	f.addAssumeCrashed(cmd)
	return c.SetScope(cmd, session.Scope{Leases: session.LeaseFlag})
}

func (f *applyFlags) checkAll() error {
	if err := cmp.Or(f.input.Check(), f.check("json", "yaml"), flags.CheckTarget(f.target), f.proof.check()); err != nil {
		return err
	}
	if f.asPlan() && f.dryRun != command.DryRunClient {
		return usage.Errorf("--output %s prints the plan, which --dry-run=client makes", f.output)
	}
	return nil
}

// asPlan reports whether a dry run prints the plan as JSON or YAML.
func (f *applyFlags) asPlan() bool { return f.output == "json" || f.output == "yaml" }

func (f *applyFlags) run(ctx context.Context, c *session.Session) error {
	cluster, cfg, err := c.Open(ctx, f.concurrency)
	if err != nil {
		return err
	}
	if f.target != "" {
		cfg.Target = f.target
	}
	workloads, params, err := f.workloads.Load(ctx, cfg)
	if err != nil {
		return err
	}
	f.input.Workloads = workloads != nil
	defs, unread, err := collect(ctx, &c.Console, &f.input, cluster, cfg, f.allowEmpty)
	if err == nil {
		err = checkScheduler(workloads, defs)
	}
	if err != nil {
		return err
	}
	for _, def := range defs {
		c.Warn(render.Warnings(def, cfg))
	}
	prove, err := f.proof.prove(cfg)
	if err != nil {
		return err
	}
	c.Leases = len(defs)
	opts := f.options(cfg, console.NewEvents(&c.Console, f.output, f.dryRun))
	opts.Target = f.target
	opts.Prune, opts.Workloads, opts.Adopt, opts.Prove, opts.Reclaim = f.prune, workloads, f.adopt, prove, f.forceConflicts
	switch {
	case f.asPlan():
		plan, err := apply.Plan(ctx, cluster, opts, defs)
		if err == nil {
			plan, err = withDefinitions(plan, defs, params)
		}
		if err == nil {
			err = printPlan(&c.Console, plan, f.output)
		}
		return beside(unread, errors.Join(err, refusals(plan)))
	case f.dryRun == command.DryRunClient && f.output == "":
		return beside(unread, preview(ctx, &c.Console, cluster, opts, defs))
	case f.dryRun != "":
		opts.Report = foresee(ctx, cluster, cfg, opts.Report, kinds.Reporting...).report
	}
	return beside(unread, apply.New(cluster, opts).Apply(ctx, defs))
}

// checkNotEmpty refuses inputs without definitions and definitions without hosts, addresses and workloads, unless allowed:
// apply would prune everything that their leases hold.
func checkNotEmpty(defs []*lease.Definition, allowed bool) error {
	if allowed {
		return nil
	}
	if len(defs) == 0 {
		return lease.Problems{{Message: "the input holds no lease definition"}}
	}
	var problems lease.Problems
	for _, def := range defs {
		if def.Empty() {
			problems.Add(def.At, "lease %s defines no host and no address; --allow-empty takes it all the same", def.Lease)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// checkScheduler refuses scheduler params for several leases, because they do not name their lease.
func checkScheduler(w *command.Workloads, defs []*lease.Definition) error {
	if w == nil || w.Scheduler == nil || len(defs) < 2 {
		return nil
	}
	return lease.Problems{{At: defs[1].At, Message: "--scheduler-params is for one lease, and this is another"}}
}

// proofFlags are the flags for the proof of hosts by DNS.
type proofFlags struct {
	// name is the name of the flag that requests proofs, requested its value.
	name      string
	requested bool
	resolvers []string
	timeout   time.Duration
	flags     *pflag.FlagSet
}

const (
	flagDNS          = "dns"
	flagRequireProof = "require-dns-proof"
	flagResolver     = "resolver"
	flagDNSTimeout   = "dns-timeout"

	proofUsage = "Claim nothing for a lease unless DNS proves that the tenant controls its hosts"
)

func (f *proofFlags) add(cmd *cobra.Command, name, usage string) {
	f.name, f.flags = name, cmd.Flags()
	f.flags.BoolVar(&f.requested, name, false, usage)
	f.flags.StringSliceVar(&f.resolvers, flagResolver, nil,
		"The name servers to ask, HOST[:PORT], in this order until one answers. By default those of "+dnsproof.SystemConfig)
	f.flags.DurationVar(&f.timeout, flagDNSTimeout, 10*time.Second, "How long to look for the proof of one host")
}

// check validates the flags, and parses the name servers.
func (f *proofFlags) check() error {
	if !f.requested {
		for _, name := range []string{flagResolver, flagDNSTimeout} {
			if f.flags.Changed(name) {
				return usage.Errorf("--%s requires --%s", name, f.name)
			}
		}
		return nil
	}
	if f.timeout <= 0 {
		return usage.Errorf("--%s must be more than 0", flagDNSTimeout)
	}
	if f.flags.Changed(flagResolver) && len(f.resolvers) == 0 {
		return usage.Errorf("--%s names no name server", flagResolver)
	}
	for i, text := range f.resolvers {
		server, err := dnsproof.ParseServer(text)
		if err != nil {
			return usage.Errorf("--%s: %w", flagResolver, err)
		}
		f.resolvers[i] = server
	}
	return nil
}

// prove returns the function that proves hosts, or nil if no proofs are requested.
func (f *proofFlags) prove(cfg *config.ProviderConfig) (command.Prove, error) {
	if !f.requested {
		return nil, nil
	}
	servers := f.resolvers
	if len(servers) == 0 {
		var err error
		if servers, err = dnsproof.SystemServers(dnsproof.SystemConfig); err != nil {
			return nil, fmt.Errorf("%w; name one with --%s", err, flagResolver)
		}
	}
	prover := &dnsproof.Prover{Servers: servers, Domain: cfg.Ingress.Domain, Timeout: f.timeout}
	return prover.Prove, nil
}
