// Package records writes the DNS records of a lease, and waits until they are published.
package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/objects"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// work is a run's work on the DNS records of its lease.
type work struct {
	// objects are the lease's records, unknown its hosts whose record has no value yet.
	objects []render.Object
	Unknown []render.UnknownHost
	// stuck says which records were to be replaced and did not go in time.
	stuck []string
}

// RecordProblems are those that a lease's DNS records have whatever the cluster says.
func RecordProblems(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, err := render.Records(def, cfg, nil, nil)
	var problems lease.Problems
	_ = errors.As(err, &problems)
	return problems
}

// WriteRecords writes the DNS records of the hosts that the run holds, as far as their values are
// known, after the routes: a name is to lead to what serves it.
func (r *Records) WriteRecords(ctx context.Context, def *lease.Definition) error {
	records, err := r.RenderRecords(ctx, def, false)
	if err != nil {
		return err
	}
	r.DNS.Unknown = records.Unknown
	return r.PutRecords(ctx, records.Objects)
}

// TellUnknown tells of the hosts whose record the run leaves out, where it does not wait.
func (r *Records) TellUnknown() {
	for _, h := range r.DNS.Unknown {
		r.Event(report.Left, "dns", "", h.Name, published.Missing(r.Options.Config, h))
	}
}

// PutRecords writes records, host by host. What goes from a host's name goes before what comes: two
// objects for one name would undo each other.
func (r *Records) PutRecords(ctx context.Context, objects []render.Object) error {
	for len(objects) > 0 {
		host := HostOf(objects[0])
		n := slices.IndexFunc(objects, func(o render.Object) bool { return HostOf(o) != host })
		if n < 0 {
			n = len(objects)
		}
		if err := r.putHost(ctx, host, objects[:n]); err != nil {
			return err
		}
		objects = objects[n:]
	}
	return nil
}

// HostOf is the host of a rendered record.
func HostOf(o render.Object) string { return view.RecordHost(cluster.Rendered(o)) }

func (r *Records) putHost(ctx context.Context, host string, objects []render.Object) error {
	if by := r.RecordHolder(host); by != "" {
		r.Event(report.Left, "dns", "", host, "deployment "+by+" has its records")
		return nil
	}
	r.DNS.objects = append(r.DNS.objects, objects...)
	going, replaced := r.going(host, objects)
	if len(going) > 0 || slices.ContainsFunc(objects, r.ChangesRecord) {
		if err := r.Mark(ctx, func(name string) bool { return name == state.HostName(host) }); err != nil {
			return err
		}
	}
	for _, g := range going {
		if err := r.RemoveWhile(ctx, g.Owned, report.Replaced, g.why, r.Replaceable(g.Owned)); err != nil {
			return err
		}
	}
	gone, err := r.awaitRemoved(ctx, going)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !gone {
			r.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, "what it replaces is still being deleted; apply again when it is gone")
			continue
		}
		live, message := r.Snapshot.Find(o), r.Unchecked(o)
		if replaced[o.Name] {
			live, message = nil, "in place of what was"
		}
		action, err := r.putRecord(ctx, o, live)
		if err != nil {
			return err
		}
		r.Event(action, o.Kind.Singular, o.Namespace, o.Name, message)
	}
	return nil
}

// RecordHolder is another deployment group that has records of the host by right: it holds a part of
// the same claim, and its records are older than any of this one's. A name has one writer.
func (r *Records) RecordHolder(host string) string {
	claim := r.Snapshot.Claims[state.HostName(host)]
	if h := r.Holds[state.HostName(host)]; h != nil && h.Claim != nil {
		claim = h.Claim
	}
	records := slices.Clone(r.Snapshot.Records[host])
	slices.SortStableFunc(records, func(a, b observed.Owned) int {
		return cmp.Or(a.Live.GetCreationTimestamp().Compare(b.Live.GetCreationTimestamp().Time), cmp.Compare(a.Live.GetUID(), b.Live.GetUID()))
	})
	for _, o := range records {
		switch {
		case o.Group == r.Group:
			return ""
		case claim != nil && len(claim.PartsOf(o.Group)) > 0:
			return o.Group.String()
		}
	}
	return ""
}

// goingRecord is a record that has to go before others come, and why.
type goingRecord struct {
	observed.Owned
	why string
}

// going are the records of a host that cannot stay beside the wanted ones: those of which a field
// changes that cannot be changed and, where any is to be made, all that are not wanted. replaced
// names the wanted ones whose object goes.
func (r *Records) going(host string, objects []render.Object) (going []goingRecord, replaced map[string]bool) {
	replaced = map[string]bool{}
	fresh := ""
	wanted := map[string]bool{}
	for _, o := range objects {
		live := r.Snapshot.Find(o)
		wanted[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
		if live == nil {
			fresh = o.String()
			continue
		}
		if why := fixedFieldChanged(o, live); why != "" {
			fresh, replaced[o.Name] = o.String(), true
			id, _ := lease.IDFromLabels(live.GetLabels())
			going = append(going, goingRecord{observed.Owned{Kind: o.Kind, Live: live, Group: id.Group()}, why})
		}
	}
	if fresh == "" {
		return going, replaced
	}
	for _, o := range r.Snapshot.Records[host] {
		if wanted[o.Kind.Plural+"/"+o.Live.GetNamespace()+"/"+o.Live.GetName()] {
			continue
		}
		why := "by " + fresh
		if o.Group != r.Group {
			why += ", from deployment " + o.Group.String()
		}
		going = append(going, goingRecord{o, why})
	}
	return going, replaced
}

// awaitRemoved waits until records are gone; as long as a controller holds one back it still stands
// in DNS. It is false where one is still there in the end.
func (r *Records) awaitRemoved(ctx context.Context, going []goingRecord) (bool, error) {
	if len(going) == 0 {
		return true, nil
	}
	there := func(ctx context.Context) (string, error) {
		for _, g := range going {
			now, err := r.Cluster.Get(ctx, g.Kind, g.Live.GetNamespace(), g.Live.GetName())
			if err != nil || now != nil && now.GetUID() == g.Live.GetUID() {
				return fmt.Sprintf("%s %s/%s to be gone, so that another can take its place", g.Kind.Singular, g.Live.GetNamespace(), g.Live.GetName()), err
			}
		}
		return "", nil
	}
	waiting, err := there(ctx)
	if err != nil || waiting == "" {
		return err == nil, err
	}
	limit := r.Options.Wait
	if limit == 0 {
		limit = patienceForRecords
	}
	err = wait.PollUntilContextTimeout(ctx, pollRecords, limit, false, func(ctx context.Context) (bool, error) {
		now, err := there(ctx)
		if err == nil {
			waiting = now
		}
		return err == nil && now == "", err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		r.DNS.stuck = append(r.DNS.stuck, waiting)
		return false, nil
	}
	return err == nil, err
}

// patienceForRecords is how long a record that is replaced may take to go where the run waits for
// nothing else: without it the name would have no record.
const patienceForRecords = 30 * time.Second

// pollRecords is how often a record is looked at that is waited for.
const pollRecords = 200 * time.Millisecond

// timedOut is the error of a wait that took too long, or err.
func (r *Records) timedOut(err error, waiting []string) error {
	if errors.Is(err, report.ErrTimedOut) {
		return &report.TimeoutError{After: r.Options.Wait.Round(time.Millisecond), Waiting: waiting}
	}
	return err
}

// KeptRecords are the records that pruning leaves: those that are wanted, and those of hosts whose
// value is not known yet or whose records wait for others to go.
func (r *Records) KeptRecords() []render.Object {
	kept := slices.Clone(r.DNS.objects)
	for _, h := range r.DNS.Unknown {
		for _, o := range r.Snapshot.Records[h.Name] {
			if o.Group == r.Group {
				kept = append(kept, render.Object{Kind: o.Kind, Namespace: o.Live.GetNamespace(), Name: o.Live.GetName()})
			}
		}
	}
	return kept
}

// Records is the work on one lease's objects and their DNS records.
type Records struct {
	*objects.Objects
	DNS work
}

// New begins the work on one lease; def is nil where nothing is rendered.
func New(c *command.Command, def *lease.Definition, req state.Request) *Records {
	return &Records{Objects: objects.New(c, def, req)}
}
