package records

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
)

// AwaitValues waits until the cluster publishes where the hosts are reached, and writes the records that are known by
// then. It settles the claims again after that, because the run no longer has a mark on them.
func (r *Records) AwaitValues(ctx context.Context, def *lease.Definition) error {
	switch {
	case len(r.DNS.stuck) > 0:
		return r.TimedOut(report.ErrTimedOut, r.DNS.stuck...)
	case len(r.DNS.Unknown) == 0:
		return nil
	}
	var records render.DNS
	waited := r.Poll(ctx, func(ctx context.Context) (bool, error) {
		now, err := r.RenderRecords(ctx, def, true)
		if err != nil {
			return false, err
		}
		records = now
		return len(records.Unknown) == 0, nil
	})
	var waiting []string
	for _, h := range records.Unknown {
		waiting = append(waiting, "host "+h.Name+": "+published.Missing(r.Options.Config, h))
	}
	waited = r.TimedOut(waited, waiting...)
	late := slices.DeleteFunc(records.Objects, func(o render.Object) bool {
		return !slices.ContainsFunc(r.DNS.Unknown, func(h render.UnknownHost) bool { return h.Name == HostOf(o) })
	})
	if len(late) == 0 {
		return waited
	}
	for _, h := range r.Holds { // the run's marks are gone
		h.Took, h.Touch = false, false
	}
	if err := r.PutRecords(ctx, late); err != nil {
		return err
	}
	if r.Options.Prune {
		if err := r.pruneLate(ctx, late); err != nil {
			return err
		}
	}
	if err := r.SettleHolds(ctx); err != nil {
		return err
	}
	return waited
}

// pruneLate deletes the records that are no longer wanted of the hosts whose values became known while the run waited.
func (r *Records) pruneLate(ctx context.Context, late []render.Object) error {
	for _, o := range late {
		for _, was := range r.Snapshot.Records[HostOf(o)] {
			kept := slices.ContainsFunc(r.DNS.Objects, func(o render.Object) bool {
				return o.Kind == was.Kind && o.Namespace == was.Live.GetNamespace() && o.Name == was.Live.GetName()
			})
			if was.Group == r.Group && !kept {
				if err := r.Remove(ctx, was, report.Pruned); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
