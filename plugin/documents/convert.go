package documents

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// NewConvert returns the command that converts an SDL or a manifest to a lease definition.
func NewConvert(c *session.Session) *cobra.Command {
	var in flags.Input
	var output string
	var workloads, showSecrets bool
	cmd := &cobra.Command{
		Use:   "convert -f FILE [--lease LEASE]",
		Short: "Convert an SDL or a manifest to a lease definition",
		Long: `
			Convert an Akash SDL, a manifest (as JSON or as an object of kind Manifest) or a lease definition to
			lease definitions. The gseq of the lease selects the group of an SDL. With --workloads the
			definitions include the workloads.`,
		Example: `
			# An SDL, for its lease
			kubectl akash-net convert -f deploy.yaml --lease akash1…/8438017/1/1/akash1…

			# All leases that Akash's provider has in the cluster
			kubectl akash-net convert --from-cluster`,
		Args: flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := in.Check(); err != nil {
				return err
			}
			if err := flags.CheckOneOf("output", output, "yaml", "json"); err != nil {
				return err
			}
			if showSecrets && !workloads {
				return usage.Errorf("--show-secrets requires --workloads")
			}
			in.Workloads = workloads
			return convert(cmd.Context(), c, &in, output, showSecrets)
		},
	}
	in.Add(cmd)
	flags.AddOutput(cmd, &output, "yaml", "One of 'yaml' or 'json'", "json", "yaml")
	cmd.Flags().BoolVar(&workloads, "workloads", false, "Include the workloads of the leases")
	addShowSecrets(cmd, &showSecrets)
	return c.SetScope(cmd, session.Scope{Leases: session.LeaseFlag, Offline: func() bool { return !in.FromCluster }})
}

func convert(ctx context.Context, c *session.Session, in *flags.Input, output string, secrets bool) error {
	var cluster *cluster.Cluster
	if in.FromCluster {
		var err error
		if cluster, err = c.Connect(1); err != nil {
			return err
		}
	}
	cfg, err := c.Configuration(ctx, cluster)
	if err != nil {
		return err
	}
	defs, err := in.Collect(ctx, &c.Console, cluster, cfg)
	if err != nil {
		return err
	}
	for _, def := range defs {
		c.Warn(lease.Warnings(def))
		if !secrets {
			c.Warn(omittedPasswords(def))
		}
	}
	encode := input.Encode
	if secrets {
		encode = input.EncodeSecrets
	}
	var out bytes.Buffer
	if err := printing.Definitions(&out, defs, encode, output); err != nil {
		return err
	}
	_, err = out.WriteTo(c.Out)
	return err
}

// omittedPasswords returns a warning for each password that the output omits.
func omittedPasswords(def *lease.Definition) lease.Problems {
	if def.Workloads == nil {
		return nil
	}
	var warnings lease.Problems
	for _, w := range def.Workloads.Services {
		if w.Credentials != nil && w.Credentials.Password != "" {
			warnings.Warn(w.Credentials.At, "the password of service %q's registry is left out: --show-secrets writes it", w.Name)
		}
	}
	return warnings
}
