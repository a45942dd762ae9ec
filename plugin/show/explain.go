package show

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// NewExplain returns the command that shows who holds a thing, and whether it is live.
func NewExplain(c *session.Session) *cobra.Command {
	var output string
	var ignoreMissing bool
	cmd := &cobra.Command{
		Aliases: []string{"describe"},
		Use:     "explain (HOST|ADDRESS|ENDPOINT|LEASE|ORDER)...",
		Short:   "Show who holds a thing, whether it is live, and if not why; \"describe\" is the same",
		Args: flags.Args(1, math.MaxInt, "name a host, an address, an IP endpoint (endpoint/NAME), a lease (OWNER/DSEQ/GSEQ), or an order "+
			"(order/OWNER/DSEQ/GSEQ/OSEQ)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			things, err := flags.ParseThings(args, thing.Host, thing.Address, thing.Endpoint, thing.Lease, thing.Order)
			if err != nil {
				return err
			}
			return explain(cmd.Context(), c, things, output, ignoreMissing)
		},
		ValidArgsFunction: completeExplain(c),
	}
	flags.AddOutput(cmd, &output, "", "", "yaml", "json")
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
	explanations, err := apply.Explain(ctx, cluster, cfg, things)
	if err != nil {
		return err
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

// isOnlyError reports whether an explanation says no more than the error about something that does not exist.
func isOnlyError(x diagnose.Explanation) bool { return x.Missing && len(x.Facts)+len(x.Next) == 0 }

func printExplanations(c *console.Console, explanations []diagnose.Explanation, output string) error {
	if done, err := flags.Document(c.Out, output, explanations); done {
		return err
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

// selection chooses rows of the book by their names, or by their leases. A list, a watch and a graph choose with it alike.
type selection struct {
	// things select rows by name; named returns those of some things.
	things        []thing.Thing
	named         func(*view.Book, ...thing.Thing) view.Book
	ignoreMissing bool
	selector      string
	// owner and dseq select rows too: by the owner's wallet, of which the middle may be left out, and by the DSEQ.
	owner string
	dseq  uint64
	// matches is the parsed selector, with owner and dseq.
	matches labels.Selector
	// namespace limits the rows to one lease; "" shows all.
	namespace     string
	allNamespaces bool
	// shard limits the routes to one shard; "" shows all.
	shard string
}

// add adds the flags. what are the rows; also and alsoLabels say what else --namespace and --selector choose.
func (s *selection) add(cmd *cobra.Command, what, also, alsoLabels string) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "",
		"Only "+what+" of leases whose labels match, as on Akash's objects (akash.network/lease.id.owner=akash1…)"+alsoLabels)
	cmd.Flags().StringVar(&s.owner, "owner", "", "Only "+what+" of this owner's leases: a wallet, or as tables print it (akash1h24…9w3c9h)")
	cmd.Flags().Uint64Var(&s.dseq, "dseq", 0, "Only "+what+" of the deployment of this number")
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", true,
		"Show "+what+" of all leases; --namespace shows only those of one lease's namespace"+also)
	flags.AddIgnoreMissing(cmd, &s.ignoreMissing)
}

// byLease reports whether flags select rows by the labels of their leases.
func (s *selection) byLease() bool { return s.selector != "" || s.owner != "" || s.dseq != 0 }

// check parses and validates the flags, after the things are known.
func (s *selection) check(cmd *cobra.Command) (err error) {
	if s.matches, err = labels.Parse(s.selector); err != nil {
		return usage.Errorf("--selector: %w", err)
	}
	s.namespace = session.GivenNamespace(cmd)
	all := cmd.Flags().Changed("all-namespaces")
	switch {
	case s.byLease() && len(s.things) > 0:
		return usage.Errorf("--selector, --owner and --dseq choose rows by their leases, names by themselves: give one of them")
	case s.ignoreMissing && len(s.things) == 0:
		return usage.Errorf("--ignore-not-found is about names, and none is given")
	case all && !s.allNamespaces && s.namespace == "":
		return usage.Errorf("--all-namespaces=false: name the namespace with --namespace")
	case all && s.allNamespaces:
		s.namespace = ""
	}
	return nil
}

// complete adds --owner and --dseq to the selector. Without a cluster the owner must be a whole wallet.
func (s *selection) complete(ctx context.Context, c *session.Session, offline bool) error {
	if s.owner != "" {
		owner, err := s.owner, lease.CheckWallet(s.owner)
		if err != nil && !offline {
			owner, err = c.Owner(ctx, s.owner)
		}
		if _, missing := errors.AsType[*session.MissingError](err); missing {
			return err
		}
		if err != nil {
			return usage.Errorf("--owner: %w", err)
		}
		s.matches = and(s.matches, lease.LabelOwner, owner)
	}
	if s.dseq != 0 {
		s.matches = and(s.matches, lease.LabelDSeq, strconv.FormatUint(s.dseq, 10))
	}
	return nil
}

// and returns a selector that also requires the value of a label.
func and(s labels.Selector, label, value string) labels.Selector {
	more, _ := labels.SelectorFromSet(labels.Set{label: value}).Requirements()
	return s.Add(more...)
}

// choose keeps the rows that the flags and the named things select.
func (s *selection) choose(book *view.Book) {
	if !s.matches.Empty() || s.namespace != "" {
		book.Select(s.matches, s.namespace)
	}
	if s.shard != "" {
		book.SelectShard(s.shard)
	}
	if len(s.things) > 0 {
		*book = s.named(book, s.things...)
	}
}

// missing returns an error with the named things that have no row, unless --ignore-not-found is set. among says where they were looked
// for.
func (s *selection) missing(book *view.Book, among string) error {
	if s.ignoreMissing {
		return nil
	}
	hasNoRow := func(t thing.Thing) bool {
		rows := s.named(book, t)
		return rows.Empty()
	}
	if s.namespace != "" {
		among += " of namespace " + s.namespace
	}
	if s.shard != "" {
		among += " of shard " + s.shard
	}
	return flags.MissingThings(s.things, hasNoRow, "%s is not found among %s", among)
}

// noteEmpty prints a message if the book has no rows and no names were given, which missing reports. It also says what the flags choose,
// which may have a typing error.
func (s *selection) noteEmpty(c *console.Console, book *view.Book, message string) {
	if book.Empty() && len(s.things) == 0 {
		fmt.Fprintln(c.ErrOut, message)
		s.noteChosen(c)
	}
}

// noteChosen says what --selector, --namespace and --shard choose.
func (s *selection) noteChosen(c *console.Console) {
	var chosen []string
	if s.selector != "" {
		chosen = append(chosen, "has the labels "+s.selector)
	}
	if s.namespace != "" {
		chosen = append(chosen, "is in namespace "+s.namespace)
	}
	if s.shard != "" {
		chosen = append(chosen, "is of shard "+s.shard)
	}
	if len(chosen) > 0 {
		fmt.Fprintf(c.ErrOut, "Only what %s was looked for.\n", strings.Join(chosen, " and "))
	}
}
