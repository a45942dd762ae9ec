package plugin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

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
			return usage.Errorf("--output must be 'yaml' or 'json', not %q", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "One of 'yaml' or 'json'")
	flags.Complete(cmd, "output", "json", "yaml")
	return c.SetScope(cmd, session.Scope{Offline: session.Never, Unconfigured: true})
}
