package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// writeRoute writes a route's new form, in the order in which it works from the first moment.
func (m *leaseMigration) writeRoute(ctx context.Context, t *marks, c *crossing, seen map[string]bool) error {
	if err := m.readAgain(ctx, c); err != nil {
		return err
	}
	if m.superseded(c) {
		o := c.main()
		if c.why = m.leadsElsewhere(c, m.x.Snapshot.Find(o)); c.why != "" {
			c.ready = false
			m.x.Event(report.Left, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(), c.why)
			return nil
		}
		m.x.Event(report.Unchanged, o.Kind.Singular, o.Namespace, o.Name, "it is there already")
		return m.cancelRemoval(ctx, o.Kind, m.x.Snapshot.Find(o))
	}
	for _, stage := range kinds.Stages {
		for _, o := range c.objects {
			if !slices.Contains(stage, o.Kind) || seen[o.String()] {
				continue
			}
			seen[o.String()] = true
			action, err := m.put(ctx, t, o, m.x.Snapshot.Find(o), o.String() == c.main().String())
			switch {
			case cluster.IsOvertaken(err):
				return c.changed()
			case err != nil:
				return err
			}
			m.x.Event(action, o.Kind.Singular, o.Namespace, o.Name, "")
		}
	}
	return nil
}

// readAgain reads the new form of a route and then the old one that it was rendered from, in order not to overwrite
// what another run has written since. The write is pinned to the new form as it is now.
func (m *leaseMigration) readAgain(ctx context.Context, c *crossing) error {
	o := c.main()
	now, err := m.x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil {
		return err
	}
	m.x.Snapshot = m.x.Snapshot.With(o.Kind, o.Namespace, o.Name, now)
	old, err := m.x.Cluster.Get(ctx, c.old.Kind, c.old.Live.GetNamespace(), c.old.Live.GetName())
	if err != nil {
		return err
	}
	if (old == nil || old.GetUID() != c.old.Live.GetUID() || !executor.SameRoute(old, c.old.Live)) && !m.superseded(c) {
		return c.changed()
	}
	return nil
}

// changed returns the error that a route has changed since it was read.
func (c *crossing) changed() error {
	return fmt.Errorf("%s %s/%s was changed meanwhile; the same command carries the change over",
		c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName())
}

// superseded reports whether the new form exists and has to stay as it is: Akash's provider wrote it for the lease, or
// it was written from another definition since (timestamps have whole seconds).
func (m *leaseMigration) superseded(c *crossing) bool {
	live := m.x.Snapshot.Find(c.main())
	if live == nil {
		return false
	}
	if m.byAkash(live) {
		return true
	}
	was, is := c.old.Live.GetAnnotations()[lease.AnnotationDefinition], live.GetAnnotations()[lease.AnnotationDefinition]
	if records.ResidualTTL(c.old.Live) > 0 {
		return was != is // the old one was last written by noteTime
	}
	return was != "" && is != "" && was != is && !lastApplied(live).Before(lastApplied(c.old.Live))
}

// byAkash reports whether Akash's provider has written a route for the lease.
func (m *leaseMigration) byAkash(live *unstructured.Unstructured) bool {
	id, ok := lease.IDFromLabels(live.GetLabels())
	return ok && id.Group() == m.x.Group && m.x.Snapshot.Ownership(live).Shared
}

// leadsElsewhere returns why the new route that Akash's provider wrote does not stand for the old one: it takes other requests, or
// leads to something else. Otherwise, and for a route of this program, it returns "".
func (m *leaseMigration) leadsElsewhere(c *crossing, live *unstructured.Unstructured) string {
	if !m.byAkash(live) {
		return ""
	}
	to := ""
	switch now, err := render.ReadRoute(live, m.x.Options.Config, m.surroundings()); {
	case err != nil:
		to = err.Error()
	case now.LeadsTo() != c.live.LeadsTo():
		to = "it leads " + now.LeadsTo()
	default:
		return ""
	}
	o := c.main()
	return fmt.Sprintf("it leads %s, and %s %s/%s of Akash's provider does not: %s. If that is right, delete this one; otherwise: kubectl -n %s delete %s %s",
		c.live.LeadsTo(), o.Kind.Singular, o.Namespace, o.Name, to, o.Namespace, o.Kind.Singular, o.Name)
}

// lastApplied returns when this program last wrote an object.
func lastApplied(o *unstructured.Unstructured) time.Time {
	if e, ok := managed.Applied(o, lease.FieldManager); ok && e.Time != nil {
		return e.Time.Time
	}
	return time.Time{}
}

// awaitAllAccepted waits until routers have accepted all new routes. If one is not accepted, its old route stays.
func (m *leaseMigration) awaitAllAccepted(ctx context.Context) error {
	if m.x.Options.Wait == 0 && m.x.Options.AssumeServing {
		return nil
	}
	var mu sync.Mutex
	var waiting []string
	group := parallel.New(len(m.routes))
	for _, c := range m.routes {
		if !c.ready {
			continue
		}
		group.Go(func() error {
			err := parallel.Guard(func() error { return m.awaitAccepted(ctx, c) })
			mu.Lock()
			defer mu.Unlock()
			if timeout, ok := errors.AsType[*report.TimeoutError](err); ok {
				if err = nil; m.x.Options.Wait > 0 {
					waiting = append(waiting, timeout.Waiting...)
				} else {
					m.x.Event(report.Left, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(),
						"it stays: "+strings.Join(timeout.Waiting, "; "))
				}
				c.ready = false
			}
			if err != nil {
				c.ready = false
			}
			return err
		})
	}
	err := group.Wait()
	if len(waiting) > 0 {
		slices.Sort(waiting)
		err = errors.Join(err, &report.TimeoutError{After: m.x.Options.Wait, Waiting: waiting})
	}
	return err
}

// awaitAccepted waits until each route of a new form is accepted and its backend found.
func (m *leaseMigration) awaitAccepted(ctx context.Context, c *crossing) error {
	for _, o := range c.objects {
		_, _, redirect := lease.ParseRouteName(o.Name)
		if !slices.Contains(kinds.RouteKinds, o.Kind) || redirect && m.x.Options.AssumeServing && o.Kind == kinds.Ingress {
			continue
		}
		if err := m.awaitServing(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// awaitServing waits until a controller reports that a route serves. With --assume-serving it waits only for controllers
// that report at all.
func (m *leaseMigration) awaitServing(ctx context.Context, o render.Object) error {
	if m.x.Options.AssumeServing {
		if !slices.Contains(kinds.Reporting, o.Kind) {
			return nil
		}
		_, err := live.AwaitRoute(ctx, m.x, o, state.Serves)
		return err
	}
	missing := ""
	err := m.x.Poll(ctx, func(ctx context.Context) (bool, error) {
		now, err := m.notServing(ctx, o)
		if err == nil { // the last read may fail because of the deadline
			missing = now
		}
		return now == "" && err == nil, err
	})
	if err == nil && missing == "" && m.x.Changed() {
		m.x.Event(report.Accepted, o.Kind.Singular, o.Namespace, o.Name, "by its controller")
	}
	return m.x.TimedOut(err, missing+"; the same command goes on, and --assume-serving does without a controller's word")
}

// notServing reads a route, and its Gateway where that says whether it serves: several routes of a host may be on it, of
// which the oldest serves. It describes what the route lacks to be known to serve, or returns "".
func (m *leaseMigration) notServing(ctx context.Context, o render.Object) (string, error) {
	now, err := m.x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil {
		return "", err
	}
	if now == nil {
		return fmt.Sprintf("%s %s/%s is not there", o.Kind.Kind, o.Namespace, o.Name), nil
	}
	g := m.x.Options.Config.Gateway
	var gateway *unstructured.Unstructured
	if o.Kind == kinds.HTTPRoute || o.Kind == kinds.TLSRoute {
		gateway, err = m.x.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
	}
	return state.NotServing(now, gateway, g.Namespace+"/"+g.Name), err
}

// confirmClaims reads the claims again: while the run stood still, the lease may have given up, or another owner taken,
// what it has just routed.
func (m *leaseMigration) confirmClaims(ctx context.Context, t *marks) error {
	var errs []error
	for _, c := range m.routes {
		if c.why != "" || len(m.made) == 0 {
			continue
		}
		still, err := m.stillHeld(ctx, c)
		if err != nil {
			c.ready = false
			errs = append(errs, err)
			continue
		}
		switch {
		case !still:
			c.ready = false
			errs = append(errs, m.undoRoute(ctx, t, c), m.overtaken(c.use.Host))
		case t.claims[state.HostName(c.use.Host)] != nil:
			if err := m.stillMarked(ctx, t, c); err != nil {
				c.ready = false // that run decides about the new route
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// stillHeld reports whether the lease holds a route's host and path. A route without a claim may move as long as the
// old one exists.
func (m *leaseMigration) stillHeld(ctx context.Context, c *crossing) (bool, error) {
	claim, err := observed.ReadClaim(ctx, m.x.Ledger, state.HostName(c.use.Host))
	if err != nil {
		return false, err
	}
	if part := claim.Part(state.RouteKey(c.use.Path)); part != nil {
		return !claim.Deleting && part.Lease.Group() == m.x.Group, nil
	}
	if m.x.Snapshot.Claim(state.HostName(c.use.Host)) != nil || claim != nil {
		return false, nil
	}
	old, err := m.x.Cluster.Get(ctx, c.old.Kind, c.old.Live.GetNamespace(), c.old.Live.GetName())
	return old != nil && old.GetUID() == c.old.Live.GetUID() && old.GetDeletionTimestamp() == nil, err
}
