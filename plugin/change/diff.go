package change

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/examination"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/examine"
)

// diffFlags are the arguments and flags of diff.
type diffFlags struct {
	leaseCommand
	ledger       flags.Ledger
	requireProof bool
	// kept are the leases to compare with the definitions that the ledger keeps.
	kept []thing.Thing
}

// NewDiff returns the command that shows what apply would change.
func NewDiff(c *session.Session) *cobra.Command {
	f := &diffFlags{leaseCommand: leaseCommand{c: c}}
	cmd := &cobra.Command{
		Use:   "diff (-f FILE [--lease LEASE] | LEASE...)",
		Short: "Show what apply would change",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			return diffError(readOnly(cmd.Context(), func(ctx context.Context) error { return f.run(ctx) }))
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Lease),
	}
	f.input.Add(cmd)
	f.workloads.Add(cmd, "Compare")
	cmd.Flags().BoolVar(&f.requireProof, flagRequireProof, false,
		"Let the plan claim nothing for a lease unless DNS proves that the tenant controls its hosts: \"apply --plan\" asks")
	flags.AddTarget(cmd, &f.target)
	flags.AddOperators(cmd, &f.operators)
	f.addBool(cmd, "adopt", "assume-serving")
	flags.AddOutput(cmd, &f.output, "", ": the plan, or the names of what changes", "json", "yaml", console.OutputName)
	flags.AddColor(cmd, &c.Color)
	f.ledger.Add(cmd, "What to compare with", flags.LedgerCluster)
	cmd.Flags().BoolVar(&f.prune, "prune", true, "Show what would be removed because the lease no longer defines it")
	cmd.Flags().BoolVar(&f.allowEmpty, "allow-empty", false,
		"Accept a definition that defines nothing; with --prune it would remove everything that the lease has")
	flags.AddConcurrency(cmd, &f.concurrency)
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease, Offline: f.ledger.IsFiles})
}

// check validates the flags, and parses the leases in args.
func (f *diffFlags) check(args []string) (err error) {
	if err := f.ledger.Check(&f.input.Names); err != nil {
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

func (f *diffFlags) run(ctx context.Context) error {
	if f.kept != nil && (f.workloads.Requested() || f.adopt) {
		return usage.Errorf("the definition that the ledger keeps says nothing of what a LEASE runs: " +
			"--workloads, --scheduler-params and --adopt require -f")
	}
	if err := f.openLedger(ctx); err != nil {
		return err
	}
	planOf, read := apply.Plan, f.collect
	if f.kept != nil {
		planOf, read = apply.PlanKept, f.collectKept
	}
	if err := read(ctx); err != nil {
		return err
	}
	for _, def := range f.defs {
		f.c.Warn(render.Warnings(def, f.cfg))
	}
	opts := f.options(&console.Events{})
	opts.Report, opts.Progress = nil, nil
	plan, err := planOf(ctx, f.cluster, opts, f.defs)
	if err != nil {
		return err
	}
	plan.Settings.RequireDNSProof = f.requireProof
	if plan, err = withDefinitions(plan, f.defs, f.params); err != nil {
		return err
	}
	return beside(f.unread, f.show(ctx, plan))
}

// collectKept reads the definitions that the ledger keeps of the named leases, without duplicates. They have no workloads, and may be empty.
func (f *diffFlags) collectKept(ctx context.Context) (err error) {
	f.runs = nil
	var groups []lease.Group
	var leases []thing.Thing
	for _, t := range f.kept {
		if !slices.Contains(groups, t.Group) {
			groups, leases = append(groups, t.Group), append(leases, t)
		}
	}
	if f.defs, err = reading.KeptDefinitions(ctx, f.cluster, f.cfg.LedgerNamespace, groups); err != nil {
		return err
	}
	f.c.Leases = len(f.defs)
	return flags.MissingThings(leases, func(t thing.Thing) bool {
		return !slices.ContainsFunc(f.defs, func(d *lease.Definition) bool { return d.Lease.Group() == t.Group })
	}, "no definition of %s is kept in namespace %s: the next apply of the lease keeps it (kubectl akash-net apply -f FILE); "+
		"until then compare with a file (kubectl akash-net diff -f FILE)", f.cfg.LedgerNamespace)
}

// show prints the plan. It returns a *console.ReportedError if there are differences.
func (f *diffFlags) show(ctx context.Context, p plan.Plan) error {
	if f.output == "" {
		program, err := externalDiff()
		if err != nil {
			return err
		}
		if len(program) > 0 {
			return runExternalDiff(ctx, &f.c.Console, program, p)
		}
	}
	if err := printPlan(&f.c.Console, p, f.output); err != nil {
		return err
	}
	if p.Differs() {
		return &console.ReportedError{Message: "there are differences"}
	}
	return nil
}

// externalParameter matches the parameters that kubectl accepts in KUBECTL_EXTERNAL_DIFF.
var externalParameter = lazy.Pattern(`^[a-zA-Z0-9-=]+$`)

// externalDiff returns the program in KUBECTL_EXTERNAL_DIFF and its parameters, or nil if the variable is empty. Like kubectl,
// it drops words that are not parameters.
func externalDiff() ([]string, error) {
	words := strings.Fields(os.Getenv("KUBECTL_EXTERNAL_DIFF"))
	if len(words) == 0 {
		return nil, nil
	}
	program := words[:1:1]
	for _, word := range words[1:] {
		if externalParameter().MatchString(word) {
			program = append(program, word)
		}
	}
	path, err := exec.LookPath(program[0])
	if err != nil {
		return nil, &console.DiffError{Err: errors.New("KUBECTL_EXTERNAL_DIFF: " + err.Error())}
	}
	program[0] = path
	return program, nil
}

// runExternalDiff runs a program that compares the current objects with the changed ones. The exit code 1 of the program means
// that they differ, and a higher one that it failed, as with diff(1).
func runExternalDiff(ctx context.Context, c *console.Console, program []string, p plan.Plan) (err error) {
	folders := make([]string, 2)
	for i, name := range []string{"LIVE-", "MERGED-"} {
		folder, err := os.MkdirTemp("", name)
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // the system cleans up its temporary folders
		folders[i] = folder
	}
	for _, l := range p.Leases {
		for _, change := range l.Changes {
			for i, object := range []map[string]any{change.Before, change.After} {
				if object == nil {
					continue
				}
				text, err := document.Marshal(object)
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(folders[i], fileName(change)), text, 0o600); err != nil {
					return err
				}
			}
		}
	}
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], folders...)...) //nolint:gosec // the user names the program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, terminal.Unwrap(c.Out), c.ErrOut
	err = cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if ok && exit.ExitCode() == 1 || err == nil && p.Differs() {
		return &console.ReportedError{Message: "there are differences"}
	}
	return err
}

// fileName returns the name of an object's file, without the asterisk of a wildcard.
func fileName(c plan.Change) string {
	name := c.Kind + "." + c.Name
	if c.Namespace != "" {
		name = c.Kind + "." + c.Namespace + "." + c.Name
	}
	return strings.NewReplacer("/", "_", string(filepath.Separator), "_", "*", "_").Replace(name)
}

// clusterOfFiles returns a cluster with the objects in the files of --ledger, and the provider's configuration: that of --config,
// or of the ConfigMap among the objects. unread are the errors in the files; the cluster has the other objects. unowned is the
// number of objects that were exported without managed fields.
func clusterOfFiles(
	ctx context.Context, c *session.Session, from *flags.Ledger,
) (of *cluster.Cluster, cfg *config.ProviderConfig, unread lease.Problems, unowned int, err error) {
	if cfg, err = c.Configuration(ctx, nil); err != nil {
		return nil, nil, nil, 0, err
	}
	debug.SetGCPercent(75) // much is decoded for a look, and little is kept
	var objects apply.Files
	found, err := from.Read(ctx, c.In, cfg.Limits, true, objects.Add)
	if err != nil {
		return nil, nil, nil, 0, err
	}
	c.Warn(found)
	if of, err = objects.Cluster(); err == nil && c.ConfigFile == "" {
		cfg, err = c.Configuration(ctx, of)
	}
	return of, cfg, found.Errors(), objects.Unowned, err
}

// readOnly runs a command that writes nothing, and so has nothing to give back: it ends with the context, whatever it is doing.
func readOnly(ctx context.Context, run func(context.Context) error) error {
	_, err := parallel.Abandonable(ctx, func() (any, error) { return nil, run(ctx) })
	return err
}

// openLedger opens the cluster or the files to compare with. All files count: without one of them the diff would show what is not so.
func (f *diffFlags) openLedger(ctx context.Context) error {
	if !f.ledger.IsFiles() {
		return f.open(ctx)
	}
	of, cfg, unread, unowned, err := clusterOfFiles(ctx, f.c, &f.ledger)
	switch {
	case len(unread) > 0:
		return unread
	case err != nil:
		return err
	}
	if unowned > 0 {
		objects := "1 object was"
		if unowned > 1 {
			objects = fmt.Sprint(unowned, " objects were")
		}
		f.c.Warn(lease.Problems{{Warning: true, Message: "--ledger: " + objects +
			" exported without managed fields, so values that apply would remove are not shown; export with: kubectl get -o yaml " +
			"--show-managed-fields"}})
	}
	f.cluster, f.cfg = of, cfg
	return f.configure(ctx)
}

// foresight says, at the end of the dry run of a lease, what the command would wait for that is not there. A dry run assumes that its
// writes have the effects which the command would wait for.
type foresight struct {
	// waited are the kinds of written objects for which the command waits.
	waited []kinds.Kind
	next   func(report.Event)
	// seen reads what serves such objects; it returns nil if that fails, and then nothing is said of it.
	seen    func() *examine.Seen
	written map[lease.ID][]kinds.Kind
}

// foresee returns the foresight of a dry run of which next reports the events. routes are the kinds of routes for which the command
// waits.
func foresee(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, next func(report.Event), routes ...kinds.Kind) *foresight {
	return &foresight{
		waited: append(slices.Clone(routes), kinds.Service), next: next, written: map[lease.ID][]kinds.Kind{},
		seen: sync.OnceValue(func() *examine.Seen {
			seen, err := examination.ReadServing(ctx, c, cfg)
			if err != nil {
				return nil
			}
			return seen
		}),
	}
}

// report reports an event.
func (f *foresight) report(e report.Event) {
	switch e.Action {
	case report.Created, report.Configured:
		if k := kinds.Of(e.Kind); slices.Contains(f.waited, k) && (k != kinds.Service || workload.IsLeasedPort(e.Name)) {
			f.written[e.Lease] = append(f.written[e.Lease], k)
		}
	case report.Failed:
		delete(f.written, e.Lease)
	case report.Done:
		if s := e.Summary; s != nil {
			with := *s
			with.Lacks, with.Doubts = f.lacks(e.Lease)
			e.Summary = &with
		}
		delete(f.written, e.Lease)
	}
	f.next(e)
}

func (f *foresight) lacks(id lease.ID) (lacks, doubts []string) {
	if len(f.written[id]) == 0 {
		return nil, nil
	}
	if seen := f.seen(); seen != nil {
		return seen.Lacks(f.written[id])
	}
	return nil, nil
}

// end reports what is not there for leases without a last event.
func (f *foresight) end() {
	for id := range f.written {
		if lacks, _ := f.lacks(id); len(lacks) > 0 {
			f.next(report.Event{
				Time: time.Now(), Action: report.Done, Lease: id, Kind: "lease", Name: id.String(), Message: "applied", Summary: &report.Summary{Lacks: lacks},
			})
		}
	}
}
