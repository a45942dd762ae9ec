package change

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// NewInstall brings a cluster what the ledger needs.
func NewInstall(c *session.Session) *cobra.Command {
	var dryRun, guard string
	var workloads bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Bring a cluster what the ledger needs",
		Long: `
			Bring a cluster what the ledger needs: Akash's resource definitions, the namespaces, a role for
			operators and one for those who only look, and the ConfigMap with the provider's configuration.

			Resource definitions that Akash's provider has installed are left alone, and so is a
			configuration that exists, unless --config names another one. A configuration that no longer has
			addresses that leases use is refused with exit code 4, and then nothing is written.

			With --workloads the ClusterRole akash-net-workloads is brought too, for those who apply what leases
			run (apply --workloads). It is no part of the operator's role: it reads Secrets, and writes Deployments.

			With --guard the API server refuses, to everybody, what would take a claim from its holder:
			conflicts of server-side apply bind only those who use it.`,
		Example: `
			# With the default configuration
			kubectl akash-net install

			# With a provider's own
			kubectl akash-net install --config provider.yaml

			# Let a user operate the leases
			kubectl create clusterrolebinding alice --clusterrole=akash-net-operator --user=alice
			kubectl -n akash-net create rolebinding alice --role=akash-net-operator --user=alice`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDryRun(&dryRun); err != nil {
				return err
			}
			switch install.Guard(guard) {
			case install.GuardNone, install.GuardOn, install.GuardStrict:
			default:
				return usage.Errorf("--guard must be 'on' or 'strict', not %q", guard)
			}
			return runInstall(cmd.Context(), c, dryRun, install.Guard(guard), workloads)
		},
	}
	addDryRun(cmd, &dryRun)
	cmd.Flags().StringVar(&guard, "guard", "", "Also bring admission policies: 'on' keeps everybody from changing who holds a claim, 'strict' also from deleting one without naming its UID")
	cmd.Flags().BoolVar(&workloads, "workloads", false, "Also bring the role of those who apply what leases run")
	cmd.Flags().Lookup("guard").NoOptDefVal = string(install.GuardOn)
	flags.Complete(cmd, "guard", string(install.GuardOn), string(install.GuardStrict))
	return cmd
}

func runInstall(ctx context.Context, c *session.Session, dryRun string, guard install.Guard, workloads bool) error {
	cfg, err := c.Configuration(ctx, nil)
	if err != nil {
		return err
	}
	document := ""
	if c.ConfigFile != "" {
		text, err := os.ReadFile(c.ConfigFile)
		if err != nil {
			return err
		}
		document = string(text)
	}
	cluster, err := c.Connect(1)
	if err != nil {
		return err
	}
	events := console.NewEvents(&c.Console, "", dryRun)
	return install.Refused((&install.Installer{Cluster: cluster.DryRun(dryRun), Config: cfg, Version: version.Version, Workloads: workloads, Report: events.Report}).Install(ctx, document, guard))
}

// NewUninstall removes what install brought.
func NewUninstall(c *session.Session) *cobra.Command {
	var dryRun string
	var force bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install brought",
		Long: `
			Remove what install brought. While claims exist it refuses, unless it is forced: the ledger goes
			with its namespace. While another command is at work it always refuses. Resource definitions of
			which objects exist stay.`,
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
			events := console.NewEvents(&c.Console, "", dryRun)
			return install.Refused((&install.Installer{Cluster: cluster.DryRun(dryRun), Config: cfg, Version: version.Version, Report: events.Report}).Uninstall(ctx, force))
		},
	}
	addDryRun(cmd, &dryRun)
	cmd.Flags().BoolVar(&force, "force", false, "Remove the ledger with all its claims")
	return cmd
}
