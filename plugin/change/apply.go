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
	"github.com/akash-net/kubectl-akash-net/apply/dnsproof"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	leaseCommand
	// plan is the file with a plan to execute.
	plan string
}

// NewApply returns the command that claims and configures everything that leases define.
func NewApply(c *session.Session) *cobra.Command {
	f := &applyFlags{leaseCommand: leaseCommand{c: c}}
	cmd := &cobra.Command{
		Use:   "apply -f FILE [--lease LEASE] | apply --plan FILE",
		Short: "Claim and configure everything a lease defines",
		Args:  flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.plan != "" {
				if err := checkPlanFlags(cmd); err != nil {
					return err
				}
				return f.executePlan(cmd.Context())
			}
			if err := f.checkAll(); err != nil {
				return err
			}
			return f.run(cmd.Context())
		},
	}
	f.input.Add(cmd)
	f.proof.add(cmd, flagRequireProof, proofUsage)
	f.workloads.Add(cmd, "Apply")
	flags.AddTarget(cmd, &f.target)
	flags.AddColor(cmd, &c.Color)
	f.add(cmd, "; 'json' and 'yaml' are the plan of --dry-run=client, as diff prints it", "json", "yaml")
	f.addBool(cmd, "adopt", "assume-serving", flagAssumeCrashed)
	f.addWait(cmd,
		"until the addresses are in the Services' status, the DNS records are served, and with --workloads the workloads are ready")
	cmd.Flags().BoolVar(&f.prune, "prune", true, "Remove what the lease no longer defines")
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false,
		"Accept a definition that defines nothing; with --prune it removes everything that the lease has")
	cmd.Flags().StringVar(&f.plan, flagPlan, "",
		"A file with a plan, as printed by \"diff -o json\" or \"-o yaml\"; - is standard input")
	cmd.Flags().BoolVar(&f.takesBack, flagForceConflicts, false,
		"Take back fields of the leases' own objects that kubectl users have set. Claims and other managers' fields are never forced")
	return c.SetScope(cmd, session.Scope{Leases: session.LeaseFlag, Claims: true})
}

func (f *applyFlags) checkAll() error {
	if err := cmp.Or(f.input.Check(), f.proof.check()); err != nil {
		return err
	}
	if f.asPlan() && f.dryRun != command.DryRunClient {
		return usage.Errorf("--output %s prints the plan, which --dry-run=client makes", f.output)
	}
	return nil
}

// asPlan reports whether a dry run prints the plan as JSON or YAML.
func (f *applyFlags) asPlan() bool { return f.output == "json" || f.output == "yaml" }

func (f *applyFlags) run(ctx context.Context) error {
	f.c.Room()
	if err := f.open(ctx); err != nil {
		return err
	}
	if err := f.collect(ctx); err != nil {
		return err
	}
	for _, def := range f.defs {
		f.c.Warn(render.Warnings(def, f.cfg))
	}
	opts := f.options(f.events())
	switch {
	case f.asPlan():
		plan, err := apply.Plan(ctx, f.cluster, opts, f.defs)
		if err == nil {
			plan, err = withDefinitions(plan, f.defs, f.params)
		}
		if err == nil {
			err = printPlan(&f.c.Console, plan, f.output)
		}
		return beside(f.unread, errors.Join(err, refusals(plan)))
	case f.dryRun == command.DryRunClient && f.output == "":
		return beside(f.unread, preview(ctx, &f.c.Console, f.cluster, opts, f.defs))
	case f.dryRun != "":
		opts.Report = foresee(ctx, f.cluster, f.cfg, opts.Report, kinds.Reporting...).report
	}
	return beside(f.unread, apply.New(f.cluster, opts).Apply(ctx, f.defs))
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
