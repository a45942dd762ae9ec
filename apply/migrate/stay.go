package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/report"
)

// SettlingError reports that old routes stay because resolvers may still have cached answers that point to them.
type SettlingError struct {
	Lease  lease.ID
	Routes []string
	// Until is when the last of them may be deleted, After how long that is from now.
	Until time.Time
	After time.Duration
}

func (e *SettlingError) Error() string {
	return fmt.Sprintf("lease %s: resolvers may lead people to %d of its old routes until %s: %s",
		e.Lease, len(e.Routes), e.Until.UTC().Format("15:04:05 UTC"), strings.Join(e.Routes, ", "))
}

func (e *SettlingError) add(c *crossing, now time.Time) {
	e.Routes = append(e.Routes, c.old.Kind.Singular+"/"+c.old.Live.GetName())
	if c.stays.After(e.Until) {
		e.Until, e.After = c.stays, c.stays.Sub(now)
	}
}

// noteTime notes on an old route, before DNS changes, for how long clients may still reach it. The note has to come
// first, because the run may crash after any write. A longer time that was noted before stays.
func (m *leaseMigration) noteTime(ctx context.Context, c *crossing, ttl time.Duration, more map[string]string) error {
	c.lag = max(ttl, records.ResidualTTL(c.old.Live))
	noted := merged(more, map[string]string{lease.AnnotationDNSTTL: strconv.Itoa(int(c.lag.Seconds()))})
	if containsAll(c.old.Live.GetAnnotations(), noted) {
		return nil
	}
	live, name := c.old.Live, c.old.Live.GetNamespace()+"/"+c.old.Live.GetName()
	gone := true
	err := m.x.Cluster.Rewrite(ctx, c.old.Kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		gone = false
		switch {
		case now != live && containsAll(now.GetAnnotations(), noted):
			c.old.Live = now // an earlier attempt took effect, or another run has noted the same
			return nil, nil
		case !executor.SameRoute(now, live):
			gone = true
			return nil, nil
		}
		return func(ctx context.Context) error {
			gone = true // until it is read again
			out, err := m.annotate(ctx, c.old.Kind, now, noted)
			if err == nil {
				c.old.Live, gone = out, false
			}
			return m.x.Cluster.Explain(err, "patch", c.old.Kind.Resource())
		}, nil
	})
	switch {
	case errors.Is(err, cluster.ErrMoving):
		return fmt.Errorf("%s %s changes faster than it can be written; try again", c.old.Kind.Singular, name)
	case err == nil && gone:
		return fmt.Errorf("%s %s was changed meanwhile; its host's DNS records stay, and the same command carries the change over",
			c.old.Kind.Singular, name)
	case err == nil:
		m.x.Event(report.Configured, c.old.Kind.Singular, live.GetNamespace(), live.GetName(),
			fmt.Sprintf("it stays for %s once DNS leads elsewhere", c.lag))
	}
	return err
}

// annotate applies annotations to a route, pinned to what was read, and returns the resulting route. This program
// manages the annotations, so that its next apply of the route removes them.
func (m *leaseMigration) annotate(
	ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, annotations map[string]string,
) (*unstructured.Unstructured, error) {
	out := live.DeepCopy()
	out.SetAnnotations(merged(live.GetAnnotations(), annotations))
	o := executor.AppliedOnly(live)
	o.SetAnnotations(merged(o.GetAnnotations(), annotations))
	meta, _, err := m.send(ctx, cluster.Applicable(kind, o), live)
	if err == nil {
		out.SetResourceVersion(meta.ResourceVersion)
		out.SetManagedFields(meta.ManagedFields)
	}
	return out, err
}

// cancelRemoval removes from a route the annotations of an earlier migration, which was to delete it.
func (m *leaseMigration) cancelRemoval(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	if records.ResidualTTL(live) == 0 {
		return nil
	}
	o := executor.AppliedOnly(live)
	annotations := o.GetAnnotations()
	delete(annotations, lease.AnnotationDNSTTL)
	delete(annotations, externalController(m.x.Options))
	o.SetAnnotations(annotations)
	if _, _, err := m.send(ctx, cluster.Applicable(kind, o), live); err != nil {
		return m.x.Cluster.Explain(err, "patch", kind.Resource())
	}
	m.x.Event(report.Configured, kind.Singular, o.GetNamespace(), o.GetName(), "it stays")
	return nil
}

// servedSince returns when the controller of a DNS record last wrote its status: it began to serve the record at that
// time or before. It returns the present if nobody can tell.
func (m *leaseMigration) servedSince(record *unstructured.Unstructured) time.Time {
	last := managed.LastWritten(record, managed.Status)
	if last.IsZero() {
		return m.x.Cluster.Now()
	}
	return last.Add(timestampPrecision)
}

// timestampPrecision is the precision of the API server's timestamps.
const timestampPrecision = time.Second

// staysFor sets until when an old route stays after a change, and reports it.
func (m *leaseMigration) staysFor(c *crossing, since time.Time, lag, settle time.Duration) {
	if settle >= 0 {
		lag = settle
	}
	c.stays = since.Add(lag)
	if lag > 0 && !m.x.Passed(c.stays) {
		m.x.Event(report.Left, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(),
			fmt.Sprintf("until %s: resolvers may have the answer that leads to it", c.stays.UTC().Format("15:04:05 UTC")))
	}
}

// settleDNS waits until resolvers no longer return the old routes. It does not wait for routes that stay beyond
// Options.Wait.
func (m *Migration) settleDNS(ctx context.Context) error {
	now := m.command.Cluster.Now()
	var until time.Time
	for _, l := range m.leases {
		for _, c := range l.routes {
			if c.ready && c.stays.After(until) && !c.stays.After(now.Add(m.command.Options.Wait)) {
				until = c.stays
			}
		}
	}
	return m.command.Pause(ctx, until.Sub(now))
}

func containsAll(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func merged(all, more map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, all)
	maps.Copy(out, more)
	return out
}
