package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/backup"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
	"github.com/akash-net/kubectl-akash-net/state"
)

const flagReconcilerImage = "reconciler-image"

// installFlags are the flags of install.
type installFlags struct {
	dryRun, guard, image  string
	workloads, reconciler bool
}

// NewInstall returns the command that installs what the ledger needs.
func NewInstall(c *session.Session) *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install what the ledger needs in a cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags().Changed(flagReconcilerImage)); err != nil {
				return err
			}
			return f.run(cmd.Context(), c)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *installFlags) add(cmd *cobra.Command) {
	flags.AddDryRun(cmd, &f.dryRun)
	flags.AddChoice(cmd, &f.guard, "guard", "",
		"Also install admission policies: 'on' prevents changing the holder of a claim, 'strict' also deleting a claim without its UID",
		string(install.GuardOn), string(install.GuardStrict)).NoOptDefVal = string(install.GuardOn)
	cmd.Flags().BoolVar(&f.workloads, "workloads", false, "Also install the role for those who apply workloads")
	cmd.Flags().BoolVar(&f.reconciler, "reconciler", false, "Also install the reconciler")
	cmd.Flags().StringVar(&f.image, flagReconcilerImage, "", "The reconciler's image, instead of the one that is published of this version")
}

// check checks the flags. If a reconciler is to be installed and named is false, its image becomes the published one.
func (f *installFlags) check(named bool) error {
	switch {
	case named && (f.image == "" || strings.ContainsFunc(f.image, unicode.IsSpace)):
		return usage.Errorf("--%s must name an image, not %q", flagReconcilerImage, f.image)
	case named || !f.reconciler:
		return nil
	}
	var err error
	if f.image, err = manifests.ReconcilerImage(version.Of().Version); err != nil {
		return usage.Errorf("%w: name one with --%s", err, flagReconcilerImage)
	}
	return nil
}

func (f *installFlags) run(ctx context.Context, c *session.Session) error {
	cfg, err := c.Configuration(ctx, nil)
	if err != nil {
		return err
	}
	if c.ConfigFile != "" && strings.TrimSpace(c.ConfigText) == "" {
		var problems lease.Problems
		problems.Add(lease.Place{File: c.ConfigFile}, "the file is empty; begin it with apiVersion: net.akash.network/v1alpha1 and "+
			"kind: ProviderConfig, or leave out --config, which keeps the configuration in the cluster")
		return problems
	}
	cluster, err := c.Connect(1)
	if err != nil {
		return err
	}
	installer := newInstaller(c, cluster, cfg, f.dryRun)
	installer.Workloads, installer.Reconciler = f.workloads, f.image
	return install.Refused(installer.Install(ctx, c.ConfigText, install.Guard(f.guard)))
}

func newInstaller(c *session.Session, in *cluster.Cluster, cfg *config.ProviderConfig, dryRun string) *install.Installer {
	events := console.NewEvents(&c.Console, "", dryRun)
	return &install.Installer{Cluster: in.DryRun(dryRun), Config: cfg, Version: version.Version, Report: events.Report, Warn: c.Warn, Show: func(lines []string) {
		fmt.Fprintln(c.ErrOut, "The configuration in the cluster changes:")
		for _, line := range lines {
			fmt.Fprintln(c.ErrOut, "  "+terminal.OneLine(line, terminal.MaxCell))
		}
	}}
}

// NewUninstall returns the command that removes what install has installed.
func NewUninstall(c *session.Session) *cobra.Command {
	var dryRun string
	var force, yes bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install has installed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			cluster, cfg, err := c.Open(ctx, 1)
			if err != nil {
				return install.Refused(err)
			}
			installer := newInstaller(c, cluster, cfg, dryRun)
			var destroyed install.Destroyed
			if force {
				if destroyed, err = installer.Destroys(ctx); err != nil {
					return install.Refused(err)
				}
			}
			if len(destroyed) > 0 {
				showDestroyed(&c.Console, destroyed)
				if !yes && dryRun == "" && !c.Confirm("Uninstall?") {
					return errors.New("nothing was uninstalled; -y answers the question")
				}
			}
			return install.Refused(installer.Uninstall(ctx, destroyed))
		},
	}
	flags.AddDryRun(cmd, &dryRun)
	cmd.Flags().BoolVar(&force, "force", false, "Remove the ledger with all its claims, after confirmation")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "Do not ask")
	return cmd
}

// mostDestroyed is how many claims are listed by their names.
const mostDestroyed = 10

// showDestroyed prints what goes with the ledger.
func showDestroyed(c *console.Console, destroyed install.Destroyed) {
	names := slices.Sorted(maps.Values(destroyed))
	fmt.Fprintf(c.ErrOut, "This destroys the records of who holds %s:\n", lease.Count(len(names), "thing"))
	for _, name := range names[:min(len(names), mostDestroyed)] {
		fmt.Fprintln(c.ErrOut, "  "+terminal.OneLine(name, terminal.MaxCell))
	}
	if more := len(names) - mostDestroyed; more > 0 {
		fmt.Fprintf(c.ErrOut, "  and %d more; kubectl akash-net state lists them\n", more)
	}
	fmt.Fprintln(c.ErrOut, "What routes and Services serve stays as it is, and nothing protects it.")
}

// claimNames returns the names that package apply expects for things: those of hosts and addresses, endpoint/NAME, and a
// single word, which may be a host or an endpoint. It refuses paths.
func claimNames(things []thing.Thing, verb string) ([]string, error) {
	names := make([]string, len(things))
	for i, t := range things {
		switch {
		case t.Path != "":
			return nil, usage.Errorf("%s: %s works on hosts with all their paths; name %s", t, verb,
				thing.Thing{Kind: thing.Host, Host: t.Host})
		case t.Kind == thing.Endpoint:
			names[i] = t.String()
		default:
			names[i] = t.Name()
		}
	}
	return names, nil
}

// holdsNothing says that a lease, or a thing of a transfer, was not found.
const holdsNothing = "holds nothing; is its name right? \"kubectl akash-net leases\" lists the leases"

// missingWatcher finds named things that do not exist, from the events of a command. It passes the events on to report.
type missingWatcher struct {
	report func(report.Event)
	// seen are the names of things that the command has processed.
	seen map[string]bool
	// unknown are those that a transfer, or leases of which a release, did not find anything, with what to do about it.
	unknown map[string]string
}

func newMissingWatcher(report func(report.Event)) *missingWatcher {
	return &missingWatcher{report: report, seen: map[string]bool{}, unknown: map[string]string{}}
}

func (m *missingWatcher) add(e report.Event) {
	switch e.Action {
	case report.Kept, report.Skipped, report.Refused, report.Unconfirmed:
		switch {
		case e.Kind == string(thing.Lease) && e.Next != "":
			m.unknown[e.Name] = e.Message + ": " + e.Next
		case e.Kind == apply.KindThing || e.Kind == string(thing.Lease) && e.Message == apply.HoldsNothing:
			m.unknown[e.Name] = holdsNothing
		}
	case report.Failed, report.Done:
	default:
		m.seen[e.Name] = true
		delete(m.unknown, e.Lease.Group().String()) // its namespace was left
		if state.Kind(e.Kind).HasPorts() {
			m.seen[string(thing.Endpoint)] = true
		}
	}
	m.report(e)
}

// notReleased reports whether no event was about a thing. Events about ports do not name their endpoint, so they count for any.
func (m *missingWatcher) notReleased(t thing.Thing) bool {
	return !m.seen[t.Name()] && (t.Endpoint == "" || !m.seen[string(thing.Endpoint)])
}

// notFound reports whether a transfer did not find a thing.
func (m *missingWatcher) notFound(t thing.Thing) bool {
	return m.unknown[t.Name()] != "" || m.unknown[t.String()] != ""
}

// missing returns an error for the leases of which a release did not find anything. held returns the deployment groups that hold something.
func (m *missingWatcher) missing(groups []lease.Group, held func() map[lease.Group]*reading.Holding) error {
	var what []string
	for _, g := range groups {
		if why := m.unknown[g.String()]; why != "" {
			if why == holdsNothing {
				if near, ok := thing.Nearest(g, maps.Keys(held())); ok {
					why += fmt.Sprintf("; the nearest that holds something is %s", near)
				}
			}
			what = append(what, fmt.Sprintf("lease/%s %s", g, why))
		}
	}
	if len(what) == 0 {
		return nil
	}
	return &session.MissingError{What: what}
}

// NewBackup returns the command that prints the ledger.
func NewBackup(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Print the ledger as YAML, to restore it from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			from, cfg, err := c.Open(ctx, session.Requests)
			if err != nil {
				return err
			}
			ledger, err := backup.Read(ctx, from, cfg.LedgerNamespace)
			if err != nil {
				return err
			}
			out, err := emit.NewEncoder(c.Out, "yaml")
			if err != nil {
				return err
			}
			for _, o := range ledger.Objects() {
				if err := out.Encode(o.Object); err != nil {
					return err
				}
			}
			return out.Close()
		},
	}
	return c.SetScope(cmd, session.Scope{})
}

// restoreFlags are the flags of restore.
type restoreFlags struct {
	files       files.Names
	dryRun      string
	concurrency int
}

// NewRestore returns the command that brings back a ledger.
func NewRestore(c *session.Session) *cobra.Command {
	f := &restoreFlags{}
	cmd := &cobra.Command{
		Use:   "restore -f FILE",
		Short: "Bring back the ledger from a backup",
		Args:  flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.files.Files) == 0 {
				return usage.Errorf("must specify -f")
			}
			return f.run(cmd.Context(), c)
		},
	}
	flags.AddFiles(cmd, &f.files, "Files, or folders of files, with a backup; - is standard input")
	flags.AddDryRun(cmd, &f.dryRun)
	flags.AddConcurrency(cmd, &f.concurrency)
	return c.SetScope(cmd, session.Scope{})
}

func (f *restoreFlags) run(ctx context.Context, c *session.Session) error {
	var objects []*unstructured.Unstructured
	limits := config.Default().Limits
	limits.InputSize = 0 // a ledger has no limit either
	warnings, err := f.files.Objects(ctx, c.In, limits, true, func(o *unstructured.Unstructured) { objects = append(objects, o) })
	if c.Warn(warnings); err != nil {
		return err
	}
	to, err := c.Connect(f.concurrency)
	if err != nil {
		return err
	}
	to = to.DryRun(f.dryRun)
	cfg, ledger, err := f.open(ctx, c, to, objects)
	if err != nil {
		return install.Refused(err)
	}
	events := console.NewEvents(&c.Console, "", f.dryRun)
	created := false
	r := backup.Restorer{Cluster: to, Namespace: cfg.LedgerNamespace, Concurrency: f.concurrency, Report: func(e report.Event) {
		created = created || e.Action == report.Created
		events.Report(e)
	}}
	err = r.Restore(ctx, ledger.Records)
	if created && f.dryRun == "" {
		fmt.Fprintln(c.ErrOut, "What a backup does not hold, the managed fields by which leases own their claims, is written again by: kubectl akash-net repair")
	}
	return err
}

// open returns the ledger in the objects, and the configuration that it is restored with. It installs the ledger where there is none.
func (f *restoreFlags) open(
	ctx context.Context, c *session.Session, to *cluster.Cluster, objects []*unstructured.Unstructured,
) (*config.ProviderConfig, *backup.Ledger, error) {
	cfg, read, err := c.Configured(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	there := read.Text
	if c.ConfigFile != "" {
		o, err := to.ConfigMap(ctx, cfg.LedgerNamespace)
		if err != nil {
			return nil, nil, err
		}
		there, _, _ = cluster.ConfigText(o) // one without a configuration counts as none
	}
	ledger, problems := backup.Of(objects, cfg.LedgerNamespace)
	if problems.Failed() {
		return nil, nil, problems
	}
	namespace, err := to.Get(ctx, kinds.Namespace, "", cfg.LedgerNamespace)
	switch {
	case err != nil:
		return nil, nil, err
	case namespace != nil && (there != "" || read.Text+ledger.Config == ""):
		if ledger.Config != "" && ledger.Config != there {
			c.Warn(lease.Problems{{Warning: true, Message: "the configuration in the backup is another one than that of the cluster, which stays"}})
		}
		return cfg, ledger, nil
	}
	if c.ConfigFile == "" && read.Text == "" { // nothing configures the cluster: the backup does
		if read = (session.Document{Text: ledger.Config, Place: "configmap/config of the backup"}); read.Text == "" {
			return nil, nil, errors.New("neither the cluster nor the backup has the provider's configuration: name it with --config FILE")
		}
		if cfg, err = c.ReadConfig(read); err != nil {
			return nil, nil, err
		}
	}
	return cfg, ledger, newInstaller(c, to, cfg, f.dryRun).Install(ctx, read.Text, install.GuardNone)
}
