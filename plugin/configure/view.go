package configure

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
)

func newView(c *session.Session) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Show the configuration that applies, and where each value is from",
		Long: `
			Show the configuration that applies, with every key: that of the cluster's ConfigMap or of the file that
			--config names, and the defaults. A comment says where each value is from: the line of a file or of the
			ConfigMap's text, or "default". It is a ProviderConfig, also of Akash's provider.yaml.`,
		Example: `
			# What applies in the cluster
			kubectl akash-net config view

			# What a file would mean
			kubectl akash-net config view --config provider.yaml

			# Only what is no default
			kubectl akash-net config view | grep -v '# default'

			# The values without comments, for scripts
			kubectl akash-net config view -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.CheckOneOf("output", output, "", "yaml", "json"); err != nil {
				return err
			}
			return view(cmd.Context(), c, output)
		},
	}
	flags.AddOutput(cmd, &output, "", "One of 'yaml' or 'json': the values without comments", "json", "yaml")
	return c.SetScope(cmd, session.Scope{Offline: func() bool { return c.ConfigFile != "" }})
}

func view(ctx context.Context, c *session.Session, output string) error {
	from, err := clusterOf(c)
	if err != nil {
		return err
	}
	cfg, read, err := c.Configured(ctx, from)
	if err != nil {
		return err
	}
	switch output {
	case "json":
		return emit.WriteJSON(c.Out, config.Encode(cfg))
	case "yaml":
		return emit.WriteYAML(c.Out, config.Encode(cfg))
	}
	text, err := config.Annotated(cfg, read.Text, read.Place)
	if err != nil {
		return err
	}
	_, err = c.Out.Write(text)
	return err
}

// clusterOf connects to the cluster whose configuration applies. It returns nil if --config names a file.
func clusterOf(c *session.Session) (*cluster.Cluster, error) {
	if c.ConfigFile != "" {
		return nil, nil
	}
	return c.Connect(session.Requests)
}
