package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Served waits until the controller of each record has published it. A failure that a controller reports ends the wait.
func (l *Lease) Served(ctx context.Context) error {
	waiting := slices.DeleteFunc(slices.Clone(l.Records), func(o render.Object) bool {
		live := l.X.Snapshot.Find(o)
		return !l.X.Changed() && live != nil && view.RecordObjectOf(live).State == view.StateActive
	})
	if len(waiting) == 0 {
		return nil
	}
	var reasons []string
	err := l.X.Poll(ctx, "DNS controllers to serve "+lease.Count(len(waiting), "record"), func(ctx context.Context) (bool, error) {
		var unserved []render.Object
		var now []string
		for _, o := range waiting {
			reason, err := l.whyUnserved(ctx, o)
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
	return l.X.TimedOut(err, reasons...)
}

// whyUnserved reads a record and returns what it waits for; it is empty if the record is published.
func (l *Lease) whyUnserved(ctx context.Context, o render.Object) (string, error) {
	live, err := l.X.Command.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
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
		if l.X.Changed() {
			l.X.Event(report.Served, o.Kind.Singular, o.Namespace, o.Name, ValuesText(record))
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
