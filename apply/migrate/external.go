package migrate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// externalInterval is how often external-dns syncs (its flag --interval). Nothing in the cluster shows when it
// has done so.
const externalInterval = time.Minute

// externalController returns the annotation that names the controller of an object. external-dns ignores objects that
// name another one (external-dns: docs/annotations/annotations.md).
func externalController(opts command.Options) string {
	return opts.Config.DNS.AnnotationPrefix + "/controller"
}

// isHidden reports whether external-dns ignores an old route.
func (m *leaseMigration) isHidden(c *crossing) bool {
	return c.old.Live.GetAnnotations()[externalController(m.x.Command.Options)] == lease.FieldManager
}

// external-dns keeps, of two routes of a host, the one that has the record. So it is made to ignore the old one.

// findReached waits until the targets of the new routes are known: if external-dns ignored the old ones before, it
// would delete the records. Then it finds the old routes with other targets.
func (m *leaseMigration) findReached(ctx context.Context) error {
	reached := map[*crossing]dns.Target{}
	errs := []error{m.awaitReached(ctx, reached)}
	for _, h := range m.hosts {
		h.hides = map[*crossing]time.Duration{}
		for _, c := range h.routes {
			was, err := m.oldTarget(ctx, c)
			if err != nil {
				h.stay()
				errs = append(errs, err)
			}
			if !h.ended && !m.isHidden(c) && !was.Empty() && fmt.Sprint(was) != fmt.Sprint(reached[c]) {
				h.hides[c] = m.externalTTL(c)
			}
		}
	}
	return report.Gather(errs)
}

// externalTTL returns for how long resolvers may return an old route once external-dns is to ignore it.
func (m *leaseMigration) externalTTL(c *crossing) time.Duration {
	ttl, text := externalTTL, c.old.Live.GetAnnotations()[m.x.Command.Options.Config.DNS.AnnotationPrefix+"/ttl"]
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil && seconds > 0 {
		ttl = time.Duration(seconds) * time.Second
	}
	return ttl + externalInterval
}

// awaitReached waits until the targets of the new routes are known.
func (m *leaseMigration) awaitReached(ctx context.Context, reached map[*crossing]dns.Target) error {
	look := m.published(true)
	return m.awaitHosts(ctx, func(ctx context.Context, h *hostMove) (lacks []lack, err error) {
		unknown := render.UnknownHost{Host: lease.Host{Name: h.host}, Source: config.FromStatus, Target: m.x.Command.Options.Config.Target}
		for _, c := range h.routes {
			if reached[c] = m.annotatedTarget(render.Rendered(c.main())); reached[c].Empty() {
				if reached[c], err = look.Target(ctx, unknown); err != nil {
					return nil, err
				}
			}
			if reached[c].Empty() {
				lacks = []lack{m.unknown(h, unknown)}
			}
		}
		return lacks, nil
	})
}

// published returns a reader of where the lease's hosts are reached.
func (m *leaseMigration) published(fresh bool) *published.Reader {
	return records.Reader(m.x.Snapshot, m.x.Command.Cluster, m.x.Command.Options.Config, m.x.Request.Lease, fresh)
}

// annotatedTarget returns the target that an annotation on a route tells external-dns.
func (m *leaseMigration) annotatedTarget(o *unstructured.Unstructured) dns.Target {
	text := o.GetAnnotations()[m.x.Command.Options.Config.DNS.AnnotationPrefix+"/target"]
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
