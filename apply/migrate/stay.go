package migrate

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine"
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
	e.Routes = append(e.Routes, c.name())
	if c.stays.After(e.Until) {
		e.Until, e.After = c.stays, c.stays.Sub(now)
	}
}

// notes are the annotations on an old route that say for how long clients may still reach it once DNS leads elsewhere. They have to be
// there first, because the command may crash after any write. A longer time that was noted before stays.
func (m *leaseMigration) notes(c *crossing, external bool) map[string]string {
	out := map[string]string{lease.AnnotationDNSTTL: strconv.Itoa(int(c.lag.Seconds()))}
	if external {
		out[externalController(m.x.Command.Options)] = lease.FieldManager
	}
	return out
}

// note returns the write of the notes, none if they are there. This program manages the annotations, so that its next apply of the route
// removes them.
func (m *leaseMigration) note(c *crossing, external bool) []engine.Desired {
	notes := m.notes(c, external)
	if containsAll(c.old.Live.GetAnnotations(), notes) {
		return nil
	}
	return []engine.Desired{{
		Object: annotated(c.old.Kind, c.old.Live, notes), Manager: lease.FieldManager, Message: fmt.Sprintf("it stays for %s once DNS leads elsewhere", c.lag),
	}}
}

// seeNotes reads the old routes with the notes on them.
func (m *leaseMigration) seeNotes(ctx context.Context, external bool) error {
	var errs []error
	for _, h := range m.hosts {
		for _, c := range h.routes {
			if !c.ready || h.hides[c] == 0 {
				continue
			}
			now, err := m.x.Command.Cluster.Get(ctx, c.old.Kind, c.old.Live.GetNamespace(), c.old.Live.GetName())
			noted := c.old.Live.DeepCopy()
			noted.SetAnnotations(merged(noted.GetAnnotations(), m.notes(c, external)))
			switch {
			case err != nil:
				c.ready = false
				errs = append(errs, err)
			case !engine.SameRoute(now, noted):
				m.leave(c, changed)
			default:
				c.old.Live = now
			}
		}
	}
	return report.Gather(errs)
}

// servedSince returns when the controller of a DNS record last wrote its status: it began to serve the record at that
// time or before. It returns the present if nobody can tell.
func (m *leaseMigration) servedSince(record *unstructured.Unstructured) time.Time {
	last := managed.LastWritten(record, managed.Status)
	if last.IsZero() {
		return m.x.Command.Cluster.Now()
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
	if lag > 0 && !m.x.Command.Passed(c.stays) {
		m.x.Event(report.Kept, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(),
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
