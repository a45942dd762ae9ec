package plugin

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/templates"
)

// cli is what all commands share.
type cli struct {
	genericiooptions.IOStreams
	// stdin is standard input itself, which may be a terminal; In reads it until the command is interrupted.
	stdin io.Reader
	// people is standard output where it is for people, and not data.
	people io.Writer
	// out is standard output, which remembers why it could not be written.
	out        *terminal.Output
	connection *genericclioptions.ConfigFlags
	// configFile is the provider's configuration, where it does not come from the cluster.
	configFile string
	// scopes say of each command what the flags mean to it that all commands take.
	scopes map[*cobra.Command]scope
	// running is true once the words of the command line have been understood: what goes wrong
	// earlier is wrong usage.
	running bool
	// keepsNothing is true for a command that writes nothing, or whose writes are a dry run's; claims for one that
	// "release LEASE" undoes.
	keepsNothing, claims bool
	// terminal is true where people look on standard output; view is what they see of leases, status the
	// line that is written over.
	terminal bool
	view     *leaseView
	status   *terminal.Status
	// leases is how many leases the command works on, each for itself; 0 where that is not known.
	leases int
}

func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-akash_net",
		Short: "Give the leases of an Akash provider their host names and addresses",
		Long: `
			Give the leases of an Akash provider their host names and static IP addresses, without an
			operator in the cluster.

			Who holds what is recorded in the cluster itself: each host name and each address that is
			taken is one object of kind Lease, whose name is the thing taken.`,
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
	c.connection = genericclioptions.NewConfigFlags(true).WithWarningPrinter(c.IOStreams)
	c.connection.CacheDir = nil // nothing is cached
	c.connection.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&c.configFile, "config", "", "File with the provider's configuration, instead of the cluster's ConfigMap")
	groups := templates.CommandGroups{
		{Message: "Documents:", Commands: []*cobra.Command{newRender(c), newConvert(c)}},
		{Message: "Leases in the cluster:", Commands: []*cobra.Command{newApply(c), newDiff(c), newCheck(c), newReserve(c), newUnreserve(c), newTransfer(c), newMigrate(c), newRelease(c), newState(c), newExplain(c), newLeaseStatus(c), newLogs(c), newLeaseEvents(c), newRepair(c), newFit(c)}},
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
		Short: "List the flags that all commands take",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { _ = cmd.Usage() },
	}
	cmd.SetOut(c.Out)
	cmd.SetErr(c.Out)
	templates.UseOptionsTemplates(cmd)
	return c.setScope(cmd, scope{offline: never, unconfigured: true})
}
