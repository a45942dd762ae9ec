package session

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// Scope says which inherited flags a command supports. A command refuses the others: ignoring a flag such as --namespace
// would let it do more than the user asked for.
type Scope struct {
	// Namespace returns why --namespace cannot be used with these arguments, or "" if it limits the command to leases of
	// the namespace. Nil is for commands that --namespace cannot limit.
	Namespace func(args []string) string
	// Offline reports whether the command sends no requests to a cluster; nil is for commands that always do.
	Offline func() bool
	// Leases says whether the arguments may be short names of leases.
	Leases Leases
	// Unconfigured is true for commands that do not read the provider's configuration.
	Unconfigured bool
}

// AlwaysOffline is the Scope.Offline of commands that never send requests to a cluster.
func AlwaysOffline() bool { return true }

// SetScope sets the scope of a command and returns the command.
func (c *Session) SetScope(cmd *cobra.Command, s Scope) *cobra.Command {
	if c.scopes == nil {
		c.scopes = map[*cobra.Command]Scope{}
	}
	c.scopes[cmd] = s
	if s.Leases != NoLeases {
		cmd.RunE = c.lengthening(s, cmd.RunE)
	}
	return cmd
}

// OnlySelected is the Scope.Namespace of commands that take leases as arguments: --namespace limits only -l and --all.
func OnlySelected(args []string) string {
	if len(args) > 0 {
		return "can be used only with --all or --selector; a named lease has its own namespace"
	}
	return ""
}

// GivenNamespace returns the value of --namespace, or "" if the flag was not given.
func GivenNamespace(cmd *cobra.Command) string {
	if flag := cmd.Flags().Lookup("namespace"); flag != nil && flag.Changed {
		return flag.Value.String()
	}
	return ""
}

// checkScope refuses inherited flags that the command would ignore. It checks only flags that were given, because kubectl
// passes the kubeconfig's namespace to every command. Every command accepts --kubeconfig and -v.
func (c *Session) checkScope(cmd *cobra.Command, args []string) error {
	s := c.scopes[cmd]
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if wrong != nil || cmd.Root().PersistentFlags().Lookup(f.Name) != f || f.Name == "kubeconfig" || f.Name == "v" {
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
