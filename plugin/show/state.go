// Package show has the commands that show leases and the ledger. They write nothing.
package show

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// stateFlags are the arguments and flags of state.
type stateFlags struct {
	print    printing.Flags
	subjects []view.Subject
	rows     selection
	watch    bool
	// screen is true if a watch draws on the whole terminal.
	screen bool
	// files are the files to read instead of a cluster.
	files files.Names
	// problems is true to show problems instead of holdings.
	problems     bool
	crashedAfter time.Duration
	workloads    bool
	// given reports whether a flag is given.
	given func(flag string) bool
}

// NewState returns the command that shows who holds which hosts and addresses.
func NewState(c *session.Session) *cobra.Command {
	f := &stateFlags{print: printing.NewFlags(), rows: selection{named: (*view.Book).Of}}
	cmd := &cobra.Command{
		Aliases: []string{"get"},
		Use:     "state [hosts|ips|leases|pools|routes|dns|resources|orders]... [HOST|ADDRESS|ENDPOINT|LEASE]...",
		Short:   "Show who holds which hosts and addresses; \"get\" is the same",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.screen = f.watch && (f.print.IsTable() || f.print.IsHeatMap()) && terminal.HasScreen(c.Out)
			if err := f.check(cmd, args); err != nil {
				return err
			}
			if err := f.rows.complete(cmd.Context(), c, len(f.files.Files) > 0); err != nil {
				return err
			}
			return f.run(cmd.Context(), c)
		},
		ValidArgsFunction: completeState(c),
	}
	f.print.AddFlags(cmd)
	flags.AddColor(cmd, &c.Color)
	f.print.Color = &c.Color
	flags.AddFiles(cmd, &f.files, "Files, or folders of files, with Kubernetes objects to read instead of the cluster; - is standard input")
	cmd.Flags().StringVar(&f.rows.shard, "shard", "", "Only the routes of this shard of the configuration")
	f.rows.add(cmd, "rows", ", or the routes in it", ", and routes whose own labels match")
	cmd.Flags().BoolVar(&f.problems, "problems", false, "List problems and how to fix them; the exit code is 1 if there are any")
	flags.AddCrashedAfter(cmd, &f.crashedAfter)
	cmd.Flags().BoolVar(&f.workloads, "workloads", false, "Show the state of the workloads of leases (default: workloads.enabled of the configuration)")
	f.given = cmd.Flags().Changed
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "Show the rows on the whole terminal as they change; in a pipe, list one subject and then its changed rows")
	return c.SetScope(cmd, session.Scope{
		Leases: session.AllLeases, Namespace: func([]string) string { return "" },
		Offline: func() bool { return len(f.files.Files) > 0 },
	})
}

// NewLeases returns "leases", which is "state leases". It is no command of its own in the help.
func NewLeases(c *session.Session) *cobra.Command {
	cmd := NewState(c)
	run := cmd.RunE
	cmd.Use, cmd.Aliases, cmd.Hidden = "leases [LEASE]...", nil, true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return run(cmd, append([]string{string(view.SubjectLeases)}, args...))
	}
	cmd.ValidArgsFunction = flags.CompleteThings(c, thing.Lease)
	return cmd
}

// check parses the arguments and validates the flags.
func (f *stateFlags) check(cmd *cobra.Command, args []string) (err error) {
	if f.subjects, f.rows.things, err = parseStateArgs(args); err != nil {
		return err
	}
	if err := f.rows.check(cmd); err != nil {
		return err
	}
	noLease := slices.IndexFunc(f.subjects, func(s view.Subject) bool { return view.ListingOf(s).About().NoLease })
	switch {
	case (f.rows.namespace != "" || f.rows.byLease()) && noLease >= 0:
		return usage.Errorf("%s belong to no lease: --namespace, --selector, --owner and --dseq do not choose among them", f.subjects[noLease])
	case f.workloads && len(f.subjects) > 0 && !slices.Contains(f.subjects, view.SubjectLeases):
		return usage.Errorf("--workloads is about leases: kubectl akash-net state leases --workloads")
	case f.workloads && f.problems:
		return usage.Errorf("--workloads is about leases, not about --problems")
	case f.watch && slices.Contains(f.subjects, view.SubjectResources):
		return usage.Errorf("--watch does not follow resources")
	case f.problems && (len(f.subjects) > 0 || f.watch || f.rows.byLease()):
		return usage.Errorf("--problems cannot be combined with a subject, --watch, --selector, --owner or --dseq")
	case len(f.files.Files) > 0 && (f.problems || f.watch):
		return usage.Errorf("--problems and --watch look at a cluster, not at files")
	case f.rows.shard != "" && !slices.Contains(f.subjects, view.SubjectRoutes):
		return usage.Errorf("--shard is about routes: kubectl akash-net state routes --shard %s", f.rows.shard)
	case f.problems:
		f.subjects = []view.Subject{view.SubjectProblems}
	case f.watch && f.print.IsHeatMap() && !f.screen:
		return usage.Errorf("--watch shows changed rows, and a map has none: leave out one of them")
	case f.watch && f.print.SortBy != "":
		return usage.Errorf("--watch shows changes as they come: leave out --sort-by")
	case f.isDefinitions() && (f.watch || f.print.SortBy != ""):
		return usage.Errorf("-o %s of named leases prints their definitions, which --watch does not follow and --sort-by does not sort", f.print.Output)
	case f.watch && len(f.subjects) != 1 && !f.screen:
		return usage.Errorf("--watch shows one subject: hosts, ips, leases, pools, routes, dns or orders")
	}
	if len(f.subjects) == 0 {
		f.subjects = view.Holdings
		if f.rows.byLease() || f.rows.namespace != "" {
			f.subjects = f.subjects[:len(f.subjects)-1] // without pools, which belong to no lease
		}
	}
	_, err = f.print.Printer(f.subjects, nil, time.Now)
	return err
}

func (f *stateFlags) run(ctx context.Context, c *session.Session) error {
	show, err := f.print.Printer(f.subjects, c.Out, time.Now)
	if err != nil {
		return err
	}
	if len(f.files.Files) > 0 {
		return f.offline(ctx, c, show)
	}
	if f.problems || slices.Contains(f.subjects, view.SubjectResources) {
		c.Room() // whole objects are read, and little of them is kept
	}
	cluster, err := c.Connect(session.Requests)
	if err != nil {
		return err
	}
	cfg, err := f.configuration(ctx, c, cluster)
	if err != nil {
		return err
	}
	if f.isDefinitions() {
		return f.showDefinitions(ctx, c, cluster, cfg)
	}
	if f.problems {
		return f.showProblems(ctx, c, cluster, cfg, show)
	}
	return f.withWorkloads(c, cfg, func(subjects []view.Subject) error {
		if f.screen {
			return f.showScreen(ctx, cluster, cfg, subjects, c.Out)
		}
		if f.watch {
			return f.showChanges(ctx, cluster, cfg, subjects, show)
		}
		book, err := book.Read(ctx, cluster, cfg, subjects...)
		if err != nil {
			return err
		}
		if hosts, ports := book.Unclaimed(); cfg.Missing != "" || hosts+ports > 0 {
			warnLost(ctx, c, cluster, cfg)
		}
		err = f.show(c, book, show)
		if f.print.IsTable() {
			noteUnclaimed(&c.Console, book)
			noteEdited(&c.Console, book)
		}
		return err
	})
}

// configuration returns the provider's configuration, and refuses a --shard that it does not define.
func (f *stateFlags) configuration(ctx context.Context, c *session.Session, cluster *cluster.Cluster) (*config.ProviderConfig, error) {
	cfg, err := c.Configuration(ctx, cluster)
	if err != nil || f.rows.shard == "" {
		return cfg, err
	}
	var names []string
	for _, s := range cfg.Shards {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, f.rows.shard) {
		return nil, usage.Errorf("--shard: the configuration has no shard %q (spec.shards: %s)", f.rows.shard,
			terminal.Dash(strings.Join(names, ", ")))
	}
	return cfg, nil
}

// offline shows the objects in files.
func (f *stateFlags) offline(ctx context.Context, c *session.Session, show printing.Printer) error {
	cfg, err := f.configuration(ctx, c, nil)
	if err != nil {
		return err
	}
	if f.isDefinitions() {
		var objects []*unstructured.Unstructured
		warnings, err := f.files.Objects(ctx, c.In, cfg.Limits, true, func(o *unstructured.Unstructured) { objects = append(objects, o) })
		c.Warn(warnings)
		if err != nil {
			return err
		}
		from, err := cluster.OfObjects(objects)
		if err != nil {
			return err
		}
		return f.showDefinitions(ctx, c, from, cfg)
	}
	contents, err := contentsOf(ctx, c, cfg, &f.files)
	if err != nil {
		return err
	}
	return f.withWorkloads(c, cfg, func(subjects []view.Subject) error {
		return f.show(c, view.NewBook(cfg, contents, subjects...), show)
	})
}

// contentsOf reads what the files hold of the things in the book.
func contentsOf(ctx context.Context, c *session.Session, cfg *config.ProviderConfig, from *files.Names) (view.Contents, error) {
	var contents view.Contents
	warnings, err := from.Objects(ctx, c.In, cfg.Limits, true, func(o *unstructured.Unstructured) {
		contents.Add(o, cfg.LedgerNamespace)
	})
	c.Warn(warnings)
	contents.Now = time.Now()
	if !contents.Backends.HasSlices() { // files without endpoints need not have all Services
		contents.Backends.ResetServices(false)
	}
	return contents, err
}

// isDefinitions reports whether to print the definitions of leases instead of rows: named leases as documents, unless the state of their
// workloads is asked for. "apply" reads the output.
func (f *stateFlags) isDefinitions() bool {
	return (f.print.Output == "yaml" || f.print.Output == "json") && !f.workloads && len(f.rows.things) > 0 && slices.Equal(f.subjects, []view.Subject{view.SubjectLeases})
}

// showDefinitions prints the definitions that the leases were last applied with.
func (f *stateFlags) showDefinitions(ctx context.Context, c *session.Session, from *cluster.Cluster, cfg *config.ProviderConfig) error {
	var groups []lease.Group
	for _, t := range f.rows.things {
		groups = append(groups, t.Group)
	}
	defs, err := reading.KeptDefinitions(ctx, from, cfg.LedgerNamespace, groups)
	if err != nil {
		return err
	}
	defs = slices.DeleteFunc(defs, func(d *lease.Definition) bool {
		return f.rows.namespace != "" && d.Lease.Namespace() != f.rows.namespace
	})
	var out bytes.Buffer
	if err := printing.Definitions(&out, defs, input.Encode, f.print.Output); err != nil {
		return err
	}
	if _, err := out.WriteTo(c.Out); err != nil || f.rows.ignoreMissing {
		return err
	}
	why := ": apply keeps it; the lease's row is printed with -o wide"
	if f.rows.namespace != "" {
		why = " for a lease of namespace " + f.rows.namespace
	}
	return flags.MissingThings(f.rows.things, func(t thing.Thing) bool {
		return !slices.ContainsFunc(defs, func(d *lease.Definition) bool { return d.Lease.Group() == t.Group })
	}, "no definition of %s is kept%s", why)
}

// parseSubjects parses subjects, each of which may be a list with commas, and removes duplicates.
func parseSubjects(args []string) ([]view.Subject, error) {
	var subjects []view.Subject
	for _, arg := range args {
		for _, word := range strings.Split(arg, ",") {
			s, ok := view.SubjectOf(word)
			if !ok {
				return nil, usage.Errorf("there is no subject %q; hosts, ips, leases, pools, routes, dns, resources and orders are "+
					"known", word)
			}
			if !slices.Contains(subjects, s) {
				subjects = append(subjects, s)
			}
		}
	}
	return subjects, nil
}

// parseStateArgs parses the arguments of state: subjects, then things in their rows. Without a subject it returns the
// subjects that list the things, whose kind their names must show.
func parseStateArgs(args []string) ([]view.Subject, []thing.Thing, error) {
	n := slices.IndexFunc(args, func(arg string) bool { return !isSubjects(arg) })
	if n < 0 {
		n = len(args)
	}
	subjects, err := parseSubjects(args[:n])
	if err != nil || n == len(args) {
		return subjects, nil, err
	}
	if n == 0 && !strings.ContainsAny(args[0], "./:") { // probably a mistyped subject
		_, err := parseSubjects(args[:1])
		return nil, nil, err
	}
	var things []thing.Thing
	for _, arg := range args[n:] {
		t, err := thing.Parse(arg)
		if err != nil {
			return nil, nil, usage.Wrap(err)
		}
		if n == 0 && t.Kind == thing.Host && t.Endpoint != "" {
			return nil, nil, usage.Errorf("%q: which subject? Subjects come before names, and a name of one word needs one or its "+
				"kind, such as host/%s", arg, arg)
		}
		if n > 0 && !slices.ContainsFunc(subjects, func(s view.Subject) bool { return view.ListingOf(s).About().Lists(t) }) {
			return nil, nil, usage.Errorf("%s does not name any of the %s; %s", t, joinSubjects(subjects), describeNames(subjects))
		}
		if !slices.Contains(things, t) {
			things = append(things, t)
		}
	}
	listsAny := func(s view.Subject) bool {
		return slices.ContainsFunc(things, func(t thing.Thing) bool { return view.ListingOf(s).About().Lists(t) })
	}
	if n == 0 {
		subjects = slices.DeleteFunc(slices.Clone(view.Holdings), func(s view.Subject) bool { return !listsAny(s) })
		if slices.ContainsFunc(things, func(t thing.Thing) bool { return t.Kind == thing.Order }) {
			subjects = append(subjects, view.SubjectOrders)
		}
	}
	for _, s := range subjects {
		if !listsAny(s) {
			return nil, nil, usage.Errorf("no name is given for the %s; %s", s, describeNames([]view.Subject{s}))
		}
	}
	return subjects, things, nil
}

// isSubjects reports whether an argument is meant as subjects: the name of one, or a list with commas.
func isSubjects(arg string) bool {
	_, is := view.SubjectOf(arg)
	return is || strings.Contains(arg, ",") && !strings.ContainsAny(arg, "./:")
}

func joinSubjects(subjects []view.Subject) string {
	words := make([]string, len(subjects))
	for i, s := range subjects {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// describeNames returns a message with the names that select rows of the subjects.
func describeNames(subjects []view.Subject) string {
	var kinds []thing.Kind
	for _, s := range subjects {
		for _, k := range view.ListingOf(s).About().Kinds {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	if len(kinds) == 0 {
		return "they have no names to choose by"
	}
	return "they are named by " + flags.DescribeKinds(kinds)
}

// completeState completes subjects, and the things that the subjects before them list.
func completeState(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var kinds []thing.Kind
		subjects, _, _ := parseStateArgs(args)
		for _, s := range subjects {
			kinds = append(kinds, view.ListingOf(s).About().Kinds...)
		}
		out, directive := completeSubjects(cmd, args, toComplete)
		if strings.Contains(toComplete, "/") { // a name with its kind needs no subject
			kinds = append(kinds, thing.Host, thing.Address, thing.Lease)
		}
		if len(kinds) == 0 {
			return out, directive
		}
		names, _ := flags.CompleteThings(c, kinds...)(cmd, args, toComplete)
		return append(out, names...), directive
	}
}

// completeSubjects completes the subjects that are not yet on the command line.
func completeSubjects(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	named, _ := parseSubjects(args)
	before := ""
	if i := strings.LastIndex(toComplete, ","); i >= 0 {
		before = toComplete[:i+1]
		more, _ := parseSubjects([]string{toComplete[:i]})
		named = append(named, more...)
	}
	var out []string
	for _, l := range view.Listings() {
		about := l.About()
		if word := before + string(about.Subject); len(about.Words) > 0 && !slices.Contains(named, about.Subject) && strings.HasPrefix(word, toComplete) {
			out = append(out, word)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
