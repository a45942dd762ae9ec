package plugin

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"
)

// cli is what all commands share.
type cli struct {
	connection
	// scopes say of each command what the flags mean to it that all commands take.
	scopes map[*cobra.Command]scope
}

func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-akash_net",
		Short: "Give the leases of an Akash provider host names and addresses",
		Long: `
			Give the leases of an Akash provider host names and static IP addresses, without an operator in the
			cluster.

			The cluster itself records who holds what: each host name and each address that is taken is one
			object of kind Lease, named after it.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl akash-net"},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			c.running = true
			dry := cmd.Flags().Lookup("dry-run") // of each command that writes
			c.keepsNothing = dry == nil || dry.Value.String() != "none"
			if !c.keepsNothing {
				terminal.OutliveReaders()
			}
			c.claims = cmd.Name() == "apply" || cmd.Name() == "reserve"
			return c.checkScope(cmd, args)
		},
		Run: func(cmd *cobra.Command, _ []string) { _ = cmd.Help() },
	}
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.ErrOut)
	c.flags = genericclioptions.NewConfigFlags(true).WithWarningPrinter(c.IOStreams)
	c.flags.CacheDir = nil // nothing is cached
	c.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&c.configFile, "config", "", "File with the provider's configuration, instead of the cluster's ConfigMap")
	groups := templates.CommandGroups{
		{Message: "Documents:", Commands: []*cobra.Command{newRender(c), newConvert(c)}},
		{Message: "Leases in the cluster:", Commands: []*cobra.Command{newApply(c), newDiff(c), newCheck(c), newReserve(c), newUnreserve(c), newTransfer(c), newMigrate(c), newRelease(c), newState(c), newLeases(c), newExplain(c), newLeaseStatus(c), newLogs(c), newLeaseEvents(c), newRepair(c), newFit(c)}},
		{Message: "The cluster:", Commands: []*cobra.Command{newInstall(c), newUninstall(c)}},
		{Message: "The plugin:", Commands: []*cobra.Command{newCompletion(c), newVersion(c)}},
	}
	groups.Add(root)
	templates.ActsAsRootCommand(root, []string{"options", "help"}, groups...)
	root.SetUsageFunc(asPlugin(root.UsageFunc()))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		templates.Normalize(cmd) // here, and not for each command at every start: it costs milliseconds
		help(cmd, args)
	})
	root.AddCommand(newOptions(c))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage.Wrap(err) })
	return root
}

// asPlugin makes the one line of kubectl's help template that knows the program by its file name
// know it by the words that people type.
func asPlugin(usage func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		var text bytes.Buffer
		cmd.SetOut(&text)
		err := usage(cmd)
		cmd.SetOut(out)
		fmt.Fprint(out, strings.ReplaceAll(text.String(), "kubectl-akash_net <command>", "kubectl akash-net <command>"))
		return err
	}
}

// newOptions shows the flags that all commands take, as kubectl does.
func newOptions(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options",
		Short: "List the global flags",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { _ = cmd.Usage() },
	}
	cmd.SetOut(c.Out)
	cmd.SetErr(c.Out)
	templates.UseOptionsTemplates(cmd)
	return c.setScope(cmd, scope{offline: never, unconfigured: true})
}
