package session

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// Scope says which of the flags that every command inherits mean something to one command. A flag
// limits what a command does, or is refused: one that is ignored lets a command do more than was asked.
type Scope struct {
	// Namespace says why --namespace cannot be used with these arguments; empty where it limits the
	// command to leases of the namespace. Nil is for commands to which a namespace means nothing.
	Namespace func(args []string) string
	// Offline is true where the command reads no cluster; nil is for commands that always do.
	Offline func() bool
	// Unconfigured commands do not look at the provider's configuration.
	Unconfigured bool
}

// Never is for commands that read no cluster.
func Never() bool { return true }

// SetScope notes what the inherited flags mean to a command.
func (c *Session) SetScope(cmd *cobra.Command, s Scope) *cobra.Command {
	if c.scopes == nil {
		c.scopes = map[*cobra.Command]Scope{}
	}
	c.scopes[cmd] = s
	return cmd
}

// OnlyChosen is for commands whose arguments name leases: --namespace chooses among those of -l and --all.
func OnlyChosen(args []string) string {
	if len(args) > 0 {
		return "can be used only with --all or --selector; a named lease has its own namespace"
	}
	return ""
}

// GivenNamespace is the namespace of --namespace, empty where the flag was not given.
func GivenNamespace(cmd *cobra.Command) string {
	if flag := cmd.Flags().Lookup("namespace"); flag != nil && flag.Changed {
		return flag.Value.String()
	}
	return ""
}

// everywhere are the flags that say where the client's own settings are, and not what a command works on.
var everywhere = []string{"kubeconfig"}

// checkScope refuses inherited flags that would be ignored. Only flags that were given count: kubectl
// hands on the kubeconfig's namespace to every command.
func (c *Session) checkScope(cmd *cobra.Command, args []string) error {
	s := c.scopes[cmd]
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if wrong != nil || cmd.Root().PersistentFlags().Lookup(f.Name) != f || slices.Contains(everywhere, f.Name) {
			return
		}
		switch {
		case f.Name == "config":
			if s.Unconfigured {
				wrong = usage.Errorf("--config: %s does not look at the provider's configuration", cmd.Name())
			}
		case f.Name == "namespace":
			if s.Namespace == nil {
				wrong = usage.Errorf("--namespace does not limit %s; leave it out", cmd.Name())
			} else if why := s.Namespace(args); why != "" {
				wrong = usage.Errorf("--namespace: %s", why)
			}
		case s.Offline != nil && s.Offline():
			wrong = usage.Errorf("--%s is about a connection to a cluster, and this command reads none; leave it out", f.Name)
		}
	})
	return wrong
}
