package show

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// NewLeases returns "state leases" as a separate command.
func NewLeases(c *session.Session) *cobra.Command {
	cmd := NewState(c)
	show, complete := cmd.RunE, cmd.ValidArgsFunction
	withSubject := func(args []string) []string { return append([]string{"leases"}, args...) }
	cmd.Aliases = nil
	cmd.Use = "leases [LEASE]..."
	cmd.Short = "Show the leases, and the state of their workloads"
	cmd.Long = `
		Show the leases: how many hosts and addresses they have. With --workloads, or workloads.enabled in the
		configuration, also the state of their workloads: pending, active, complete or error, as Akash's provider has
		it, how many replicas are ready, and what blocks the others. It is the same as "state leases".`
	cmd.Example = `
		# All leases
		kubectl akash-net leases

		# Watch one lease
		kubectl akash-net leases akash1…/8438017/1 --watch

		# Those in error, for scripts
		kubectl akash-net leases --workloads -o jsonpath='{range .leases[?(@.workloads.state=="error")]}{.lease}: {.workloads.reason}{"\n"}{end}'`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, arg := range args {
			if _, short := thing.ParseShort(arg); !short && !strings.Contains(arg, "/") {
				return usage.Errorf("%q is not a lease (OWNER/DSEQ/GSEQ)", arg)
			}
		}
		return show(cmd, withSubject(args))
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		words, directive := complete(cmd, withSubject(args), toComplete)
		return slices.DeleteFunc(words, func(w string) bool { return !strings.Contains(w, "/") }), directive // leases, and no subjects
	}
	for _, flag := range []string{"problems", "shard", flags.FlagCrashedAfter} {
		_ = cmd.Flags().MarkHidden(flag) // they apply to other subjects
	}
	return cmd
}
