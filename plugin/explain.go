package plugin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

func newExplain(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "explain (HOST|IP|LEASE)...",
		Short: "Tell who holds a thing, whether it is live, and if not why",
		Long: `
			Tell of host names, addresses and leases who holds them since when (the API server's time), what
			routes to them, whether they are live, and if not why and what to do.`,
		Example: `
			kubectl akash-net explain shop.example.com

			kubectl akash-net explain 203.0.113.7 akash1…/8438017/1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name a host, an address, or a lease (OWNER/DSEQ/GSEQ)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" && output != "yaml" {
				return usage("--output must be 'yaml' or 'json', not %q", output)
			}
			return c.explain(cmd.Context(), args, output)
		},
		ValidArgsFunction: c.completeLeases,
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "One of 'yaml' or 'json'")
	completeFlag(cmd, "output", "json", "yaml")
	return cmd
}

func (c *cli) explain(ctx context.Context, things []string, output string) error {
	cluster, err := c.connect(8)
	if err != nil {
		return err
	}
	cfg, err := c.configuration(ctx, cluster)
	if err != nil {
		return err
	}
	explanations, err := apply.Explain(ctx, cluster, cfg, things)
	if err != nil {
		return err
	}
	switch output {
	case "json":
		e := json.NewEncoder(c.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(explanations)
	case "yaml":
		return render.WriteYAML(c.Out, explanations)
	}
	for i, x := range explanations {
		if i > 0 {
			fmt.Fprintln(c.people)
		}
		c.printExplanation(x)
	}
	return nil
}

func (c *cli) printExplanation(x state.Explanation) {
	fmt.Fprintln(c.people, oneLine(x.Summary, maxCell))
	for _, f := range x.Facts {
		fmt.Fprintf(c.people, "  %s\n", oneLine(f, maxCell))
	}
	for _, n := range x.Next {
		fmt.Fprintf(c.people, "  -> %s\n", oneLine(n, maxCell))
	}
}
