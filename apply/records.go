package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// recordWork is a run's work on the DNS records of its lease.
type recordWork struct {
	// objects are the lease's records, unknown its hosts whose record has no value yet.
	objects []render.Object
	unknown []render.UnknownHost
	// stuck says which records were to be replaced and did not go in time.
	stuck []string
}

// recordProblems are those that a lease's DNS records have whatever the cluster says.
func recordProblems(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, err := render.Records(def, cfg, nil, nil)
	var problems lease.Problems
	_ = errors.As(err, &problems)
	return problems
}

// writeRecords writes the DNS records of the hosts that the run holds, as far as their values are
// known, after the routes: a name is to lead to what serves it.
func (r *records) writeRecords(ctx context.Context, def *lease.Definition) error {
	records, err := r.renderRecords(ctx, def, false)
	if err != nil {
		return err
	}
	r.dns.unknown = records.Unknown
	return r.putRecords(ctx, records.Objects)
}

// tellUnknown tells of the hosts whose record the run leaves out, where it does not wait.
func (r *records) tellUnknown() {
	for _, h := range r.dns.unknown {
		r.event(Left, "dns", "", h.Name, published.Missing(r.opts.Config, h))
	}
}

// putRecords writes records, host by host. What goes from a host's name goes before what comes: two
// objects for one name would undo each other.
func (r *records) putRecords(ctx context.Context, objects []render.Object) error {
	for len(objects) > 0 {
		host := hostOf(objects[0])
		n := slices.IndexFunc(objects, func(o render.Object) bool { return hostOf(o) != host })
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

// hostOf is the host of a rendered record.
func hostOf(o render.Object) string { return view.RecordHost(cluster.Rendered(o)) }

func (r *records) putHost(ctx context.Context, host string, objects []render.Object) error {
	if by := r.recordHolder(host); by != "" {
		r.event(Left, "dns", "", host, "deployment "+by+" has its records")
		return nil
	}
	r.dns.objects = append(r.dns.objects, objects...)
	going, replaced := r.going(host, objects)
	if len(going) > 0 || slices.ContainsFunc(objects, r.changesRecord) {
		if err := r.mark(ctx, func(name string) bool { return name == state.HostName(host) }); err != nil {
			return err
		}
	}
	for _, g := range going {
		if err := r.removeWhile(ctx, g.owned, Replaced, g.why, r.replaceable(g.owned)); err != nil {
			return err
		}
	}
	gone, err := r.awaitRemoved(ctx, going)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !gone {
			r.event(Left, o.Kind.Singular, o.Namespace, o.Name, "what it replaces is still being deleted; apply again when it is gone")
			continue
		}
		live, message := r.snapshot.find(o), r.unchecked(o)
		if replaced[o.Name] {
			live, message = nil, "in place of what was"
		}
		action, err := r.putRecord(ctx, o, live)
		if err != nil {
			return err
		}
		r.event(action, o.Kind.Singular, o.Namespace, o.Name, message)
	}
	return nil
}

// recordHolder is another deployment group that has records of the host by right: it holds a part of
// the same claim, and its records are older than any of this one's. A name has one writer.
func (r *records) recordHolder(host string) string {
	claim := r.snapshot.claims[state.HostName(host)]
	if h := r.holds[state.HostName(host)]; h != nil && h.claim != nil {
		claim = h.claim
	}
	records := slices.Clone(r.snapshot.records[host])
	slices.SortStableFunc(records, func(a, b owned) int {
		return cmp.Or(a.live.GetCreationTimestamp().Compare(b.live.GetCreationTimestamp().Time), cmp.Compare(a.live.GetUID(), b.live.GetUID()))
	})
	for _, o := range records {
		switch {
		case o.group == r.group:
			return ""
		case claim != nil && len(claim.PartsOf(o.group)) > 0:
			return o.group.String()
		}
	}
	return ""
}

// goingRecord is a record that has to go before others come, and why.
type goingRecord struct {
	owned
	why string
}

// going are the records of a host that cannot stay beside the wanted ones: those of which a field
// changes that cannot be changed and, where any is to be made, all that are not wanted. replaced
// names the wanted ones whose object goes.
func (r *records) going(host string, objects []render.Object) (going []goingRecord, replaced map[string]bool) {
	replaced = map[string]bool{}
	fresh := ""
	wanted := map[string]bool{}
	for _, o := range objects {
		live := r.snapshot.find(o)
		wanted[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
		if live == nil {
			fresh = o.String()
			continue
		}
		if why := fixedFieldChanged(o, live); why != "" {
			fresh, replaced[o.Name] = o.String(), true
			id, _ := lease.IDFromLabels(live.GetLabels())
			going = append(going, goingRecord{owned{kind: o.Kind, live: live, group: id.Group()}, why})
		}
	}
	if fresh == "" {
		return going, replaced
	}
	for _, o := range r.snapshot.records[host] {
		if wanted[o.kind.Plural+"/"+o.live.GetNamespace()+"/"+o.live.GetName()] {
			continue
		}
		why := "by " + fresh
		if o.group != r.group {
			why += ", from deployment " + o.group.String()
		}
		going = append(going, goingRecord{o, why})
	}
	return going, replaced
}

// awaitRemoved waits until records are gone; as long as a controller holds one back it still stands
// in DNS. It is false where one is still there in the end.
func (r *records) awaitRemoved(ctx context.Context, going []goingRecord) (bool, error) {
	if len(going) == 0 {
		return true, nil
	}
	there := func(ctx context.Context) (string, error) {
		for _, g := range going {
			now, err := r.cluster.Get(ctx, g.kind, g.live.GetNamespace(), g.live.GetName())
			if err != nil || now != nil && now.GetUID() == g.live.GetUID() {
				return fmt.Sprintf("%s %s/%s to be gone, so that another can take its place", g.kind.Singular, g.live.GetNamespace(), g.live.GetName()), err
			}
		}
		return "", nil
	}
	waiting, err := there(ctx)
	if err != nil || waiting == "" {
		return err == nil, err
	}
	limit := r.opts.Wait
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
		r.dns.stuck = append(r.dns.stuck, waiting)
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
func (r *records) timedOut(err error, waiting []string) error {
	if errors.Is(err, errTimedOut) {
		return &TimeoutError{After: r.opts.Wait.Round(time.Millisecond), Waiting: waiting}
	}
	return err
}

// keptRecords are the records that pruning leaves: those that are wanted, and those of hosts whose
// value is not known yet or whose records wait for others to go.
func (r *records) keptRecords() []render.Object {
	kept := slices.Clone(r.dns.objects)
	for _, h := range r.dns.unknown {
		for _, o := range r.snapshot.records[h.Name] {
			if o.group == r.group {
				kept = append(kept, render.Object{Kind: o.kind, Namespace: o.live.GetNamespace(), Name: o.live.GetName()})
			}
		}
	}
	return kept
}

// records is the work on one lease's objects and their DNS records.
type records struct {
	*objects
	dns recordWork
}

func newRecords(c *Command, def *lease.Definition, req state.Request) *records {
	return &records{objects: newObjects(c, def, req)}
}
