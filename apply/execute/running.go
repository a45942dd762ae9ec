package execute

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// readRunning reads what a lease runs, and renders what it wants to run. What was read before stands if nobody has applied or released
// it since: an apply writes the Manifest first, and a release deletes it.
func (l *loop) readRunning(ctx context.Context, one *Lease, s *observed.Snapshot, version string) (out engine.Running, err error) {
	c, namespace := l.command, one.X.Request.Lease.Namespace()
	live, old := one.running, version == ""
	if !old {
		if old, err = live.IsOld(ctx, c.Cluster, c.Options.Config, namespace); err != nil {
			return out, err
		}
	}
	if old {
		if live, err = workloads.Read(ctx, c.Cluster, c.Options.Config, namespace, s.Namespaces[namespace]); err != nil {
			return out, err
		}
	}
	one.running = live
	if !one.taken {
		if err = l.readReserved(ctx, one); err != nil {
			return out, err
		}
	}
	out.Version, out.Reserves = "read", one.takesOver
	for _, o := range live.All() {
		out.Live = append(out.Live, running(o, one.X.Group))
	}
	if one.replaces {
		return out, nil // what the lease runs depends on what is reserved then
	}
	one.Work, out.Err = workloads.Prepare(c.Cluster, workloads.Options{
		Config: c.Options.Config, Scheduler: c.Options.Workloads.Scheduler, Reserved: one.chosen, Adopt: c.Options.Adopt,
	}, one.Runs, live)
	if out.Err != nil {
		return out, nil //nolint:nilerr // the engine refuses the lease
	}
	out.Stages, out.Disowns = one.Work.Stages(), one.Work.WantsDisowned()
	for _, m := range one.Work.Left() {
		out.Left = append(out.Left, engine.Event{
			Action: report.Skipped, Of: engine.Key{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}, Message: m.Why, Once: "lacks " + m.Name,
		})
	}
	for _, o := range one.Work.Unwanted(c.Options.Prune) {
		out.Unwanted = append(out.Unwanted, running(o, one.X.Group))
	}
	if !c.Options.Prune {
		return out, nil
	}
	former, err := workloads.Beside(ctx, c.Cluster, c.Options.Config, one.X.Group, namespace)
	out.Former = map[string][]engine.Object{}
	for _, name := range slices.Sorted(maps.Keys(former)) {
		for _, o := range former[name].Of(one.X.Group) {
			out.Former[name] = append(out.Former[name], running(o, one.X.Group))
		}
	}
	return out, err
}

// running returns an object that a deployment group runs as the engine knows it.
func running(o deployed.Object, g lease.Group) engine.Object {
	id, _ := lease.IDFromLabels(o.Live.GetLabels())
	return engine.Object{Kind: o.Kind, Live: o.Live, Group: g, Lease: id, Ours: true, Runs: true}
}

// readReserved reads which GPUs the lease's order has reserved. The reservation is taken over later, so that a refused lease leaves it
// unchanged. For one of another resource group than the definition's the GPUs are chosen then. One of another provider is ignored.
func (l *loop) readReserved(ctx context.Context, one *Lease) (err error) {
	c, id := l.command, one.X.Request.Lease
	one.chosen, one.takesOver, one.replaces = nil, false, false
	claim, err := reservation.New(c.Cluster, c.Options.Config).Reservation(ctx, id.Order())
	if err != nil || claim == nil || claim.Deleting || claim.Bound == nil || claim.Over(c.Cluster.Now()) {
		return err
	}
	bound := claim.Bound
	switch same := bound.Asked == reserved.Asked(inventory.GroupOf(one.Runs.ResourceGroup())); {
	case bound.Provider != "" && bound.Provider != id.Provider:
	case same:
		one.chosen, one.takesOver = reservation.Params(bound), bound.Provider == "" || bound.Expires != ""
	default:
		one.takesOver, one.replaces = true, true
	}
	return nil
}

// takeReserved makes the order's reservation the lease's own. If other GPUs are reserved now than were read, the answer has what the
// lease runs with those.
func (l *loop) takeReserved(ctx context.Context, one *Lease, s *observed.Snapshot, answer *engine.Answer) error {
	chosen, err := l.takeOver(ctx, one)
	if err != nil {
		return err
	}
	same := !one.replaces && reflect.DeepEqual(chosen, one.chosen)
	if one.chosen, one.takesOver, one.replaces, one.taken = chosen, false, false, true; same {
		return nil
	}
	answer.Running, err = l.readRunning(ctx, one, s, "")
	return cmp.Or(err, answer.Running.Err)
}

// takeOver makes the order's reservation the lease's: without end, with its provider, and for the resource group of the definition. It
// returns the chosen GPUs. The reservation stays even if the rest of the work fails.
func (l *loop) takeOver(ctx context.Context, one *Lease) (map[uint32]*lease.SchedulerParams, error) {
	c, x := l.command, one.X
	binds := func(was *reserved.Claim, becomes *reserved.Part) error {
		return x.Change(func() plan.Change {
			return plan.Change{
				Action: plan.Claim, Kind: report.KindOrder, Name: was.Order.String(), UID: was.UID, ResourceVersion: was.ResourceVersion,
				Before: reservedParts(was.Bound), After: reservedParts(becomes),
			}
		})
	}
	params, err := reservation.Claim(ctx, c.Cluster, c.Options.Config, x.Request.Lease, one.Runs.ResourceGroup(), binds)
	if err == nil {
		x.Event(report.Claimed, report.KindOrder, "", x.Request.Lease.Order().String(), "what it has reserved is the lease's")
	}
	return params, err
}

// reservedParts returns what is reserved as a plan shows it: for which group, what, on which nodes, for which provider, and until when.
// It returns nil for nil.
func reservedParts(p *reserved.Part) map[string]any {
	if p == nil {
		return nil
	}
	out := map[string]any{}
	for name, value := range map[string]string{
		"group": p.Asked, "holds": p.Hold.Words(p.Models()), "nodes": strings.Join(slices.Sorted(maps.Keys(p.Hold.Nodes)), " "),
		"provider": p.Provider, "expires": p.Expires,
	} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}
