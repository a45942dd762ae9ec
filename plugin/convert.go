package plugin

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

func newConvert(c *cli) *cobra.Command {
	var in inputFlags
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
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := in.toOptions(&c.console)
			if err != nil {
				return err
			}
			if output != "yaml" && output != "json" {
				return usage.Errorf("--output must be 'yaml' or 'json', not %q", output)
			}
			if showSecrets && !workloads {
				return usage.Errorf("--show-secrets goes with --workloads")
			}
			o.workloads = workloads
			return c.convert(cmd.Context(), o, output, showSecrets)
		},
	}
	in.add(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "One of 'yaml' or 'json'")
	completeFlag(cmd, "output", "json", "yaml")
	cmd.Flags().BoolVar(&workloads, "workloads", false, "Include the workloads of the leases")
	addShowSecrets(cmd, &showSecrets)
	return c.setScope(cmd, scope{offline: func() bool { return !in.fromCluster }})
}

func (c *cli) convert(ctx context.Context, o *inputOptions, output string, secrets bool) error {
	var cluster *cluster.Cluster
	if o.fromCluster {
		var err error
		if cluster, err = c.connect(1); err != nil {
			return err
		}
	}
	cfg, err := c.configuration(ctx, cluster)
	if err != nil {
		return err
	}
	defs, err := o.collect(ctx, &c.console, cluster, cfg)
	if err != nil {
		return err
	}
	for _, def := range defs {
		c.warn(lease.Warnings(def))
		if !secrets {
			c.warn(leftPasswords(def))
		}
	}
	encode := input.Encode
	if secrets {
		encode = input.EncodeSecrets
	}
	var out bytes.Buffer
	if err := writeDefinitions(&out, defs, encode, output); err != nil {
		return err
	}
	_, err = out.WriteTo(c.Out)
	return err
}

// leftPasswords names the passwords that are not written.
func leftPasswords(def *lease.Definition) lease.Problems {
	var left lease.Problems
	if def.Workloads == nil {
		return nil
	}
	for _, w := range def.Workloads.Services {
		if w.Credentials != nil && w.Credentials.Password != "" {
			left.Warn(w.Credentials.At, "the password of service %q's registry is left out: --show-secrets writes it", w.Name)
		}
	}
	return left
}

func writeDefinitions(out *bytes.Buffer, defs []*lease.Definition, encode func(*lease.Definition) *input.Document, output string) error {
	if output == "yaml" {
		for i, def := range defs {
			if i > 0 {
				out.WriteString("---\n")
			}
			if err := emit.WriteYAML(out, encode(def)); err != nil {
				return err
			}
		}
		return nil
	}
	documents := make([]*input.Document, len(defs))
	for i, def := range defs {
		documents[i] = encode(def)
	}
	var value any = map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}
	if len(documents) == 1 {
		value = documents[0]
	}
	return emit.WriteJSON(out, value)
}
