package show

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
)

// NewExplain returns the command that shows who holds a thing, and whether it is live.
func NewExplain(c *session.Session) *cobra.Command {
	var output string
	var ignoreMissing bool
	cmd := &cobra.Command{
		Aliases: []string{"describe"},
		Use:     "explain (HOST|ADDRESS|ENDPOINT|LEASE|ORDER)...",
		Short:   "Show who holds a thing, whether it is live, and if not why",
		Long: `
			Show for host names, their paths, addresses, IP endpoints and leases who holds them and since when
			(the API server's time), what routes to them, whether they are live and something answers, and if not
			why and what to do.

			For orders, show what they have reserved on which nodes, for a bid or a lease, until when, which run
			is working on it, and how much of it the lease uses (this needs the role akash-net-capacity).

			Use the names that other commands print: host/shop.example.com, address/203.0.113.7,
			endpoint/public, lease/OWNER/DSEQ/GSEQ, order/OWNER/DSEQ/GSEQ/OSEQ. The prefix is optional except
			for an order, and a URL stands for its host. The exit code is 1 if there is no such lease, endpoint
			or address, or if an order has reserved nothing.`,
		Example: `
			kubectl akash-net explain shop.example.com

			kubectl akash-net explain 203.0.113.7 akash1…/8438017/1

			kubectl akash-net explain order/akash1…/8438017/1/1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("name a host, an address, an IP endpoint (endpoint/NAME), a lease (OWNER/DSEQ/GSEQ), or an order " +
					"(order/OWNER/DSEQ/GSEQ/OSEQ)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.CheckOneOf("output", output, "", "yaml", "json"); err != nil {
				return err
			}
			things, err := flags.ParseThings(args, thing.Host, thing.Address, thing.Endpoint, thing.Lease, thing.Order)
			if err != nil {
				return err
			}
			return explain(cmd.Context(), c, things, output, ignoreMissing)
		},
		ValidArgsFunction: completeExplain(c),
	}
	flags.AddOutput(cmd, &output, "", "One of 'yaml' or 'json'", "json", "yaml")
	flags.AddIgnoreMissing(cmd, &ignoreMissing)
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease})
}

// completeExplain completes things that leases hold, and orders after the prefix "order/".
func completeExplain(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		prefix := string(thing.Order) + "/"
		order, isOrder := strings.CutPrefix(toComplete, prefix)
		if !isOrder {
			return flags.CompleteThings(c, thing.Host, thing.Address, thing.Lease)(cmd, args, toComplete)
		}
		names, directive := flags.CompleteOrders(c)(cmd, args, order)
		for i, name := range names {
			names[i] = prefix + name
		}
		return names, directive
	}
}

func explain(ctx context.Context, c *session.Session, things []thing.Thing, output string, ignoreMissing bool) error {
	cluster, cfg, err := c.Open(ctx, session.Requests)
	if err != nil {
		return err
	}
	explanations, err := diagnosis.Explain(ctx, cluster, cfg, things)
	if err != nil {
		return err
	}
	var drift []state.Problem
	if may := slices.DeleteFunc(slices.Clone(things), hasNoObjects); len(may) > 0 {
		if drift, err = apply.Drift(ctx, cluster, cfg, may...); err != nil {
			return err
		}
	}
	for i := range min(len(things), len(explanations)) {
		addDrift(&explanations[i], things[i], drift)
	}
	var what []string
	shown := explanations
	if !ignoreMissing {
		for _, x := range explanations {
			if x.Missing {
				what = append(what, x.Summary)
			}
		}
		if output == "" {
			shown = slices.DeleteFunc(slices.Clone(explanations), isOnlyError)
		}
	}
	if err := printExplanations(&c.Console, shown, output); err != nil {
		return err
	}
	if len(what) > 0 {
		return &session.MissingError{What: what}
	}
	return nil
}

// hasNoObjects reports whether a thing is neither a host nor a lease, which objects serve.
func hasNoObjects(of thing.Thing) bool { return of.Kind != thing.Host && of.Kind != thing.Lease }

// addDrift adds how the objects of a lease, or of a host, differ from what the lease wants to its explanation.
func addDrift(x *diagnose.Explanation, of thing.Thing, drift []state.Problem) {
	for _, d := range drift {
		_, name, _ := strings.Cut(d.Thing, "/")
		host, _, _ := lease.ParseRouteName(name)
		id, err := lease.ParseID(d.Lease)
		if err == nil && (of.Kind == thing.Host && host == of.Host || of.Kind == thing.Lease && id.Group() == of.Group) {
			x.Facts = append(x.Facts, fmt.Sprintf("%s in namespace %s is not as the lease wants it: %s.", d.Thing, d.Namespace, d.Message))
			if !slices.Contains(x.Next, d.Command) {
				x.Next = append(x.Next, d.Command)
			}
		}
	}
}

// isOnlyError reports whether an explanation says no more than the error about something that does not exist.
func isOnlyError(x diagnose.Explanation) bool { return x.Missing && len(x.Facts)+len(x.Next) == 0 }

func printExplanations(c *console.Console, explanations []diagnose.Explanation, output string) error {
	switch output {
	case "json":
		return emit.WriteJSON(c.Out, explanations)
	case "yaml":
		return emit.WriteYAML(c.Out, explanations)
	}
	for i, x := range explanations {
		if i > 0 {
			fmt.Fprintln(c.Text)
		}
		printExplanation(c, x)
	}
	return nil
}

func printExplanation(c *console.Console, x diagnose.Explanation) {
	width := terminal.Width(c.Text)()
	line := func(first, others, text string) {
		text, room := terminal.OneLine(text, terminal.MaxCell), 0
		if width > 0 {
			text, room = thing.ShortenLeases(text), max(width-max(len(first), len(others)), 1)
		}
		fmt.Fprintf(c.Text, "%s%s\n", first, strings.Join(terminal.Fold(text, room), "\n"+others))
	}
	line("", "", x.Summary)
	for _, f := range x.Facts {
		line("  ", "    ", f)
	}
	for _, n := range x.Next {
		line("  -> ", "     ", n)
	}
}
