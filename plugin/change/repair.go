package change

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
)

// repairFlags are the flags of repair.
type repairFlags struct {
	// leases and things are those whose problems are to be fixed, a thing by its name without the kind.
	leases []lease.Group
	things []string
	// namespace limits the repair to leases of a namespace; "" for all.
	namespace string
	leaseCommand
	crashed crashedFlags
}

// NewRepair returns the command that fixes what "state --problems" lists.
func NewRepair(c *session.Session) *cobra.Command {
	f := &repairFlags{leaseCommand: leaseCommand{c: c}}
	cmd := &cobra.Command{
		Use:   "repair [LEASE|HOST|IP|PROBLEM/THING...] [-f FILE]",
		Short: "Fix what \"state --problems\" lists",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.leases, f.things, args = splitNames(args)
			if err := f.checkAll(args); err != nil {
				return err
			}
			f.namespace = session.GivenNamespace(cmd)
			return f.run(cmd.Context(), args)
		},
		ValidArgsFunction: completeProblems(c),
	}
	f.input.Add(cmd)
	f.add(cmd, "")
	f.addBool(cmd, "assume-serving")
	f.addWait(cmd,
		"until objects with finalizers, or that Akash's operators delete, are gone, and for what is applied again, as apply does")
	f.crashed.add(cmd)
	f.proof.add(cmd, flagRequireProof, proofUsage)
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease, Namespace: func(names []string) string {
		if len(names) > 0 {
			return "it chooses among all problems: leave it out where something is named"
		}
		return ""
	}})
}

// checkAll validates the flags, and rewrites the names of problems in place to their canonical form.
func (f *repairFlags) checkAll(names []string) error {
	if err := cmp.Or(f.crashed.check(), f.proof.check()); err != nil {
		return err
	}
	if f.dryRun == command.DryRunServer {
		return usage.Errorf("--dry-run=server is not supported: later repairs depend on earlier ones, " +
			"which the server does not persist; use \"client\"")
	}
	for i, name := range names {
		name = strings.TrimPrefix(name, console.ProblemPrefix)
		names[i] = problemName(name)
		switch kind, thing, _ := strings.Cut(name, "/"); {
		case !slices.Contains(state.ProblemKinds, kind):
			return usage.Errorf("%s: there is no problem %q; %s are known", name, kind, strings.Join(state.ProblemKinds, ", "))
		case thing == "":
			return usage.Errorf("%s does not name a thing: name a problem as PROBLEM/THING", name)
		}
	}
	switch {
	case f.input.Given():
		return f.input.Check()
	case f.input.Lease != "":
		return usage.Errorf("--lease requires -f or --from-cluster")
	}
	return nil
}

func (f *repairFlags) run(ctx context.Context, names []string) error {
	if err := f.open(ctx); err != nil {
		return err
	}
	opts := repair.Options{CrashedAfter: f.crashed.after, Of: diagnose.Selection{Problems: names, Leases: f.leases, Things: f.things, Namespace: f.namespace}, ConfigFile: f.c.ConfigFile}
	if f.input.Given() {
		if err := f.collect(ctx); err != nil {
			return err
		}
		opts.Definitions = f.defs
		f.c.Leases = 0 // as many as have problems
	}
	events := f.events()
	var found atomic.Bool
	with := f.options(events)
	with.Report = func(e report.Event) {
		found.Store(true)
		events.Report(e)
	}
	err := repair.Repair(ctx, apply.New(f.cluster, with), opts)
	if err == nil && !found.Load() && f.output == "" {
		fmt.Fprintln(f.c.ErrOut, "Nothing to repair. Edits by hand are in \"kubectl akash-net state --problems\", if there are any.")
	}
	return beside(f.unread, err)
}

// splitNames returns the leases, the hosts and addresses, and the names of problems among the arguments.
func splitNames(args []string) (leases []lease.Group, things, problems []string) {
	for _, arg := range args {
		t, err := thing.Parse(arg)
		if l, lerr := thing.ParseLease(arg); lerr == nil {
			t, err = l, nil
		}
		switch {
		case err == nil && t.Kind == thing.Lease:
			leases = append(leases, t.Group)
		case err == nil && t.Kind == thing.Host && strings.Contains(t.Host, "."): // a problem's name has no dot before its slash
			things = append(things, t.Host)
		case err == nil && t.Kind == thing.Address:
			things = append(things, t.Name())
		default:
			problems = append(problems, arg)
		}
	}
	return leases, things, problems
}

// problemName returns PROBLEM/THING with the thing in the form of state.Problem.Name.
func problemName(name string) string {
	kind, text, _ := strings.Cut(name, "/")
	t, err := thing.Parse(text)
	switch {
	case err != nil:
		return name
	case t.Kind == thing.Order: // the names of problems with orders include the kind
		return kind + "/" + t.String()
	}
	return kind + "/" + t.Name()
}

// completeProblems completes the current problems.
func completeProblems(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return c.Complete(func(ctx context.Context, in *cluster.Cluster, cfg *config.ProviderConfig, _ string) ([]string, error) {
			crashedAfter, err := cmd.Flags().GetDuration(flags.FlagCrashedAfter)
			if err != nil {
				return nil, err
			}
			var out []string
			problems, err := diagnosis.Problems(ctx, in, cfg, crashedAfter, "")
			for _, p := range problems {
				if !slices.Contains(args, p.Name()) {
					out = append(out, p.Name()+"\t"+p.Message)
				}
			}
			return out, err
		})(cmd, args, toComplete)
	}
}

// crashedFlags are the flags that define crashed runs.
type crashedFlags struct {
	after  time.Duration
	assume bool
}

const (
	flagAssumeCrashed = "assume-crashed"

	// minCrashedAfter is the time without a write after which a run may count as crashed. A slow API server, or a laptop that
	// was closed for a moment, delays the writes of a live run.
	minCrashedAfter = time.Minute
)

func (f *crashedFlags) add(cmd *cobra.Command) {
	flags.AddCrashedAfter(cmd, &f.after)
	cmd.Flags().BoolVar(&f.assume, flagAssumeCrashed, false,
		"Allow --crashed-after below 1m: a run that is only slow also counts as crashed, and loses what it has taken")
}

func (f *crashedFlags) check() error {
	if f.after < minCrashedAfter && !f.assume {
		return usage.Errorf("--crashed-after must be at least 1m, not %s: a run may work and write nothing for that long, "+
			"and would lose what it has taken. If no run is under way, add --assume-crashed", f.after)
	}
	return nil
}
