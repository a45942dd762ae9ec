package plugin

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/plugin/change"
	"github.com/akash-net/kubectl-akash-net/plugin/configure"
	"github.com/akash-net/kubectl-akash-net/plugin/documents"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/show"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

func newRoot(c *session.Session, watch change.Watch) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-akash_net",
		Short: "Give the leases of an Akash provider host names and addresses",
		Long: `
			Give the leases of an Akash provider host names and static IP addresses, without an operator in the
			cluster.

			The cluster itself records who holds what: each host name and each address that is taken is one
			object of kind Lease, named after it.

			"help exit-codes", "help names", "help states" and "help formats" explain these, and "config explain" the
			keys of the configuration.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl akash-net"},
		Args:          knownCommands,

		SuggestionsMinimumDistance: 2,

		PersistentPreRunE: c.Begin,
		Run:               func(cmd *cobra.Command, _ []string) { _ = cmd.Help() },
	}
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.ErrOut)
	c.AddFlags(root)
	groups := templates.CommandGroups{
		{Message: "Documents:", Commands: []*cobra.Command{documents.NewRender(c), documents.NewConvert(c)}},
		{Message: "Leases in the cluster:", Commands: []*cobra.Command{
			change.NewApply(c), change.NewDiff(c), change.NewCheck(c), change.NewReserve(c), change.NewUnreserve(c), change.NewTransfer(c),
			change.NewMigrate(c), change.NewRelease(c), show.NewState(c), show.NewLeases(c), show.NewGraph(c), show.NewExplain(c), show.NewLeaseStatus(c),
			show.NewLogs(c), show.NewLeaseEvents(c), show.NewHistory(c), change.NewRepair(c), change.NewReconcile(c, watch), change.NewSuspend(c), change.NewResume(c),
			show.NewFit(c),
		}},
		{Message: "The cluster:", Commands: []*cobra.Command{
			show.NewDoctor(c), change.NewInstall(c), change.NewUninstall(c), change.NewBackup(c), change.NewRestore(c), configure.New(c),
		}},
		{Message: "The plugin:", Commands: []*cobra.Command{newCompletion(c), newVersion(c)}},
	}
	groups.Add(root)
	templates.ActsAsRootCommand(root, []string{"options", "help"}, groups...)
	root.SetUsageFunc(withDisplayName(root.UsageFunc()))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		templates.Normalize(cmd) // doing this for all commands at every start would take milliseconds
		help(cmd, args)
	})
	root.AddCommand(newOptions(c))
	root.AddCommand(newTopics(c)...)
	root.InitDefaultHelpCmd()
	refuseUnknownTopics(root)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage.Wrap(err) })
	return root
}

// refuseUnknownTopics makes "help" return an error for an unknown command, instead of printing the help of the program.
func refuseUnknownTopics(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usage.Errorf("unknown help topic %q", strings.Join(args, " "))
				}
				return nil
			}
		}
	}
}

// withDisplayName replaces the file name of the program with "kubectl akash-net" in the line of kubectl's usage template that
// ignores cobra.CommandDisplayNameAnnotation.
func withDisplayName(usage func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		var text bytes.Buffer
		cmd.SetOut(&text)
		err := usage(cmd)
		cmd.SetOut(out)
		fmt.Fprint(out, strings.ReplaceAll(text.String(), `Use "kubectl-akash_net `, `Use "kubectl akash-net `))
		return err
	}
}

// newOptions returns the command that lists the inherited flags, as in kubectl.
func newOptions(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options",
		Short: "List the global flags",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { _ = cmd.Usage() },
	}
	cmd.SetOut(c.Out)
	cmd.SetErr(c.Out)
	templates.UseOptionsTemplates(cmd)
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

func newVersion(c *session.Session) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := version.Of()
			switch output {
			case "":
				_, err := fmt.Fprintf(c.Out, "kubectl akash-net %s\n", info.Version)
				return err
			case "json":
				return emit.WriteJSON(c.Out, info)
			case "yaml":
				return emit.WriteYAML(c.Out, info)
			}
			return flags.CheckOneOf("output", output, "yaml", "json")
		},
	}
	flags.AddOutput(cmd, &output, "", "One of 'yaml' or 'json'", "json", "yaml")
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}
