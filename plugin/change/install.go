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

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
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
