package change

import (
	"context"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
)

// preview prints what an apply would do: kubectl's line for each object, and below it what diff shows of the change. It
// ends as the apply would.
func preview(ctx context.Context, c *console.Console, from *cluster.Cluster, opts command.Options, defs []*lease.Definition) error {
	var told []report.Event
	opts.Report = func(e report.Event) { told = append(told, e) }
	p, err := apply.Preview(ctx, from, opts, defs)
	if _, unwritten := c.Out.Write(previewText(p, told, printing.Colours(c.Out), c.Terminal)); unwritten != nil {
		return fmt.Errorf("standard output: %w", unwritten)
	}
	return err
}

// done are the actions that events tell of a change, the usual one first.
var done = map[plan.Action][]report.Action{
	plan.Claim: {report.Claimed}, plan.Withhold: {report.Withheld}, plan.Leave: {report.Left}, plan.Create: {report.Created},
	plan.Update: {report.Configured}, plan.Delete: {report.Pruned, report.Replaced, report.Deleted}, plan.GiveUp: {report.Pruned},
}

// previewText is a plan with what a dry run tells: a block an object, and then what it tells beside. Brief leaves out what is
// unchanged, as on a terminal.
func previewText(p plan.Plan, told []report.Event, coloured, brief bool) []byte {
	t := printing.PlanWriter{Coloured: coloured}
	for _, l := range p.Leases {
		events := slices.DeleteFunc(slices.Clone(told), func(e report.Event) bool {
			return e.Lease.String() != l.Lease || e.Action == report.Failed || brief && e.Action == report.Unchanged
		})
		if len(p.Leases) > 1 && (len(events) > 0 || l.Differs()) {
			t.Line(' ', "lease/"+l.Lease)
		}
		for _, c := range l.Changes {
			e := eventOf(&events, c)
			t.Line(' ', console.EventLine(e))
			t.Values(c)
		}
		for _, e := range events {
			t.Line(' ', console.EventLine(e))
		}
		if l.Refused != "" {
			t.Line('!', "  refused: "+l.Refused)
		}
	}
	return t.Text()
}

// eventOf takes the event that tells of a change out of others; a change of which nothing is told gets one.
func eventOf(events *[]report.Event, c plan.Change) report.Event {
	i := slices.IndexFunc(*events, func(e report.Event) bool {
		return e.Kind == c.Kind && e.Namespace == c.Namespace && e.Name == c.Name && slices.Contains(done[c.Action], e.Action)
	})
	if i < 0 {
		return report.Event{Action: done[c.Action][0], Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Message: c.Why}
	}
	e := (*events)[i]
	*events = slices.Delete(*events, i, i+1)
	return e
}
