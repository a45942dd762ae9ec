package apply

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// SettlingError says that old routes stay, for resolvers may still have the answer that leads to them.
type SettlingError struct {
	Lease  lease.ID
	Routes []string
	// Until is when the last of them may go, After how long that is from now.
	Until time.Time
	After time.Duration
}

func (e *SettlingError) Error() string {
	return fmt.Sprintf("lease %s: resolvers may lead people to %d of its old routes until %s: %s",
		e.Lease, len(e.Routes), e.Until.UTC().Format("15:04:05 UTC"), strings.Join(e.Routes, ", "))
}

func (e *SettlingError) add(c *crossing, now time.Time) {
	e.Routes = append(e.Routes, c.old.kind.Singular+"/"+c.old.live.GetName())
	if c.stays.After(e.Until) {
		e.Until, e.After = c.stays, c.stays.Sub(now)
	}
}

// noteTime notes on an old route, before DNS leads elsewhere, for how long people may still come to it.
// Any write after that may be the run's last. What was noted for longer stays.
func (m *leaseMigration) noteTime(ctx context.Context, c *crossing, ttl time.Duration, more map[string]string) error {
	c.lag = max(ttl, residualTTL(c.old.live))
	noted := merged(more, map[string]string{lease.AnnotationDNSTTL: strconv.Itoa(int(c.lag.Seconds()))})
	if containsAll(c.old.live.GetAnnotations(), noted) {
		return nil
	}
	live, name := c.old.live, c.old.live.GetNamespace()+"/"+c.old.live.GetName()
	gone := true
	err := m.cluster.Rewrite(ctx, c.old.kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		gone = false
		switch {
		case now != live && containsAll(now.GetAnnotations(), noted):
			c.old.live = now // the first of two tries took effect, or another run notes the same
			return nil, nil
		case !sameRoute(now, live):
			gone = true
			return nil, nil
		}
		return func(ctx context.Context) error {
			gone = true // unless it is read again
			out, err := m.annotate(ctx, c.old.kind, now, noted)
			if err == nil {
				c.old.live, gone = out, false
			}
			return m.cluster.Explain(err, "patch", c.old.kind.Resource())
		}, nil
	})
	switch {
	case errors.Is(err, cluster.ErrMoving):
		return fmt.Errorf("%s %s changes faster than it can be written; try again", c.old.kind.Singular, name)
	case err == nil && gone:
		return fmt.Errorf("%s %s was changed meanwhile; its host's DNS records stay, and the same command carries the change over", c.old.kind.Singular, name)
	case err == nil:
		m.event(Configured, c.old.kind.Singular, live.GetNamespace(), live.GetName(), fmt.Sprintf("it stays for %s once DNS leads elsewhere", c.lag))
	}
	return err
}

// annotate applies annotations to a route, pinned to what was read, and says how it is then. They are
// this program's, so that its next apply of the route, which has none of them, takes them off.
func (m *leaseMigration) annotate(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, annotations map[string]string) (*unstructured.Unstructured, error) {
	out := live.DeepCopy()
	out.SetAnnotations(merged(live.GetAnnotations(), annotations))
	o := appliedOnly(live)
	o.SetAnnotations(merged(o.GetAnnotations(), annotations))
	meta, _, err := m.patch(ctx, render.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}, managerOf(kind, m.group))
	if err == nil {
		out.SetResourceVersion(meta.ResourceVersion)
		out.SetManagedFields(meta.ManagedFields)
	}
	return out, err
}

// cancelRemoval removes from a route the annotations of an earlier migration, which was to delete it.
func (m *leaseMigration) cancelRemoval(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	if residualTTL(live) == 0 {
		return nil
	}
	o := appliedOnly(live)
	annotations := o.GetAnnotations()
	delete(annotations, lease.AnnotationDNSTTL)
	delete(annotations, externalController(m.Command))
	o.SetAnnotations(annotations)
	if _, _, err := m.patch(ctx, render.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}, managerOf(kind, m.group)); err != nil {
		return m.cluster.Explain(err, "patch", kind.Resource())
	}
	m.event(Configured, kind.Singular, o.GetNamespace(), o.GetName(), "it stays")
	return nil
}

// servedSince is when the controller of a DNS record last wrote its status: it is not later that it began to
// serve what it serves. Where nobody can tell it is now.
func (m *leaseMigration) servedSince(record *unstructured.Unstructured) time.Time {
	last := managed.LastWritten(record, managed.Status)
	if last.IsZero() {
		return m.cluster.Now()
	}
	return last.Add(timestampPrecision)
}

// timestampPrecision is the precision of the API server's times.
const timestampPrecision = time.Second

// staysFor sets until when an old route stays, after a change at a time, and tells of it.
func (m *leaseMigration) staysFor(c *crossing, since time.Time, lag, settle time.Duration) {
	if settle >= 0 {
		lag = settle
	}
	c.stays = since.Add(lag)
	if lag > 0 && !m.passed(c.stays) {
		m.event(Left, c.old.kind.Singular, c.old.live.GetNamespace(), c.old.live.GetName(),
			fmt.Sprintf("until %s: resolvers may have the answer that leads to it", c.stays.UTC().Format("15:04:05 UTC")))
	}
}

// settleDNS waits until nobody is led to the old routes any more, where that is so before the time to
// wait is over. For those that stay longer it does not wait at all.
func (m *Migration) settleDNS(ctx context.Context) error {
	now := m.cluster.Now()
	var until time.Time
	for _, l := range m.leases {
		for _, c := range l.routes {
			if c.ready && c.stays.After(until) && !c.stays.After(now.Add(m.Command.opts.Wait)) {
				until = c.stays
			}
		}
	}
	return m.pause(ctx, until.Sub(now))
}
