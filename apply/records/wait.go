package records

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// AwaitRecords waits for the unknown values, writes their records, and waits until all records are published.
func (r *Records) AwaitRecords(ctx context.Context, def *lease.Definition) error {
	if len(r.DNS.stuck) > 0 {
		return r.timedOut(report.ErrTimedOut, r.DNS.stuck)
	}
	if len(r.DNS.Unknown) > 0 {
		if err := r.awaitValues(ctx, def); err != nil {
			return err
		}
	}
	return r.awaitServed(ctx)
}

// awaitValues waits until the cluster publishes where the hosts are reached, and writes the records that are known by
// then. It settles the claims again after that, because the run no longer has a mark on them.
func (r *Records) awaitValues(ctx context.Context, def *lease.Definition) error {
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
	waited = r.timedOut(waited, waiting)
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
			kept := slices.ContainsFunc(r.DNS.objects, func(o render.Object) bool {
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

// awaitServed waits until the controller of each record has published it. A failure that a controller reports ends the
// wait.
func (r *Records) awaitServed(ctx context.Context) error {
	waiting := slices.DeleteFunc(slices.Clone(r.DNS.objects), func(o render.Object) bool {
		live := r.Snapshot.Find(o)
		return !r.Changed() && live != nil && view.RecordObjectOf(live).State == view.StateActive
	})
	if len(waiting) == 0 {
		return nil
	}
	var reasons []string
	err := r.Poll(ctx, func(ctx context.Context) (bool, error) {
		var unserved []render.Object
		var now []string
		for _, o := range waiting {
			reason, err := r.whyUnserved(ctx, o)
			if err != nil { // the time may be over: the last reasons stay
				return false, err
			}
			if reason != "" {
				unserved, now = append(unserved, o), append(now, reason)
			}
		}
		waiting, reasons = unserved, now
		return len(waiting) == 0, nil
	})
	return r.timedOut(err, reasons)
}

// whyUnserved reads a record and returns what it waits for; it is empty if the record is published.
func (r *Records) whyUnserved(ctx context.Context, o render.Object) (string, error) {
	live, err := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s %s/%s", o.Kind.Singular, o.Namespace, o.Name)
	if live == nil {
		return "", fmt.Errorf("%s was deleted by somebody else while it was waited for; apply again", name)
	}
	record := view.RecordObjectOf(live)
	switch record.State {
	case view.StateActive:
		if r.Changed() {
			r.Event(report.Served, o.Kind.Singular, o.Namespace, o.Name, ValuesText(record))
		}
		return "", nil
	case view.StateFailed:
		return "", fmt.Errorf("%s: the record was not made (%s): %s", name, record.Operation, record.Message)
	}
	return Unserved(o.Kind, record), nil
}

// Unserved describes what a record that is not published waits for.
func Unserved(kind kinds.Kind, record view.RecordObject) string {
	last := "its controller has not taken it up yet"
	if record.Operation != "" {
		last = "last operation: " + record.Operation
	}
	return fmt.Sprintf("%s %s/%s to be served (%s; see: kubectl -n %s describe %s.%s %s)",
		kind.Singular, record.Namespace, record.Name, last, record.Namespace, kind.Plural, kind.Group, record.Name)
}

// ValuesText formats the types and values of a record, as "A 192.0.2.1; TXT x, y".
func ValuesText(o view.RecordObject) string {
	var texts []string
	for _, r := range o.Records {
		texts = append(texts, string(r.Type)+" "+strings.Join(r.Values, ", "))
	}
	return strings.Join(texts, "; ")
}
