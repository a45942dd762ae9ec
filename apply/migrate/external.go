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

// external reports whether external-dns reads the routes themselves.
func (m *leaseMigration) external() bool {
	return m.x.Command.Options.Config.DNS.Form == config.DNSAnnotations
}

// newTarget returns the target that external-dns uses for a new route, as far as it is known.
func (m *leaseMigration) newTarget(c *crossing) dns.Target {
	if annotated := m.annotatedTarget(render.Rendered(c.main())); !annotated.Empty() {
		return annotated
	}
	return m.targets[c.use.Host]
}

// hide finds the old routes of a host that external-dns is made to ignore, those with other targets than the new ones: of two routes of a
// host it keeps the one that has the record.
func (m *leaseMigration) hide(ctx context.Context, h *hostMove) error {
	for _, c := range h.routes {
		was, err := m.oldTarget(ctx, c)
		if err != nil {
			return err
		}
		isHidden := c.old.Live.GetAnnotations()[externalController(m.x.Command.Options)] == lease.FieldManager
		c.hides, c.lag = !isHidden && !was.Empty() && fmt.Sprint(was) != fmt.Sprint(m.newTarget(c)), records.ResidualTTL(c.old.Live)
		if c.hides {
			c.lag = max(c.lag, m.externalTTL(c))
		}
	}
	return nil
}

// externalTTL returns for how long resolvers may return an old route once external-dns is to ignore it.
func (m *leaseMigration) externalTTL(c *crossing) time.Duration {
	ttl, text := externalTTL, c.old.Live.GetAnnotations()[m.x.Command.Options.Config.DNS.AnnotationPrefix+"/ttl"]
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil && seconds > 0 {
		ttl = time.Duration(seconds) * time.Second
	}
	return ttl + externalInterval
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
	now := &published.Reader{Cluster: m.x.Command.Cluster, Config: m.x.Command.Options.Config, Live: m.x.Snapshot}
	return now.GatewayTarget(ctx)
}
