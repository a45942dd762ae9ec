package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// awaitAllAccepted waits until routers have accepted all new routes. If one is not accepted, its old route stays.
func (m *leaseMigration) awaitAllAccepted(ctx context.Context) error {
	if m.x.Command.Options.Wait == 0 && m.x.Command.Options.AssumeServing {
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
				if err = nil; m.x.Command.Options.Wait > 0 {
					waiting = append(waiting, timeout.Waiting...)
				} else {
					m.x.Event(report.Kept, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(),
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
		err = errors.Join(err, &report.TimeoutError{After: m.x.Command.Options.Wait, Waiting: waiting})
	}
	return err
}

// awaitAccepted waits until each route of a new form is accepted and its backend found.
func (m *leaseMigration) awaitAccepted(ctx context.Context, c *crossing) error {
	for _, o := range c.objects {
		_, _, redirect := lease.ParseRouteName(o.Name)
		if !slices.Contains(kinds.RouteKinds, o.Kind) || redirect && m.x.Command.Options.AssumeServing && o.Kind == kinds.Ingress {
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
	if m.x.Command.Options.AssumeServing {
		if !slices.Contains(kinds.Reporting, o.Kind) {
			return nil
		}
		_, err := live.AwaitRoute(ctx, m.x, o, state.Serves)
		return err
	}
	missing := ""
	err := m.x.Poll(ctx, "a controller to report that "+o.Kind.Singular+"/"+o.Name+" serves", func(ctx context.Context) (bool, error) {
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
	now, err := m.x.Command.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil {
		return "", err
	}
	if now == nil {
		return fmt.Sprintf("%s %s/%s is not there", o.Kind.Kind, o.Namespace, o.Name), nil
	}
	g := m.x.Command.Options.Config.Gateway
	var gateway *unstructured.Unstructured
	if o.Kind == kinds.HTTPRoute || o.Kind == kinds.TLSRoute {
		gateway, err = m.x.Command.Cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
	}
	return state.NotServing(now, gateway, g.Namespace+"/"+g.Name), err
}
