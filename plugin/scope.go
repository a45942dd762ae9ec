package plugin

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// scope says which of the flags that every command inherits mean something to one command. A flag
// limits what a command does, or is refused: one that is ignored lets a command do more than was asked.
type scope struct {
	// namespace says why --namespace cannot be used with these arguments; empty where it limits the
	// command to leases of the namespace. Nil is for commands to which a namespace means nothing.
	namespace func(args []string) string
	// offline is true where the command reads no cluster; nil is for commands that always do.
	offline func() bool
	// unconfigured commands do not look at the provider's configuration.
	unconfigured bool
}

// never is for commands that read no cluster.
func never() bool { return true }

// setScope notes what the inherited flags mean to a command.
func (c *session) setScope(cmd *cobra.Command, s scope) *cobra.Command {
	if c.scopes == nil {
		c.scopes = map[*cobra.Command]scope{}
	}
	c.scopes[cmd] = s
	return cmd
}

// onlyChosen is for commands whose arguments name leases: --namespace chooses among those of -l and --all.
func onlyChosen(args []string) string {
	if len(args) > 0 {
		return "it goes with --all and --selector: a lease that is named is in no other namespace"
	}
	return ""
}

// givenNamespace is the namespace of --namespace, empty where the flag was not given.
func givenNamespace(cmd *cobra.Command) string {
	if flag := cmd.Flags().Lookup("namespace"); flag != nil && flag.Changed {
		return flag.Value.String()
	}
	return ""
}

// everywhere are the flags that say where the client's own settings are, and not what a command works on.
var everywhere = []string{"kubeconfig"}

// checkScope refuses inherited flags that would be ignored. Only flags that were given count: kubectl
// hands on the kubeconfig's namespace to every command.
func (c *session) checkScope(cmd *cobra.Command, args []string) error {
	s := c.scopes[cmd]
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if wrong != nil || cmd.Root().PersistentFlags().Lookup(f.Name) != f || slices.Contains(everywhere, f.Name) {
			return
		}
		switch {
		case f.Name == "config":
			if s.unconfigured {
				wrong = usage.Errorf("--config: %s does not look at the provider's configuration", cmd.Name())
			}
		case f.Name == "namespace":
			if s.namespace == nil {
				wrong = usage.Errorf("--namespace does not limit %s; leave it out", cmd.Name())
			} else if why := s.namespace(args); why != "" {
				wrong = usage.Errorf("--namespace: %s", why)
			}
		case s.offline != nil && s.offline():
			wrong = usage.Errorf("--%s is about a connection to a cluster, and this command reads none; leave it out", f.Name)
		}
	})
	return wrong
}
