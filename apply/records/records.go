// Package records writes the DNS records of a lease, and waits until they are published.
package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/objects"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Records writes the objects and the DNS records of one lease.
type Records struct {
	*objects.Objects
	DNS work
}

// work is the state of a run's work on DNS records.
type work struct {
	// Objects are the records that the run has handled, Unknown the hosts whose record has no value yet.
	Objects []render.Object
	Unknown []render.UnknownHost
	// stuck describes the replaced records that were not gone in time.
	stuck []string
}

// New returns the Records of one lease; def is nil if nothing is rendered.
func New(c *command.Command, def *lease.Definition, req state.Request) *Records {
	return &Records{Objects: objects.New(c, def, req)}
}

// RecordProblems returns the problems of a lease's DNS records that do not depend on the cluster.
func RecordProblems(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, err := render.Records(def, cfg, nil, nil)
	var problems lease.Problems
	_ = errors.As(err, &problems)
	return problems
}

// PutRecords writes records host by host. It deletes the records that it replaces first: the controllers of two objects
// with the same DNS name would overwrite each other's records.
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

// mark writes the run's mark on the claim of a host, before a run whose turn is over changes the host's records. If the
// claim has changed since it was read, mark decides on it again.
func (r *Records) mark(ctx context.Context, host string) error {
	h := r.Holds[state.HostName(host)]
	if r.Options.Turn != nil || h == nil || h.Took {
		return nil
	}
	r.Marking = true
	defer func() { r.Marking = false }()
	if err := r.TakeOnce(ctx, h.Want, false); err != nil {
		return err
	}
	if !r.Holds[state.HostName(host)].Took {
		return r.Overtaken(h) // another deployment of the owner has taken it
	}
	if err := r.CheckWildcards(ctx); err != nil { // a claim may have been lost and taken anew
		return err
	}
	return r.CheckOpen()
}

// HostOf returns the host of a rendered record.
func HostOf(o render.Object) string { return view.RecordHost(cluster.Rendered(o)) }

// putHost writes the records of one host, unless another deployment has its records.
func (r *Records) putHost(ctx context.Context, host string, objects []render.Object) error {
	if by := r.RecordHolder(host); by != "" {
		r.Event(report.Left, "dns", "", host, "deployment "+by+" has its records")
		return nil
	}
	r.DNS.Objects = append(r.DNS.Objects, objects...)
	replacing, recreated := ToReplace(r.Snapshot, r.Group, host, objects)
	if len(replacing) > 0 || slices.ContainsFunc(objects, r.ChangesRecord) {
		if err := r.mark(ctx, host); err != nil {
			return err
		}
	}
	for _, old := range replacing {
		if err := r.RemoveWhile(ctx, old.Owned, report.Replaced, old.Why, r.Replaceable(old.Owned)); err != nil {
			return err
		}
	}
	gone, err := r.awaitRemoved(ctx, replacing)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !gone {
			r.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, "what it replaces is still being deleted; apply again when it is gone")
			continue
		}
		live, message := r.Snapshot.Find(o), r.Unchecked(o)
		if recreated[o.Name] {
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

// RecordHolder is Holder, by the claim as the run knows it.
func (r *Records) RecordHolder(host string) string {
	claim := r.Snapshot.Claim(state.HostName(host))
	if h := r.Holds[state.HostName(host)]; h != nil && h.Claim != nil {
		claim = h.Claim
	}
	return Holder(r.Snapshot, r.Group, claim, host)
}

// awaitRemoved waits until the API server has removed replaced records; a record that a finalizer keeps is still served
// by DNS. It returns false if one still exists at the end.
func (r *Records) awaitRemoved(ctx context.Context, replaced []Replaced) (bool, error) {
	if len(replaced) == 0 {
		return true, nil
	}
	remaining := func(ctx context.Context) (string, error) {
		for _, g := range replaced {
			now, err := r.Cluster.Get(ctx, g.Kind, g.Live.GetNamespace(), g.Live.GetName())
			if err != nil || now != nil && now.GetUID() == g.Live.GetUID() {
				return fmt.Sprintf("%s %s/%s to be gone, so that another can take its place", g.Kind.Singular, g.Live.GetNamespace(), g.Live.GetName()), err
			}
		}
		return "", nil
	}
	waiting, err := remaining(ctx)
	if err != nil || waiting == "" {
		return err == nil, err
	}
	limit := r.Options.Wait
	if limit == 0 {
		limit = minRecordWait
	}
	err = wait.PollUntilContextTimeout(ctx, pollRecords, limit, false, func(ctx context.Context) (bool, error) {
		now, err := remaining(ctx)
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

// minRecordWait limits how long a run that waits for nothing else waits for a replaced record to be gone: if the run
// ended at once, the name would have no record.
const minRecordWait = 30 * time.Second

// pollRecords is the interval at which a replaced record is read.
const pollRecords = 200 * time.Millisecond
