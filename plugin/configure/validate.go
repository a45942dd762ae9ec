package configure

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

func newValidate(c *session.Session) *cobra.Command {
	var in files.Flags
	cmd := &cobra.Command{
		Use:   "validate [-f FILE]",
		Short: "Check a configuration for errors",
		Long: `
			Check the cluster's configuration, or files, for errors, and print each with its line and column. The exit
			code is 3 if there are any. Files are ProviderConfigs, or Akash's provider.yaml; reading them needs no
			cluster.`,
		Example: `
			# The configuration in the cluster
			kubectl akash-net config validate

			# A file, before it is installed
			kubectl akash-net config validate -f provider.yaml`,
		Args: flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(in.Files) > 0 && c.ConfigFile != "":
				return usage.Errorf("-f and --config cannot be used together")
			case len(in.Files) > 0:
				return validateFiles(cmd.Context(), c, &in)
			}
			return validate(cmd.Context(), c)
		},
	}
	in.Add(cmd, "Files, or folders of files, with configurations; - is standard input")
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
func validateFiles(ctx context.Context, c *session.Session, in *files.Flags) error {
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
