package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/report"
)

// preview prints what an apply would do: the line that kubectl prints for each object and, below it, the changed values that
// diff shows. It returns the error that the apply would return.
func preview(
	ctx context.Context, c *console.Console, from *cluster.Cluster, opts command.Options, defs []*lease.Definition,
) error {
	var events []report.Event
	opts.Report = foresee(ctx, from, opts.Config, func(e report.Event) { events = append(events, e) }, kinds.Reporting...).report
	p, err := apply.Preview(ctx, from, opts, defs)
	failures := report.Failures{err}
	errors.As(err, &failures)
	err = report.Gather(append(slices.Clone(failures), refuseConflicts(&p, opts.Reclaim)...))
	if _, writeErr := c.Out.Write(previewText(p, events, c.Color.On(c.Out), c.Terminal)); writeErr != nil {
		return fmt.Errorf("standard output: %w", writeErr)
	}
	return err
}

// refuseConflicts marks the leases of a plan that an apply would refuse, because other managers own what they write, and returns
// the errors with which that would end. force is true if it takes back what kubectl users have set.
func refuseConflicts(p *plan.Plan, force bool) (errs []error) {
	for i := range p.Leases {
		l := &p.Leases[i]
		for _, c := range l.Changes {
			if others := c.Others(); len(others) > 0 && (!force || !c.ByHand) {
				e := &report.ConflictError{Object: c.Kind + "/" + c.Name, Managers: others, Differs: true, Fields: c.Conflicts(), ByHand: c.ByHand}
				errs = append(errs, e)
				l.Refused = fmt.Sprintf("fields of %s are managed by %s", e.Object, strings.Join(others, ", "))
			}
		}
	}
	return errs
}

// previewText returns the changes in a plan with the events of its dry run, and then the other events, for each lease; at the end
// the numbers of the changes. brief omits unchanged objects, as on a terminal.
func previewText(p plan.Plan, all []report.Event, coloured, brief bool) []byte {
	t := printing.PlanWriter{Coloured: coloured}
	var tally report.Tally
	for _, l := range p.Leases {
		events := slices.DeleteFunc(slices.Clone(all), func(e report.Event) bool {
			return e.Lease.String() != l.Lease || e.Action == report.Failed || brief && e.Action == report.Unchanged || e.Action == report.Done && l.Refused != ""
		})
		if len(p.Leases) > 1 && (len(events) > 0 || l.Differs()) {
			t.Line(' ', "lease/"+l.Lease)
		}
		for _, c := range l.Changes {
			e := takeEvent(&events, c)
			t.Line(' ', console.DryRunLine(e))
			t.Values(c)
			tally.Add(e.Action, e.Kind)
		}
		for _, e := range events {
			t.Line(' ', console.DryRunLine(e))
			tally.Add(e.Action, e.Kind)
		}
		if l.Refused != "" {
			t.Line('!', "  refused: "+l.Refused)
			tally.Add(report.Failed, "lease")
		}
	}
	t.Tally(&tally)
	return t.Text()
}

// takeEvent removes the event about a change from events and returns it. It returns a new event if there is none.
func takeEvent(events *[]report.Event, c plan.Change) (e report.Event) {
	defer func() {
		if c.OnlyHash() && e.Message == "" {
			e.Message = printing.OnlyHash
		}
	}()
	actions := printing.Actions[c.Action]
	i := slices.IndexFunc(*events, func(e report.Event) bool {
		return e.Kind == c.Kind && e.Namespace == c.Namespace && e.Name == c.Name && slices.Contains(actions, e.Action)
	})
	if i < 0 {
		return report.Event{Action: actions[0], Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Message: c.Why}
	}
	e = (*events)[i]
	*events = slices.Delete(*events, i, i+1)
	return e
}
