package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// AwaitRecords waits for the values that were not known, writes their records, and waits until all
// records are served.
func (r *Records) AwaitRecords(ctx context.Context, def *lease.Definition) error {
	if len(r.DNS.stuck) > 0 {
		return &report.TimeoutError{After: r.Options.Wait.Round(time.Millisecond), Waiting: r.DNS.stuck}
	}
	if len(r.DNS.Unknown) > 0 {
		if err := r.awaitValues(ctx, def); err != nil {
			return err
		}
	}
	return r.awaitServed(ctx)
}

// awaitValues waits until the cluster says where hosts are reached. What is known by then is
// written. The claims are looked at once more after that: the run has left them unguarded.
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
	for _, h := range r.Holds { // their marks have gone
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

// pruneLate removes the records of hosts whose value came late that are not wanted any more.
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

// awaitServed waits until the controller of each record has taken it up. One that says that it
// cannot ends the wait.
func (r *Records) awaitServed(ctx context.Context) error {
	waiting := slices.DeleteFunc(slices.Clone(r.DNS.objects), func(o render.Object) bool {
		live := r.Snapshot.Find(o)
		return !r.Changed && live != nil && view.RecordObjectOf(live).State == view.StateActive
	})
	if len(waiting) == 0 {
		return nil
	}
	var texts []string
	err := r.Poll(ctx, func(ctx context.Context) (bool, error) {
		var left []render.Object
		var said []string
		for _, o := range waiting {
			text, err := r.recordLacks(ctx, o)
			if err != nil {
				return false, err
			}
			if text != "" {
				left, said = append(left, o), append(said, text)
			}
		}
		waiting, texts = left, said
		return len(waiting) == 0, nil
	})
	return r.timedOut(err, texts)
}

// recordLacks says what a record lacks to be served; it is empty for one that is served.
func (r *Records) recordLacks(ctx context.Context, o render.Object) (string, error) {
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
		if r.Changed {
			r.Event(report.Served, o.Kind.Singular, o.Namespace, o.Name, ValuesText(record))
		}
		return "", nil
	case view.StateFailed:
		return "", fmt.Errorf("%s: the record was not made (%s): %s", name, record.Operation, record.Message)
	}
	return Unserved(o.Kind, record), nil
}

// Unserved says for what a record waits.
func Unserved(kind kinds.Kind, record view.RecordObject) string {
	last := "its controller has not taken it up yet"
	if record.Operation != "" {
		last = "last operation: " + record.Operation
	}
	return fmt.Sprintf("%s %s/%s to be served (%s; see: kubectl -n %s describe %s.%s %s)", kind.Singular, record.Namespace, record.Name, last, record.Namespace, kind.Plural, kind.Group, record.Name)
}

// ValuesText are the values of a record as people read them.
func ValuesText(o view.RecordObject) string {
	var texts []string
	for _, r := range o.Records {
		texts = append(texts, string(r.Type)+" "+strings.Join(r.Values, ", "))
	}
	return strings.Join(texts, "; ")
}
