// Package configure has the commands that show, explain and change the provider's configuration.
package configure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
)

// New returns the group of the commands.
func New(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config SUBCOMMAND",
		Short: "Show, explain and change the provider's configuration",
	}
	flags.Group(cmd, newView(c), newEdit(c), newValidate(c), newExplain(c))
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

func newValidate(c *session.Session) *cobra.Command {
	var in files.Names
	cmd := &cobra.Command{
		Use:   "validate [-f FILE]",
		Short: "Check a configuration for errors",
		Args:  flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(in.Files) > 0 {
				return validateFiles(cmd.Context(), c, &in)
			}
			return validate(cmd.Context(), c)
		},
	}
	flags.AddFiles(cmd, &in, "Files, or folders of files, with configurations; - is standard input")
	return c.SetScope(cmd, session.Scope{Offline: func() bool { return c.ConfigFile != "" || len(in.Files) > 0 }})
}

func validate(ctx context.Context, c *session.Session) error {
	from, err := clusterOf(c)
	if err != nil {
		return err
	}
	_, read, err := c.Configured(ctx, from)
	switch {
	case err != nil:
		return err
	case c.ConfigFile == "" && read.Text == "":
		fmt.Fprintln(c.Text, "the cluster has no configuration, so that the defaults apply")
		return nil
	}
	return valid(c, read.Place)
}

// validateFiles checks each file, and returns the errors in all of them.
func validateFiles(ctx context.Context, c *session.Session, in *files.Names) error {
	var all lease.Problems
	err := in.Each(ctx, c.In, document.DefaultSize, func(r io.Reader, name string) error {
		text, err := io.ReadAll(r)
		if err == nil {
			_, err = c.ReadConfig(session.Document{Text: string(text), Place: name})
		}
		if problems, wrong := errors.AsType[lease.Problems](err); wrong {
			all = append(all, problems...)
			return nil
		}
		if err == nil {
			err = valid(c, name)
		}
		return err
	})
	if err == nil && len(all) > 0 {
		return all
	}
	return err
}

func valid(c *session.Session, place string) error {
	if place == "-" {
		place = "standard input"
	}
	_, err := fmt.Fprintln(c.Text, place+" is valid")
	return err
}

func newView(c *session.Session) *cobra.Command {
	var output string
	var defaults bool
	cmd := &cobra.Command{
		Use:        "view [--defaults]",
		SuggestFor: []string{"example"},
		Short:      "Show the configuration that applies, or the default one",
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if defaults {
				return viewDefaults(c, output)
			}
			return view(cmd.Context(), c, output)
		},
	}
	flags.AddOutput(cmd, &output, "", "; yaml by default. With --defaults both are without comments", emit.YAML, emit.JSON)
	cmd.Flags().BoolVar(&defaults, "defaults", false, "Show the default configuration, with a comment on each key")
	return c.SetScope(cmd, session.Scope{Offline: func() bool { return defaults || c.ConfigFile != "" }})
}

func view(ctx context.Context, c *session.Session, output string) error {
	from, err := clusterOf(c)
	if err != nil {
		return err
	}
	cfg, err := c.Configuration(ctx, from)
	if err != nil {
		return err
	}
	return printConfig(c, cfg, output)
}

// viewDefaults prints the default configuration.
func viewDefaults(c *session.Session, output string) error {
	if output != "" {
		return printConfig(c, config.Default(), output)
	}
	text, err := example()
	if err == nil {
		_, err = fmt.Fprint(c.Out, text)
	}
	return err
}

func printConfig(c *session.Session, cfg *config.ProviderConfig, output string) error {
	_, err := flags.Document(c.Out, cmp.Or(output, emit.YAML), config.Encode(cfg))
	return err
}

// clusterOf connects to the cluster whose configuration applies. It returns nil if --config names a file.
func clusterOf(c *session.Session) (*cluster.Cluster, error) {
	if c.ConfigFile != "" {
		return nil, nil
	}
	return c.Connect(session.Requests)
}
