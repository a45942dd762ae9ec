package change

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// NewInstall returns the command that installs what the ledger needs.
func NewInstall(c *session.Session) *cobra.Command {
	var dryRun, guard string
	var workloads bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install what the ledger needs in a cluster",
		Long: `
			Install what the ledger needs in a cluster: Akash's resource definitions, the namespaces, roles for
			operators and for viewers, and the ConfigMap with the provider's configuration.

			Resource definitions that Akash's provider has installed are not changed, and neither is an existing
			configuration, unless --config names another one. A configuration without addresses that leases use
			is refused with exit code 4, and nothing is written.

			With --workloads the ClusterRole akash-net-workloads is also installed, for those who apply
			workloads (apply --workloads). It is not part of the operator's role, because it reads Secrets and
			writes Deployments. Bind it in the namespace of each lease: bound in the whole cluster it reads all Secrets.

			Where namespace akash-services exists, the Role akash-net-sees-operators is installed there: operators
			and viewers need it to find Akash's operators.

			With --guard the API server refuses every write that would take a claim from its holder. Without it,
			conflicts of server-side apply protect claims only against clients that apply without force.`,
		Example: `
			# With the default configuration
			kubectl akash-net install

			# With a provider's own configuration
			kubectl akash-net install --config provider.yaml

			# Let a user operate the leases
			kubectl create clusterrolebinding alice --clusterrole=akash-net-operator --user=alice
			kubectl -n akash-net create rolebinding alice --role=akash-net-operator --user=alice`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDryRun(&dryRun); err != nil {
				return err
			}
			err := flags.CheckOneOf("guard", guard, string(install.GuardNone), string(install.GuardOn), string(install.GuardStrict))
			if err != nil {
				return err
			}
			return runInstall(cmd.Context(), c, dryRun, install.Guard(guard), workloads)
		},
	}
	addDryRun(cmd, &dryRun)
	cmd.Flags().StringVar(&guard, "guard", "",
		"Also install admission policies: 'on' prevents changing the holder of a claim, 'strict' also deleting a claim without its UID")
	cmd.Flags().BoolVar(&workloads, "workloads", false, "Also install the role for those who apply workloads")
	cmd.Flags().Lookup("guard").NoOptDefVal = string(install.GuardOn)
	flags.Complete(cmd, "guard", string(install.GuardOn), string(install.GuardStrict))
	return cmd
}

func runInstall(ctx context.Context, c *session.Session, dryRun string, guard install.Guard, workloads bool) error {
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
	installer := newInstaller(c, cluster, cfg, dryRun)
	installer.Workloads = workloads
	return install.Refused(installer.Install(ctx, c.ConfigText, guard))
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
	var force bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install has installed",
		Long: `
			Remove what install has installed. The claims are deleted with the ledger's namespace, so uninstall
			refuses while claims exist, unless it is forced. It always refuses while another command is running.
			Resource definitions of which objects exist are kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDryRun(&dryRun); err != nil {
				return err
			}
			ctx := cmd.Context()
			cluster, cfg, err := c.Open(ctx, 1)
			if err != nil {
				return err
			}
			return install.Refused(newInstaller(c, cluster, cfg, dryRun).Uninstall(ctx, force))
		},
	}
	addDryRun(cmd, &dryRun)
	cmd.Flags().BoolVar(&force, "force", false, "Remove the ledger with all its claims")
	return cmd
}
