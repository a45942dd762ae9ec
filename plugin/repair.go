package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// problemsFound is the exit code of `state --problems` when there are any.
type problemsFound struct{ count int }

func (e *problemsFound) Error() string { return count(e.count, "problem") }

// crashedFlags say which runs count as crashed.
type crashedFlags struct {
	after  time.Duration
	assume bool
}

const (
	flagCrashedAfter  = "crashed-after"
	flagAssumeCrashed = "assume-crashed"

	// leastCrashedAfter is for how long a run that works may write nothing: a slow API server, or a
	// laptop that was closed for a moment, keeps it from writing.
	leastCrashedAfter = time.Minute
)

func addCrashedAfter(cmd *cobra.Command, value *time.Duration) {
	cmd.Flags().DurationVar(value, flagCrashedAfter, 2*time.Minute, "How long a run may write nothing before it counts as crashed")
}

func (f *crashedFlags) add(cmd *cobra.Command) {
	addCrashedAfter(cmd, &f.after)
	cmd.Flags().BoolVar(&f.assume, flagAssumeCrashed, false, "Allow --crashed-after below 1m: a run that is only slow also counts as crashed, and loses what it has taken")
}

func (f *crashedFlags) check() error {
	if f.after < leastCrashedAfter && !f.assume {
		return usage.Errorf("--crashed-after must be at least %s, not %s: a run may work and write nothing for that long, and would lose what it has taken. If no run is under way, add --assume-crashed", "1m", f.after)
	}
	return nil
}

// repairFlags are the flags of repair as they are typed.
type repairFlags struct {
	// namespace is that of the leases whose problems are mended, empty for all.
	namespace     string
	input         inputFlags
	dryRun        string
	output        string
	operators     string
	assumeServing bool
	crashed       crashedFlags
	wait          bool
	timeout       time.Duration
	concurrency   int
}

func newRepair(c *cli) *cobra.Command {
	f := &repairFlags{}
	cmd := &cobra.Command{
		Use:   "repair [PROBLEM/THING...] [-f FILE]",
		Short: "Fix what \"state --problems\" lists",
		Long: `
			Fix what "state --problems" lists, and print a line for each problem: finish or undo crashed runs,
			give up expired holds, claim what is served without a claim, delete stray routes, create missing
			pools, and write the missing objects of a lease from the definition that the ledger keeps. Nothing
			that belongs to a live claim is touched.

			Problems that need an explicit decision remain: their line ends with the command that fixes them,
			and the exit code is 1. If problems are named, only those are fixed. Some problems need the
			definitions of leases: give them with -f, as for "apply". Leases whose problem their definition
			fixes are applied again, and the other definitions are not applied.`,
		Example: `
			# Preview
			kubectl akash-net repair --dry-run

			kubectl akash-net repair

			# With the definitions of all leases, from Git
			kubectl akash-net repair -f leases/ -R

			# Give up a blocked host, whoever holds it
			kubectl akash-net repair BlockedHost/bad.example.com`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := f.check(c, args)
			if err != nil {
				return err
			}
			f.namespace = givenNamespace(cmd)
			return f.run(cmd.Context(), c, in, args)
		},
		ValidArgsFunction: c.completeProblems,
	}
	f.input.add(cmd)
	addDryRun(cmd, &f.dryRun)
	addOutput(cmd, &f.output)
	addOperators(cmd, &f.operators)
	addAssumeServing(cmd, &f.assumeServing)
	addWait(cmd, &f.wait, &f.timeout, "until objects with finalizers, or that Akash's operators delete, are gone, and for what is applied again, as apply does")
	addConcurrency(cmd, &f.concurrency)
	f.crashed.add(cmd)
	return c.setScope(cmd, scope{namespace: f.namespaceUse})
}

// namespaceUse says why --namespace cannot be used with named problems.
func (f *repairFlags) namespaceUse(names []string) string {
	if len(names) > 0 {
		return "it chooses among all problems: leave it out where problems are named"
	}
	return ""
}

// check judges the flags, and the form of the problems that are named. The answer is nil where no
// input is given.
func (f *repairFlags) check(c *cli, names []string) (*inputOptions, error) {
	for _, check := range []error{checkDryRun(&f.dryRun), checkOperators(f.operators), checkOutput(f.output), checkConcurrency(f.concurrency), f.crashed.check()} {
		if check != nil {
			return nil, check
		}
	}
	if f.dryRun == apply.DryRunServer {
		return nil, usage.Errorf(`--dry-run must be "none" or "client": a plan rests on steps that the server does not keep`)
	}
	for i, name := range names {
		name = strings.TrimPrefix(name, problemPrefix)
		names[i] = problemName(name)
		switch kind, thing, _ := strings.Cut(name, "/"); {
		case !slices.Contains(state.ProblemKinds, kind):
			return nil, usage.Errorf("%s: there is no problem %q; %s are known", name, kind, strings.Join(state.ProblemKinds, ", "))
		case thing == "":
			return nil, usage.Errorf("%s: of which thing? A problem is named PROBLEM/THING", name)
		}
	}
	if !f.wait {
		f.timeout = 0
	}
	if len(f.input.Files) == 0 && !f.input.fromCluster {
		if f.input.lease != "" || f.input.Recursive {
			return nil, usage.Errorf("--lease and -R go with -f or --from-cluster")
		}
		return nil, nil //nolint:nilnil // no input is an answer
	}
	return f.input.toOptions(&c.console)
}

func (f *repairFlags) run(ctx context.Context, c *cli, in *inputOptions, names []string) error {
	cluster, cfg, err := c.open(ctx, f.concurrency)
	if err != nil {
		return err
	}
	opts := apply.RepairOptions{CrashedAfter: f.crashed.after, Problems: names, Namespace: f.namespace, ConfigFile: c.configFile}
	if in != nil {
		if opts.Definitions, err = in.collect(ctx, &c.console, cluster, cfg); err != nil {
			return err
		}
		if err := notEmpty(opts.Definitions, false); err != nil {
			return err
		}
	}
	events := newEvents(&c.console, f.output, f.dryRun)
	var found atomic.Bool
	err = apply.New(cluster, apply.Options{
		Config: cfg, DryRun: f.dryRun, Wait: f.timeout, Operators: f.operators, AssumeServing: f.assumeServing, Version: version, Concurrency: f.concurrency,
		Progress: events.progress,
		Report: func(e apply.Event) {
			found.Store(true)
			events.report(e)
		},
	}).Repair(ctx, opts)
	if err == nil && !found.Load() && f.output == "" {
		c.noProblems()
	}
	return err
}

// noProblems says that there are none.
func (c *console) noProblems() { fmt.Fprintln(c.ErrOut, "No problems.") }

// problemPrefix is the word before problems where names are printed.
const problemPrefix = "problem/"

// problemName is PROBLEM/THING with the thing as problems name it, whatever way it was typed.
func problemName(name string) string {
	kind, text, _ := strings.Cut(name, "/")
	t, err := thing.Parse(text)
	switch {
	case err != nil:
		return name
	case t.Kind == thing.Order: // problems name them with the word
		return kind + "/" + t.String()
	}
	return kind + "/" + t.Name()
}

// completeProblems offers the problems that there are.
func (c *connection) completeProblems(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return c.complete(func(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, _ string) (out []string, err error) {
		crashedAfter, err := cmd.Flags().GetDuration(flagCrashedAfter)
		if err != nil {
			return nil, err
		}
		problems, err := apply.Problems(ctx, cluster, cfg, crashedAfter, "")
		for _, p := range problems {
			if !slices.Contains(args, p.Name()) {
				out = append(out, p.Name()+"\t"+p.Message)
			}
		}
		return out, err
	})(cmd, args, toComplete)
}

func (f *stateFlags) showProblems(ctx context.Context, c *cli, cluster *cluster.Cluster, cfg *config.ProviderConfig, show printing.Printer) error {
	problems, err := apply.Problems(ctx, cluster, cfg, f.crashedAfter, f.namespace)
	if err != nil {
		return err
	}
	book := &view.Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Problems: problems}
	if len(problems) == 0 {
		book.Problems = []state.Problem{}
		if f.print.IsTable() {
			c.noProblems()
		}
	}
	if err := show(book); err != nil {
		return err
	}
	if len(problems) > 0 {
		return &problemsFound{count: len(problems)}
	}
	return nil
}
