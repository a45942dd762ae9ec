package show

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leaseevents"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/history"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// historyFlags are the flags of history.
type historyFlags struct {
	output                          string
	watch, noHeaders, ignoreMissing bool
}

// NewHistory returns the command that shows what commands have done with things and leases.
func NewHistory(c *session.Session) *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history (HOST|ADDRESS|LEASE)...",
		Short: "Show what happened to hosts, addresses and leases",
		Long: `
			Show what commands did with host names, addresses and leases, the newest last: what was claimed, withheld,
			refused and by whom it is held, granted, written, transferred, lost, repaired and released.

			Commands that change leases write it as Kubernetes events into the namespaces of the leases, where "kubectl
			events" shows it too. It is a story, and no record: an API server keeps events for an hour, whoever may
			create events may add to it, and events of a lease without a namespace are not written. With --watch, new
			events follow.`,
		Example: `
			kubectl akash-net history shop.example.com

			kubectl akash-net history 203.0.113.7 akash1…/8438017/1

			# What happens from now on as well
			kubectl akash-net history akash1…/8438017/1 --watch`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("name a host, an address, or a lease (OWNER/DSEQ/GSEQ)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			things, err := flags.ParseThings(args, thing.Host, thing.Address, thing.Lease)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c, things)
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Host, thing.Address, thing.Lease),
	}
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "After the existing events, show new ones")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print the table without its header")
	flags.AddOutput(cmd, &f.output, "", "", "json", "yaml", "name", "wide")
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease})
}

func (f *historyFlags) run(ctx context.Context, c *session.Session, things []thing.Thing) error {
	all, err := eventPrinter(&c.Console, f.output, f.noHeaders, f.watch, leaseOf)
	if err != nil {
		return err
	}
	show := func(events []leaseevents.Event) error {
		slices.SortStableFunc(events, written)
		return all(events)
	}
	from, cfg, err := c.Open(ctx, session.Requests)
	if err != nil {
		return err
	}
	if f.watch {
		return leaseevents.Watch(ctx, from, storiesOf(things), show)
	}
	events, err := leaseevents.Read(ctx, from, storiesOf(things))
	if err != nil {
		return err
	}
	silent := slices.DeleteFunc(slices.Clone(things), func(t thing.Thing) bool {
		return slices.ContainsFunc(events, func(e leaseevents.Event) bool { return tellsOf(e, t) })
	})
	missing, err := f.missing(ctx, from, cfg, silent)
	if err != nil {
		return err
	}
	for _, t := range silent {
		if !slices.Contains(missing, t) {
			fmt.Fprintf(c.ErrOut, "No events found for %s.\n", t)
		}
	}
	if err := show(events); err != nil {
		return err
	}
	return flags.MissingThings(missing, func(thing.Thing) bool { return true }, "%s not found: nothing holds it, and no event tells of it")
}

// missing returns which of the things without a story there are not: no lease holds the thing, and the lease neither holds anything nor
// has a namespace.
func (f *historyFlags) missing(
	ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig, silent []thing.Thing,
) (missing []thing.Thing, err error) {
	if len(silent) == 0 || f.ignoreMissing {
		return nil, nil
	}
	held, err := observed.HeldThings(ctx, from, cfg.LedgerNamespace, lease.Group{})
	if err != nil {
		return nil, err
	}
	for _, t := range silent {
		known := slices.ContainsFunc(held, func(h thing.Thing) bool {
			return t.Kind == h.Kind && t.Group == h.Group && t.Host == h.Host && t.Addr == h.Addr
		})
		if !known && t.Kind == thing.Lease {
			found, err := leasestatus.Find(ctx, from, t.Group)
			if err != nil {
				return nil, err
			}
			known = len(found) > 0
		}
		if !known {
			missing = append(missing, t)
		}
	}
	return missing, nil
}

// storiesOf selects the events that commands have written of things: those of the only lease, in its namespace if that is known, or in all
// namespaces.
func storiesOf(things []thing.Thing) leaseevents.Selection {
	s := leaseevents.Selection{
		Options: metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("reportingComponent", history.Controller).String()},
		Keep: func(e leaseevents.Event) bool {
			return slices.ContainsFunc(things, func(t thing.Thing) bool { return tellsOf(e, t) })
		},
	}
	if len(things) == 1 && things[0].Kind == thing.Lease {
		g := things[0].Group
		s.Options.LabelSelector = labels.Set{lease.LabelOwner: g.Owner, lease.LabelDSeq: fmt.Sprint(g.DSeq), lease.LabelGSeq: fmt.Sprint(g.GSeq)}.String()
		if things[0].ID != (lease.ID{}) {
			s.Namespace = things[0].ID.Namespace()
		}
	}
	return s
}

// tellsOf reports whether an event is in the story of a thing. It counts only in the namespace of its lease, where nobody else may write.
func tellsOf(e leaseevents.Event, t thing.Thing) bool {
	id, ok := lease.IDOfObject(e.Namespace, e.Labels)
	switch {
	case !ok:
		return false
	case t.Kind == thing.Lease:
		return id == t.ID || t.ID == (lease.ID{}) && id.Group() == t.Group
	case t.Kind == thing.Host:
		t.Path = "" // a claim is on a host with all its paths
	}
	return slices.Contains(history.Names(&e), t.Name())
}

// written compares events by when they were written. Their times are the clocks of several machines, as far as these know it to a second.
func written(a, b leaseevents.Event) int {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	if err != nil {
		return 0 // they stay in the order of their times
	}
	return order
}

// leaseOf names the lease of an event.
func leaseOf(e leaseevents.Event) string {
	id, _ := lease.IDOfObject(e.Namespace, e.Labels) // tellsOf has checked it
	return string(thing.Lease) + "/" + id.Group().String()
}
