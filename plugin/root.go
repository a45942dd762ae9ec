// Package plugin assembles the command line and runs it.
package plugin

import (
	"bytes"
	"context"
	_ "embed" // the help
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/akash-net/kubectl-akash-net/plugin/change"
	"github.com/akash-net/kubectl-akash-net/plugin/configure"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/documents"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/orders"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/show"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// completionName is the beginning of the name of the program that kubectl runs to complete a plugin's arguments.
const completionName = "kubectl_complete-"

// Main runs the command line args, where args[0] is the program's name, and returns the exit code. A program with the name
// kubectl_complete-akash_net completes arguments for kubectl, so completion needs only a link to the program.
//
// The first interrupt cancels requests and undoes claims that are not in use yet. The second one ends the process.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) (code int) {
	return MainWatching(ctx, args, streams, nil)
}

// MainWatching is Main of the program that can run "reconcile --watch" itself. Another one, whose watch is nil, leaves that to it.
func MainWatching(ctx context.Context, args []string, streams genericiooptions.IOStreams, watch change.Watch) (code int) {
	klog.SetLogger(logr.Discard()) // errors include what client-go logs
	ctx, stop := console.NotifyContext(ctx)
	defer stop()
	c := session.New(ctx, streams)
	defer func() {
		if r := recover(); r != nil {
			code = c.ReportPanic(r)
		}
	}()
	arguments := args[1:]
	first := ""
	if len(arguments) > 0 {
		first = arguments[0]
	}
	root := newRoot(c, watch, first)
	if strings.HasPrefix(filepath.Base(args[0]), completionName) {
		arguments = append([]string{"__complete"}, arguments...)
		root.SetErr(io.Discard) // kubectl prints the program's stderr on the terminal
	}
	root.SetArgs(arguments)
	cmd, err := root.ExecuteContextC(ctx)
	c.CommandPath = cmd.CommandPath()
	return c.End(ctx, err)
}

// command is a command of the program: its name, and the function that makes it.
type command struct {
	name string
	of   func(*session.Session) *cobra.Command
}

// group are commands below a heading of the program's help; without a heading they are not in it.
type group struct {
	heading  string
	commands []command
}

// groupsOf returns all commands of the program.
func groupsOf(watch change.Watch) []group {
	return []group{
		{"Every day:", []command{
			{"apply", change.NewApply}, {"state", show.NewState}, {"explain", show.NewExplain}, {"release", change.NewRelease},
			{"transfer", change.NewTransfer}, {"repair", change.NewRepair}, {"doctor", show.NewDoctor},
			{"reconcile", func(c *session.Session) *cobra.Command { return change.NewReconcile(c, watch) }},
		}},
		{"Before an apply:", []command{
			{"render", documents.NewRender}, {"convert", documents.NewConvert}, {"diff", change.NewDiff}, {"check", change.NewCheck},
			{"reserve", change.NewReserve}, {"order", orders.New},
		}},
		{"What leases run, and what happened to them:", []command{
			{"status", show.NewLeaseStatus}, {"logs", show.NewLogs}, {"events", show.NewLeaseEvents}, {"graph", show.NewGraph},
		}},
		{"Leases that move or pause:", []command{{"migrate", change.NewMigrate}, {"suspend", change.NewSuspend}, {"resume", change.NewResume}}},
		{"The cluster:", []command{
			{"install", change.NewInstall}, {"uninstall", change.NewUninstall}, {"config", configure.New}, {"backup", change.NewBackup}, {"restore", change.NewRestore},
		}},
		{"The plugin:", []command{{"completion", newCompletion}, {"version", newVersion}}},
		{"", []command{{"options", newOptions}, {"leases", show.NewLeases}, {"fit", newFit}}},
	}
}

// newRoot returns the program with the command that first names, or with all where that is the name of none: to make all takes a tenth of
// the time of a start.
func newRoot(c *session.Session, watch change.Watch, first string) *cobra.Command {
	all, isFirst := groupsOf(watch), func(one command) bool { return one.name == first }
	alone := slices.ContainsFunc(all, func(g group) bool { return slices.ContainsFunc(g.commands, isFirst) })
	root := &cobra.Command{
		Use:           "kubectl-akash_net",
		Short:         "Give the leases of an Akash provider host names and addresses",
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
	root.CompletionOptions.DisableDefaultCmd = true
	var shown templates.CommandGroups
	for _, g := range all {
		made := templates.CommandGroup{Message: g.heading}
		for _, one := range g.commands {
			if !alone || isFirst(one) {
				made.Commands = append(made.Commands, one.of(c))
			}
		}
		root.AddCommand(made.Commands...)
		if g.heading != "" {
			shown = append(shown, made)
		}
	}
	templates.ActsAsRootCommand(root, []string{"options", "help"}, shown...)
	root.SetUsageFunc(withDisplayName(root.UsageFunc()))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		describe(cmd)
		templates.Normalize(cmd) // doing this for all commands at every start would take milliseconds
		for _, name := range rareFlags {
			if flag := cmd.Flags().Lookup(name); flag != nil {
				flag.Hidden = true
			}
		}
		help(cmd, args)
	})
	if !alone {
		root.AddCommand(newTopics(c)...)
		root.InitDefaultHelpCmd()
		refuseUnknownTopics(root)
	}
	root.SetFlagErrorFunc(flagError)
	return root
}

// helpTexts are what the help of commands says above their flags.
//
//go:embed help.md
var helpTexts string

// describe gives a command its text and its examples, those of another name if it is short for that. One without a section in help.md
// keeps its own.
func describe(cmd *cobra.Command) {
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath()+" ")
	if of, ok := map[string]string{"leases": "state", "fit": "order fit"}[name]; ok {
		name = of
	}
	if _, text, found := strings.Cut(helpTexts, "\n## "+name+"\n\n"); found {
		text, _, _ = strings.Cut(text, "\n## ")
		cmd.Long, cmd.Example, _ = strings.Cut(strings.TrimSuffix(text, "```\n"), "\n```sh\n")
	}
}

// flagError is the error for a flag that a command does not have. What is no command has no flags: that is said first.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if unknown := cmd.Args(cmd, cmd.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && cmd.Name() == "reserve" && unknown.GetSpecifiedName() == "order" {
		return usage.Errorf("%w; did you mean this?\n  kubectl akash-net order reserve ORDER -f FILE", err)
	}
	return usage.Wrap(err)
}

// rareFlags are not in the help of commands; the shell completes them, and docs/commands.md lists them.
var rareFlags = []string{
	"allow-missing-template-keys", "assume-crashed", "assume-serving", "concurrency", flags.FlagCrashedAfter, "dns-settle", "dns-timeout", "leader-elect",
	"max-log-requests", "overlap", "resync", "since-time", "template", "tls-cert-file", "tls-private-key-file",
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

// newFit returns "order fit" under its short name.
func newFit(c *session.Session) *cobra.Command {
	cmd := orders.NewFit(c)
	cmd.Hidden = true
	return cmd
}

func newVersion(c *session.Session) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := version.Of()
			if done, err := flags.Document(c.Out, output, info); done {
				return err
			}
			_, err := fmt.Fprintf(c.Out, "kubectl akash-net %s\n", info.Version)
			return err
		},
	}
	flags.AddOutput(cmd, &output, "", "", "yaml", "json")
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

// otherWords maps commands of kubectl that this program does not have, and those that it had, to what does it here. Commands that do
// exactly the same have those of kubectl as aliases.
var otherWords = map[string]string{
	"delete": "kubectl akash-net release LEASE",
	"create": "kubectl akash-net apply -f FILE",
	"edit":   "kubectl akash-net state lease LEASE -o yaml > FILE, then kubectl akash-net apply -f FILE",
	"wait":   "kubectl akash-net apply -f FILE --wait=DURATION",
	"hosts":  "kubectl akash-net state hosts",
	"ips":    "kubectl akash-net state ips",
	"pools":  "kubectl akash-net state pools",
	"patch":  "kubectl akash-net apply -f FILE",
	"run":    "kubectl akash-net apply -f FILE --workloads",
	"top":    "kubectl akash-net state resources",

	"history":   "kubectl akash-net events (LEASE | HOST | ADDRESS)",
	"unreserve": "kubectl akash-net order release ORDER",
}

// knownCommands is the cobra.PositionalArgs of the program itself: what is left there is no command.
func knownCommands(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var likely []string
	if here, ok := otherWords[args[0]]; ok {
		likely = append(likely, here)
	} else {
		for _, name := range root.SuggestionsFor(args[0]) {
			likely = append(likely, root.DisplayName()+" "+name)
		}
	}
	return usage.Unknown(root.DisplayName(), args[0], likely)
}
