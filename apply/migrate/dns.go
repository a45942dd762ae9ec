package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// hostMove is a host whose new routes are accepted, and whose DNS records have to point to them: records are those that it is to have.
type hostMove struct {
	host    string
	routes  []*crossing
	records []render.Object
}

// isLed reports whether this program has to do with where DNS leads clients of a route: a host without a claim has no records.
func (m *leaseMigration) isLed(c *crossing) bool {
	return m.x.Command.Options.Config.DNS.Form != config.DNSNone && len(m.x.Snapshot.Claim(state.HostName(c.use.Host)).PartsOf(m.x.Group)) > 0
}

// unknown returns the host of a route if it is not known yet where its new routes are reached: if external-dns ignored the old ones before,
// it would delete the records.
func (m *leaseMigration) unknown(c *crossing) []render.UnknownHost {
	switch {
	case !m.isLed(c):
		return nil
	case !m.external():
		wanted, _ := m.wanted(c.use.Host)
		return wanted.Unknown
	case !m.newTarget(c).Empty():
		return nil
	}
	return []render.UnknownHost{{Host: lease.Host{Name: c.use.Host}, Source: config.FromStatus, Target: m.x.Command.Options.Config.Target}}
}

// wanted returns the records that lead a host to its new routes.
func (m *leaseMigration) wanted(host string) (render.DNS, error) {
	return records.At(m.x.Command.Options.Config, m.x.Snapshot, m.x.Request.Lease, host, m.targets)
}

// repointed returns what leads the hosts to the new routes: notes on the old routes, and the records that the next apply of the lease would
// write.
func (m *leaseMigration) repointed(ctx context.Context) *engine.Move {
	m.look()
	out, follow := &engine.Move{}, m.follow
	if m.external() {
		follow = m.hide
	}
	for _, c := range m.ready() {
		i := slices.IndexFunc(m.hosts, func(h *hostMove) bool { return h.host == c.use.Host })
		switch {
		case !m.isLed(c):
		case i < 0:
			m.hosts = append(m.hosts, &hostMove{host: c.use.Host, routes: []*crossing{c}})
		default:
			m.hosts[i].routes = append(m.hosts[i].routes, c)
		}
	}
	slices.SortFunc(m.hosts, func(a, b *hostMove) int { return cmp.Compare(a.host, b.host) })
	for _, h := range m.hosts {
		err := follow(ctx, h)
		var unknown []render.UnknownHost
		for _, c := range h.routes {
			unknown = append(unknown, m.unknown(c)...)
		}
		if len(unknown) > 0 && m.x.Command.Cluster.Waits() {
			err = errors.New(unknown[0].Lacks(m.x.Command.Options.Config)) // it was claimed meanwhile
		}
		hides := slices.ContainsFunc(h.routes, func(c *crossing) bool { return c.hides })
		switch why := m.lacking(h.host); {
		case err != nil:
			h.stay()
			m.failed = append(m.failed, fmt.Errorf("host %s: %w", h.host, err))
			continue
		case hides && why != "":
			h.stay()
			for _, c := range h.routes {
				m.left = append(m.left, c.name())
			}
			m.x.Event(report.Unconfirmed, "dns", "", h.host, why)
			continue
		}
		for _, c := range h.routes {
			var notes []engine.Desired
			if c.hides {
				notes = m.note(c)
			}
			out.Routes = append(out.Routes, m.moving(c, notes))
		}
		out.Records = append(out.Records, h.records...)
	}
	return out
}

// stay keeps the old routes of a host.
func (h *hostMove) stay() {
	for _, c := range h.routes {
		c.ready = false
	}
}

// whole returns the hosts of which each route goes on. If one stays, the others do.
func (m *leaseMigration) whole() []*hostMove {
	m.hosts = slices.DeleteFunc(m.hosts, func(h *hostMove) bool {
		stays := slices.ContainsFunc(h.routes, func(c *crossing) bool { return !c.ready })
		if stays {
			h.stay()
		}
		return stays
	})
	return m.hosts
}

// awaitRecords returns the wait until the records are served of hosts whose old routes clients may reach until then, and for settle after it;
// if that is negative, for the TTL of the records that led to them.
func (m *leaseMigration) awaitRecords(settle time.Duration) *engine.Move {
	out := &engine.Move{Awaits: true}
	for _, h := range m.hosts {
		if !slices.ContainsFunc(h.routes, func(c *crossing) bool { return c.lag > 0 }) {
			continue
		}
		for _, c := range h.routes {
			moving := m.moving(c, nil)
			if moving.Lag = c.lag; c.lag > 0 && settle >= 0 {
				moving.Lag = settle
			}
			out.Routes = append(out.Routes, moving)
		}
		out.Records = append(out.Records, h.records...)
	}
	out.Changed = m.x.Changed() && len(out.Records) > 0
	return out
}

// follow finds the records of a host, and for how long clients may reach its old routes once these are served: if they change, or are those
// of another deployment, which may have changed them a moment ago.
func (m *leaseMigration) follow(_ context.Context, h *hostMove) error {
	wanted, err := m.wanted(h.host)
	var was, is []*unstructured.Unstructured
	var ttl time.Duration
	for _, o := range m.x.Snapshot.Records.Of(h.host) {
		was, ttl = append(was, o.Live), max(ttl, longestTTL(h.host, view.RecordObjectOf(o.Live)))
	}
	for _, o := range wanted.Objects {
		is = append(is, render.Rendered(o))
	}
	from, to := view.TargetsOf(h.host, was...), view.TargetsOf(h.host, is...)
	changes := len(from) > 0 && len(to) > 0 && !slices.Equal(from, to)
	theirs := m.x.Snapshot.RecordHolder(m.x.Group, m.x.Snapshot.Claim(state.HostName(h.host)), h.host) != ""
	for _, c := range h.routes {
		if c.hides, c.lag = changes, records.ResidualTTL(c.old.Live); changes || theirs {
			c.lag = max(c.lag, ttl)
		}
	}
	h.records = wanted.Objects
	return err
}

// lacking says which route of its tenant for a host has no new form yet: the records of a host change only when all of them have one.
func (m *leaseMigration) lacking(host string) string {
	var forms, lacks []state.Use
	for _, u := range m.x.Snapshot.HostUses.At(host) {
		switch kind := kinds.Of(u.Kind); {
		case !u.HasLease || u.Lease.Owner != m.x.Group.Owner || u.Redirect:
		case slices.Contains(kinds.OfTarget(m.x.Command.Options.Config.Target), kind):
			forms = append(forms, u)
		case slices.Contains(kinds.RouteKinds, kind):
			lacks = append(lacks, u)
		}
	}
	for _, u := range lacks {
		if !slices.ContainsFunc(forms, func(form state.Use) bool { return form.Path == u.Path }) {
			return fmt.Sprintf("its DNS records lead where they did: %s serves it too, and has no new form yet", u)
		}
	}
	return ""
}

// The TTLs of records that name none: that of Gardener's extensions (gardener: docs/extensions/resources/dnsrecord.md),
// and the longest that external-dns' providers commonly choose.
const (
	gardenerTTL = 2 * time.Minute
	externalTTL = 5 * time.Minute
)

// longestTTL returns for how long resolvers may cache the targets of a host.
func longestTTL(host string, o view.RecordObject) (longest time.Duration) {
	for _, r := range o.Records {
		if r.Name != host || r.Type == dns.TXT {
			continue
		}
		ttl := time.Duration(r.TTL) * time.Second
		if ttl == 0 && o.Kind == kinds.DNSRecord.Singular {
			ttl = gardenerTTL
		} else if ttl == 0 {
			ttl = externalTTL
		}
		longest = max(longest, ttl)
	}
	return longest
}
