package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
)

// externalInterval is how often external-dns syncs (its flag --interval). Nothing in the cluster shows when it
// has done so.
const externalInterval = time.Minute

// externalController returns the annotation that names the controller of an object. external-dns ignores objects that
// name another one (external-dns: docs/annotations/annotations.md).
func externalController(opts command.Options) string {
	return opts.Config.DNS.AnnotationPrefix + "/controller"
}

// hideFromExternalDNS makes external-dns ignore the old routes, so that it points DNS to the new ones: of two routes of
// a host it keeps the one that has the record.
func (m *leaseMigration) hideFromExternalDNS(
	ctx context.Context, hosts []*hostMove, settle time.Duration, lacking map[string]string,
) error {
	reached := map[*crossing]dns.Target{}
	errs := []error{m.findReached(ctx, hosts, reached)}
	for _, h := range hosts {
		if h.ended {
			continue
		}
		if err := m.hideRoutes(ctx, h, reached, lacking[h.host]); err != nil {
			h.stay()
			errs = append(errs, err)
			continue
		}
		for _, c := range h.routes {
			if m.isHidden(c) {
				m.staysFor(c, lastApplied(c.old.Live).Add(timestampPrecision), records.ResidualTTL(c.old.Live), settle)
			}
		}
	}
	return report.Gather(errs)
}

// isHidden reports whether external-dns ignores an old route.
func (m *leaseMigration) isHidden(c *crossing) bool {
	return c.old.Live.GetAnnotations()[externalController(m.x.Options)] == lease.FieldManager
}

// hideRoutes makes external-dns ignore the old routes of a host whose targets differ from those of the new ones.
// lacking is a reason not to.
func (m *leaseMigration) hideRoutes(ctx context.Context, h *hostMove, reached map[*crossing]dns.Target, lacking string) error {
	var changing []*crossing
	for _, c := range h.routes {
		was, err := m.oldTarget(ctx, c)
		if err != nil {
			return err
		}
		if !m.isHidden(c) && !was.Empty() && fmt.Sprint(was) != fmt.Sprint(reached[c]) {
			changing = append(changing, c)
		}
	}
	if len(changing) > 0 && lacking != "" {
		return m.leave(h, lacking)
	}
	for _, c := range changing {
		ttl, text := externalTTL, c.old.Live.GetAnnotations()[m.x.Options.Config.DNS.AnnotationPrefix+"/ttl"]
		if seconds, err := strconv.ParseUint(text, 10, 31); err == nil && seconds > 0 {
			ttl = time.Duration(seconds) * time.Second
		}
		hide := map[string]string{externalController(m.x.Options): lease.FieldManager}
		if err := m.noteTime(ctx, c, ttl+externalInterval, hide); err != nil {
			return err
		}
	}
	return nil
}

// findReached waits until the targets of the new routes are known: if external-dns ignored the old ones before, it
// would delete the records.
func (m *leaseMigration) findReached(ctx context.Context, hosts []*hostMove, reached map[*crossing]dns.Target) error {
	look := m.published(true)
	unknown := func(h *hostMove) render.UnknownHost {
		return render.UnknownHost{Host: lease.Host{Name: h.host}, Source: config.FromStatus, Target: m.x.Options.Config.Target}
	}
	lacks := func(h *hostMove) bool {
		return slices.ContainsFunc(h.routes, func(c *crossing) bool { return reached[c].Empty() })
	}
	err := m.x.WaitUntil(ctx, m.x.Options.Wait, func(ctx context.Context) (bool, error) {
		for _, h := range hosts {
			for _, c := range h.routes {
				target := m.annotatedTarget(cluster.Rendered(c.main()))
				if target.Empty() {
					var err error
					if target, err = look.Target(ctx, unknown(h)); err != nil {
						return false, err // the last read may fail because of the deadline
					}
				}
				reached[c] = target
			}
		}
		return !slices.ContainsFunc(hosts, lacks), nil
	})
	if !errors.Is(err, report.ErrTimedOut) {
		return stayAll(hosts, err)
	}
	timeout := &report.TimeoutError{After: m.x.Options.Wait}
	for _, h := range hosts {
		if lacks(h) {
			text := published.Missing(m.x.Options.Config, unknown(h))
			timeout.Waiting = append(timeout.Waiting, "host "+h.host+": "+text)
			m.x.Event(report.Left, "dns", "", h.host, text)
			h.stay()
		}
	}
	if m.x.Options.Wait == 0 {
		return nil
	}
	return timeout
}

// published returns a reader of where the lease's hosts are reached.
func (m *leaseMigration) published(fresh bool) *published.Reader {
	return records.Reader(m.x.Snapshot, m.x.Cluster, m.x.Options.Config, m.x.Request.Lease, fresh)
}

// annotatedTarget returns the target that an annotation on a route tells external-dns.
func (m *leaseMigration) annotatedTarget(o *unstructured.Unstructured) dns.Target {
	text := o.GetAnnotations()[m.x.Options.Config.DNS.AnnotationPrefix+"/target"]
	if text == "" {
		return dns.Target{}
	}
	return dns.ParseTarget(strings.Split(text, ","))
}

// oldTarget returns the target that external-dns uses for an old route.
func (m *leaseMigration) oldTarget(ctx context.Context, c *crossing) (dns.Target, error) {
	switch annotated := m.annotatedTarget(c.old.Live); {
	case !annotated.Empty():
		return annotated, nil
	case c.old.Kind == kinds.Ingress:
		return published.In(c.old.Live, "status", "loadBalancer", "ingress"), nil
	case c.old.Kind == kinds.Route:
		return published.In(c.old.Live, "status", "ingress"), nil
	}
	return m.published(false).GatewayTarget(ctx)
}
