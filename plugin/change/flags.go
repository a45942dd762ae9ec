package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// leaseCommand is a command on leases. It has the flags that such commands share, of which each has those that it adds, and what it
// works with, which open and collect complete. In kubectl's order: flags are completed, validated, and then it runs.
type leaseCommand struct {
	c *session.Session

	output, dryRun, operators, target           string
	adopt, assumeServing, assumeCrashed, wait   bool
	prune, allowEmpty, ignoreMissing, takesBack bool
	timeout                                     time.Duration
	concurrency                                 int
	input                                       flags.Input
	proof                                       proofFlags
	workloads                                   flags.Workloads

	cluster *cluster.Cluster
	cfg     *config.ProviderConfig
	// runs is how workloads are applied, nil if they are not, and params the text of their scheduler params.
	runs   *command.Workloads
	params []byte
	prove  command.Prove
	// defs are the definitions in the input; unread says of others why they cannot be applied, and stops none of these.
	defs   []*lease.Definition
	unread error
}

// add adds the flags that all these commands have which write. note says more of --output, which has additional formats.
func (f *leaseCommand) add(cmd *cobra.Command, note string, formats ...string) {
	flags.AddDryRun(cmd, &f.dryRun)
	f.addShared(cmd, note, formats...)
}

// addShared adds those that one which only reads has, too.
func (f *leaseCommand) addShared(cmd *cobra.Command, note string, formats ...string) {
	flags.AddEvents(cmd, &f.output, note, formats...)
	flags.AddOperators(cmd, &f.operators)
	flags.AddConcurrency(cmd, &f.concurrency)
}

// addWait adds --wait and --timeout.
func (f *leaseCommand) addWait(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.wait, "wait", true, "Wait "+what)
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute,
		"How long to wait; after that the exit code is 5. Zero means not to wait, a negative time means to wait for a week")
}

// addBool adds one of the flags that several of these commands have.
func (f *leaseCommand) addBool(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		switch name {
		case "adopt":
			cmd.Flags().BoolVar(&f.adopt, name, false,
				"Take over what objects of the same owner use without a claim, the fields that another program has delivered for the lease, and with "+
					"--workloads what Akash's provider has deployed for it")
		case "assume-serving":
			cmd.Flags().BoolVar(&f.assumeServing, name, false,
				"When a route replaces another one, remove the old one even if no controller has reported that the new one serves")
		case flagAssumeCrashed:
			cmd.Flags().BoolVar(&f.assumeCrashed, name, false,
				"Treat another command that works on the same leases as crashed, without waiting until its announcement expires")
		}
	}
}

// open connects to the cluster, and completes what the flags say by the provider's configuration.
func (f *leaseCommand) open(ctx context.Context) (err error) {
	if f.cluster, f.cfg, err = f.c.Open(ctx, f.concurrency); err != nil {
		return err
	}
	return f.configure(ctx)
}

// configure completes what the flags say by the configuration that was read.
func (f *leaseCommand) configure(ctx context.Context) (err error) {
	if f.target != "" {
		f.cfg.Target = f.target
	}
	if f.workloads.Given != nil {
		if f.runs, f.params, err = f.workloads.Load(ctx, f.cfg); err != nil {
			return err
		}
		f.input.Workloads = f.runs != nil
	}
	f.prove, err = f.proof.prove(f.cfg)
	return err
}

// collect reads the definitions in the input. An error in a file stops the command. The Manifests of a cluster are those of many
// tenants, and a bad one stops no other.
func (f *leaseCommand) collect(ctx context.Context) (err error) {
	f.defs, err = f.input.Collect(ctx, &f.c.Console, f.cluster, f.cfg)
	problems, ok := errors.AsType[lease.Problems](err)
	if err != nil && (!f.input.FromCluster || !ok) {
		return err
	}
	if f.input.FromCluster {
		if f.defs, f.unread = ofManifests(f.defs, problems, f.cfg, f.allowEmpty); len(f.defs) == 0 && f.unread != nil {
			return f.unread
		}
	}
	if !f.input.FromCluster || len(f.defs) == 0 {
		if err := checkNotEmpty(f.defs, f.allowEmpty); err != nil {
			return err
		}
	}
	f.c.Leases = len(f.defs)
	return checkScheduler(f.runs, f.defs)
}

// options returns the options of package apply for these flags. events prints the events.
func (f *leaseCommand) options(events *console.Events) command.Options {
	opts := command.Options{
		Config: f.cfg, Target: f.target, DryRun: f.dryRun, Operators: f.operators, AssumeServing: f.assumeServing, AssumeCrashed: f.assumeCrashed,
		Prune: f.prune, Adopt: f.adopt, Reclaim: f.takesBack, Workloads: f.runs, Prove: f.prove,
		Version: version.Version, Concurrency: f.concurrency, Report: events.Report, Progress: events.Progress,
	}
	switch {
	case f.wait && f.timeout < 0: // as in kubectl wait
		opts.Wait = 7 * 24 * time.Hour
	case f.wait:
		opts.Wait = f.timeout
	}
	return opts
}

// events returns what prints the events of the command.
func (f *leaseCommand) events() *console.Events {
	return console.NewEvents(&f.c.Console, f.output, f.dryRun)
}

// selection are the flags of commands that process named leases, those with matching labels, or all.
type selection struct {
	selector string
	// matches is the parsed selector.
	matches  labels.Selector
	all, yes bool
	// namespace limits -l and --all to leases of a namespace; "" for all.
	namespace string
	// files is true if -f names the leases, by their definitions.
	files bool
	// short is true if arguments are short names of leases: another lease may have such a name than when it was typed before.
	short bool
}

// add adds the flags. verb begins their usage texts.
func (s *selection) add(cmd *cobra.Command, verb string) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "",
		verb+" the leases whose labels (Akash's, akash.network/lease.id.…) match")
	cmd.Flags().BoolVar(&s.all, "all", false, verb+" all leases, after confirmation")
	cmd.Flags().BoolVarP(&s.yes, "yes", "y", false, "Do not ask")
}

// check requires exactly one of args and the flags that select leases, which are listed for messages, and parses the selector.
func (s *selection) check(args []string, verb, flags string) (err error) {
	ways := 0
	for _, given := range []bool{len(args) > 0, s.selector != "", s.all, s.files} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return usage.Errorf("name the leases to %s (OWNER/DSEQ/GSEQ), or use one of %s", verb, flags)
	}
	if s.matches, err = labels.Parse(s.selector); err != nil {
		return usage.Errorf("--selector: %w", err)
	}
	return nil
}

// nothing reports that no lease is selected. has says what the leases have among which the flags select, and all is
// their number. It is an error if a selector or a namespace was given, because there may be a typing error.
func (s *selection) nothing(c *console.Console, all int, has string, ignore bool) error {
	var asked []string
	if s.selector != "" {
		asked = append(asked, "has the labels "+s.selector+" (Akash's labels of a lease are "+lease.LabelOwner+", "+lease.LabelDSeq+" and "+
			lease.LabelGSeq+")")
	}
	if s.namespace != "" {
		asked = append(asked, "is in namespace "+s.namespace)
	}
	if len(asked) == 0 {
		fmt.Fprintf(c.ErrOut, "No lease %s.\n", has)
		return nil
	}
	missing := fmt.Sprintf("no lease that %s %s; looked at %s", has, strings.Join(asked, " and "), lease.Count(all, "lease"))
	if ignore {
		fmt.Fprintln(c.ErrOut, missing+".")
		return nil
	}
	return &session.MissingError{What: []string{missing}}
}

// confirm asks the user a question, and reports whether the answer is yes. It asks if --all or a short name selects the leases, and on
// a terminal also if -l or -f selects several.
func (s *selection) confirm(c *console.Console, dryRun string, leases int, question string) bool {
	several := leases > 1 && (s.selector != "" || s.files) && terminal.IsTerminal(c.Stdin)
	if !s.all && !s.short && !several || s.yes || dryRun != "" {
		return true
	}
	return c.Confirm(question)
}

// ofManifests returns the definitions in Manifests that can be applied, and an error that names each of the others. problems are those
// of what could not be read.
func ofManifests(all []*lease.Definition, problems lease.Problems, cfg *config.ProviderConfig, allowEmpty bool) (defs []*lease.Definition, unread error) {
	manifests := map[lease.Group]int{}
	for _, def := range all {
		manifests[def.Lease.Group()]++
	}
	var others lease.Problems // what they say is their mend
	defs = slices.DeleteFunc(slices.Clone(all), func(def *lease.Definition) bool {
		found, before := apply.Invalid(def, cfg).Errors(), len(others)
		problems = append(problems, found...)
		if empty, ok := errors.AsType[lease.Problems](checkNotEmpty([]*lease.Definition{def}, allowEmpty)); ok {
			others = append(others, empty...)
		}
		if n := manifests[def.Lease.Group()]; n > 1 {
			others.Add(def.At, "deployment group %s has %d Manifests, and nothing is changed for it; delete that of a lease that is over: "+
				"kubectl -n %s delete manifests.akash.network %s", def.Lease.Group(), n, cfg.ManifestNamespace, def.Lease.Namespace())
		}
		return len(found)+len(others) > before
	})
	if len(problems)+len(others) > 0 {
		unread = slices.Concat(problems, left(problems, cfg), others)
	}
	return defs, unread
}

// beside returns the error of the work on those definitions that could be read, with that about the others.
func beside(unread, err error) error {
	if unread == nil {
		return err
	}
	failures := report.Failures{err}
	errors.As(err, &failures)
	return report.Gather(append([]error{unread}, failures...))
}

// left says of each Manifest with problems what becomes of it, and what to type.
func left(problems lease.Problems, cfg *config.ProviderConfig) (out lease.Problems) {
	said := map[string]bool{}
	for _, p := range problems {
		name, ok := strings.CutPrefix(p.At.File, "manifests/")
		if !ok || said[name] {
			continue
		}
		said[name] = true
		out = append(out, lease.Problem{Message: fmt.Sprintf("Manifest %s is skipped: nothing is changed for its lease. The tenant's next manifest "+
			"replaces it; to fix it yourself: kubectl -n %s edit manifests.akash.network %[1]s", name, cfg.ManifestNamespace)})
	}
	return out
}
