// Package configure has the commands that show, explain and change the provider's configuration.
package configure

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// New returns the group of the commands.
func New(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "config SUBCOMMAND",
		DisableFlagsInUseLine: true,
		Short:                 "Show, explain and change the provider's configuration",
		Long: `
			Show, explain and change the provider's configuration.

			It is in ConfigMap config of the ledger's namespace, or in the file that --config names; without either
			the defaults apply. "config explain" lists its keys.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var likely []string
			for _, name := range cmd.SuggestionsFor(args[0]) {
				likely = append(likely, cmd.CommandPath()+" "+name)
			}
			return usage.Unknown(cmd.CommandPath(), args[0], likely)
		},
		SuggestionsMinimumDistance: 2,
		Run:                        func(cmd *cobra.Command, _ []string) { _ = cmd.Help() },
	}
	cmd.AddCommand(newView(c), newEdit(c), newValidate(c), newExplain(c), newExample(c))
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

func newExample(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "example",
		Short: "Print the default configuration with a comment on each key",
		Long: `
			Print the default configuration with a comment on each key. What is left out of a configuration means
			the same as what stands there.`,
		Example: `
			# Begin a configuration of your own
			kubectl akash-net config example > provider.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := example()
			if err == nil {
				_, err = fmt.Fprint(c.Out, text)
			}
			return err
		},
	}
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

// example returns the default configuration with its comments.
func example() (string, error) {
	object, err := manifests.Config(config.Default(), "")
	if err != nil {
		return "", err
	}
	text, _, err := unstructured.NestedString(object.Object, "data", manifests.ConfigMapKey)
	return text, err
}

// hasContent reports whether a text has a line that is no comment.
func hasContent(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}
