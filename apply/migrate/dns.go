package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// hostMove is a host whose new routes are accepted, and whose DNS records have to point to them.
type hostMove struct {
	host   string
	part   state.Part
	routes []*crossing
	// records are the records that it is to have, values the targets in them for the host's own name.
	records render.DNS
	values  []string
	// namespace is the namespace of its records. theirs is another deployment that has them, because it holds another
	// path of the host.
	namespace string
	theirs    string
	// hides are the old routes from which DNS leads away, with for how long resolvers may still return them.
	hides map[*crossing]time.Duration
	// follows is true if clients may reach the old routes until its records are served; missing is what these lack,
	// since when they are served.
	follows bool
	missing string
	since   time.Time
	// ended is true if its old routes stay in any case.
	ended bool
}

// stay keeps the old routes of the host.
func (h *hostMove) stay() {
	h.ended = true
	for _, c := range h.routes {
		c.ready = false
	}
}

// stayAll keeps all old routes if there is an error. It returns the error.
func stayAll(hosts []*hostMove, err error) error {
	if err != nil {
		for _, h := range hosts {
			h.stay()
		}
	}
	return err
}

// repoint points DNS to the new routes: it writes the records that the next apply of each lease would write, or makes external-dns
// ignore the old routes; then it waits until that is served.
func (m *Migration) repoint(ctx context.Context) error {
	cfg := m.command.Options.Config
	if cfg.DNS.Form == config.DNSNone {
		return nil
	}
	external := cfg.DNS.Form == config.DNSAnnotations
	errs := []error{m.each("leases (DNS records)", func(l *leaseMigration) error {
		l.hosts = l.hostsToRepoint()
		if external {
			return l.findReached(ctx)
		}
		return l.findValues(ctx)
	})}
	leases := slices.DeleteFunc(slices.Clone(m.leases), func(l *leaseMigration) bool {
		return !slices.ContainsFunc(l.hosts, func(h *hostMove) bool { return !h.ended })
	})
	errs = append(errs, m.transact(ctx, leases, true, func(l *leaseMigration) (*engine.Move, error) {
		l.look()
		return l.repointed(external, m.lacking()), nil
	}))
	return report.Gather(append(errs, m.each("leases (DNS)", func(l *leaseMigration) error {
		err := l.seeNotes(ctx, external)
		return report.Gather([]error{l.stayed(), err, l.awaitDNS(ctx, external, m.opts.Settle)})
	})))
}

// repointed returns what leads the hosts to the new routes: notes on the old routes, and the records. lacking says, by host, why its
// records have to stay.
func (m *leaseMigration) repointed(external bool, lacking map[string]string) *engine.Move {
	out := &engine.Move{}
	for _, h := range m.hosts {
		if slices.ContainsFunc(h.routes, func(c *crossing) bool { return !c.ready }) {
			h.stay()
		}
		if !external && !h.ended {
			m.follow(h)
		}
		switch {
		case h.ended:
			continue
		case len(h.hides) > 0 && lacking[h.host] != "":
			h.stay()
			for _, c := range h.routes {
				m.left = append(m.left, c.name())
			}
			m.x.Event(report.Unconfirmed, "dns", "", h.host, lacking[h.host])
			continue
		}
		for _, c := range h.routes {
			var notes []engine.Desired
			if c.lag = max(h.hides[c], records.ResidualTTL(c.old.Live)); h.hides[c] > 0 {
				notes = m.note(c, external)
			}
			out.Routes = append(out.Routes, m.moving(c, notes))
		}
		out.Records = append(out.Records, h.records.Objects...)
	}
	return out
}

// follow finds out whether clients may reach the old routes of a host until its records are served, and for how long.
func (m *leaseMigration) follow(h *hostMove) {
	var live []dns.Record
	var ttl time.Duration
	for _, o := range m.x.Snapshot.Records.Of(h.host) {
		record := view.RecordObjectOf(o.Live)
		live = append(live, record.Records...)
		ttl = max(ttl, longestTTL(h.host, record))
	}
	was := valuesOf(h.host, live)
	changes := len(was) > 0 && len(h.values) > 0 && !slices.Equal(was, h.values)
	h.follows = changes || slices.ContainsFunc(h.routes, func(c *crossing) bool { return records.ResidualTTL(c.old.Live) > 0 })
	if h.theirs = m.x.Snapshot.RecordHolder(m.x.Group, m.x.Snapshot.Claim(state.HostName(h.host)), h.host); h.theirs != "" {
		h.follows = true // that deployment may have rewritten them a moment ago
		records := m.x.Snapshot.Records.Of(h.host)
		i := slices.IndexFunc(records, func(o observed.Object) bool { return o.Group.String() == h.theirs })
		h.namespace = records[i].Live.GetNamespace()
	}
	h.hides = map[*crossing]time.Duration{}
	for _, c := range h.routes {
		if changes {
			h.hides[c] = ttl
		}
	}
}

// hostsToRepoint returns the hosts with a route that is ready and of which the lease holds a part: a host without a
// claim has no records.
func (m *leaseMigration) hostsToRepoint() []*hostMove {
	if m.x.Command.Options.Config.DNS.Form == config.DNSNone {
		return nil
	}
	var hosts []*hostMove
	for _, c := range m.routes {
		claim := m.x.Snapshot.Claim(state.HostName(c.use.Host))
		if !c.ready || claim == nil || len(claim.PartsOf(m.x.Group)) == 0 {
			continue
		}
		i := slices.IndexFunc(hosts, func(h *hostMove) bool { return h.host == c.use.Host })
		if i < 0 {
			i = len(hosts)
			part := claim.PartsOf(m.x.Group)[0]
			hosts = append(hosts, &hostMove{host: c.use.Host, part: part, namespace: m.x.Request.Lease.Namespace()})
		}
		hosts[i].routes = append(hosts[i].routes, c)
	}
	slices.SortFunc(hosts, func(a, b *hostMove) int { return cmp.Compare(a.host, b.host) })
	return hosts
}

// lacking returns, by host, which route of its tenant has no new form yet. The records of a host with several routes
// change only when all of them have one.
func (m *Migration) lacking() map[string]string {
	type place struct{ host, path string }
	moved := map[place]bool{}
	hosts := map[string]string{} // to their owners
	for _, l := range m.leases {
		for _, c := range l.routes {
			if c.ready {
				moved[place{c.use.Host, c.use.Path}] = true
				hosts[c.use.Host] = l.x.Group.Owner
			}
		}
	}
	lacking := map[string]string{}
	for host, owner := range hosts {
		uses := m.leases[0].x.Snapshot.HostUses.At(host)
		isNew := func(u state.Use) bool {
			return slices.Contains(kinds.OfTarget(m.command.Options.Config.Target), kinds.Of(u.Kind))
		}
		for _, u := range uses {
			if isNew(u) && u.HasLease && u.Lease.Owner == owner {
				moved[place{host, u.Path}] = true
			}
		}
		for _, u := range uses {
			route := slices.Contains(kinds.RouteKinds, kinds.Of(u.Kind))
			if route && !isNew(u) && !u.Redirect && u.HasLease && u.Lease.Owner == owner && !moved[place{host, u.Path}] {
				lacking[host] = fmt.Sprintf("its DNS records lead where they did: %s serves it too, and has no new form yet", u)
			}
		}
	}
	return lacking
}

// lack is what a host lacks: for what a command waits, and what a person is told of it.
type lack struct{ waiting, told string }

// awaitHosts waits until no host lacks anything: look says what one does. Hosts of which that fails, or that lack something when the time
// is over, keep their old routes.
func (m *leaseMigration) awaitHosts(ctx context.Context, look func(context.Context, *hostMove) ([]lack, error)) error {
	var errs []error
	lacks, seen := map[*hostMove][]lack{}, map[*hostMove]bool{}
	err := m.x.Command.WaitUntil(ctx, m.x.Command.Options.Wait, func(ctx context.Context) (bool, error) {
		all := true
		for _, h := range m.hosts {
			if h.ended {
				continue
			}
			now, err := look(ctx, h)
			switch {
			case ctx.Err() != nil: // the deadline has ended the last read
				return false, err
			case err != nil:
				h.stay()
				errs = append(errs, err)
			}
			lacks[h], seen[h] = now, true
			all = all && len(now) == 0
		}
		return all, nil
	})
	if !errors.Is(err, report.ErrTimedOut) {
		return errors.Join(append(errs, stayAll(m.hosts, err))...)
	}
	timeout := &report.TimeoutError{After: m.x.Command.Options.Wait}
	for _, h := range m.hosts {
		if h.ended {
			continue
		}
		for _, l := range lacks[h] {
			timeout.Waiting = append(timeout.Waiting, l.waiting)
			m.x.Event(report.Unconfirmed, "dns", "", h.host, l.told)
		}
		if !seen[h] || len(lacks[h]) > 0 {
			h.stay()
		}
	}
	if m.x.Command.Options.Wait > 0 {
		errs = append(errs, timeout)
	}
	return errors.Join(errs...)
}

// unknown is what a host lacks of which it is not known where it is reached.
func (m *leaseMigration) unknown(h *hostMove, u render.UnknownHost) lack {
	text := published.Missing(m.x.Command.Options.Config, u)
	return lack{"host " + h.host + ": " + text, text}
}

// findValues waits until the targets of the new routes are known.
func (m *leaseMigration) findValues(ctx context.Context) error {
	return m.awaitHosts(ctx, func(ctx context.Context, h *hostMove) (lacks []lack, err error) {
		if h.records, err = records.At(ctx, m.x.Command, m.x.Snapshot, m.x.Request.Lease, h.host, h.part); err != nil {
			return nil, fmt.Errorf("host %s: %w", h.host, err)
		}
		h.values = valuesOf(h.host, recordsIn(h.records.Objects))
		for _, u := range h.records.Unknown {
			lacks = append(lacks, m.unknown(h, u))
		}
		return lacks, nil
	})
}

// recordsIn returns the records in rendered objects.
func recordsIn(objects []render.Object) (records []dns.Record) {
	for _, o := range objects {
		records = append(records, view.RecordObjectOf(render.Rendered(o)).Records...)
	}
	return records
}

// valuesOf returns the sorted targets that records have for a host.
func valuesOf(host string, records []dns.Record) []string {
	var values []string
	for _, r := range records {
		if r.Name == host && r.Type != dns.TXT {
			for _, v := range r.Values {
				values = append(values, string(r.Type)+" "+v)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
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

// awaitDNS waits until the records of a lease's hosts are served, including those that other deployments have, or external-dns has seen
// which routes it is to ignore. Until then its old routes stay.
func (m *leaseMigration) awaitDNS(ctx context.Context, external bool, settle time.Duration) error {
	for _, h := range m.hosts {
		if slices.ContainsFunc(h.routes, func(c *crossing) bool { return !c.ready }) {
			h.stay()
		}
	}
	if external {
		for _, h := range m.hosts {
			for _, c := range h.routes {
				if !h.ended && m.isHidden(c) {
					m.staysFor(c, lastApplied(c.old.Live).Add(timestampPrecision), records.ResidualTTL(c.old.Live), settle)
				}
			}
		}
		return nil
	}
	if len(m.hosts) == 0 || !m.x.Command.Options.Config.DNS.Records() {
		return nil
	}
	err := m.awaitRepointed(ctx)
	for _, h := range m.hosts {
		m.settleHost(h, settle)
	}
	return err
}

// awaitRepointed waits until the records of the hosts are served with their new targets.
func (m *leaseMigration) awaitRepointed(ctx context.Context) error {
	defer m.x.Waits("DNS controllers to serve the new targets of " + lease.Count(len(m.hosts), "host"))()
	return m.awaitHosts(ctx, func(ctx context.Context, h *hostMove) ([]lack, error) {
		if !h.follows || !h.since.IsZero() {
			return nil, nil
		}
		if err := m.checkRecords(ctx, h); err != nil || !h.since.IsZero() {
			return nil, err
		}
		return []lack{{h.missing, "its old routes stay; waiting for " + h.missing}}, nil
	})
}

// checkRecords sets what a host's records lack or, if nothing, since when they are served.
func (m *leaseMigration) checkRecords(ctx context.Context, h *hostMove) error {
	kind := kinds.DNSEndpoint
	if m.x.Command.Options.Config.DNS.Form == config.DNSGardener {
		kind = kinds.DNSRecord
	}
	objects, err := m.x.Command.Cluster.Objects(ctx, kind.Resource(), h.namespace, metav1.ListOptions{LabelSelector: book.OfLeases})
	if err != nil {
		return err
	}
	var found []dns.Record
	var since time.Time
	var served []view.RecordObject
	h.missing = ""
	for _, o := range objects {
		if view.RecordHost(o) != h.host {
			continue
		}
		record := view.RecordObjectOf(o)
		switch record.State {
		case view.StateActive:
			if at := m.servedSince(o); at.After(since) {
				since = at
			}
			served = append(served, record)
		case view.StateFailed:
			return fmt.Errorf("%s %s/%s: the record was not made (%s): %s",
				kind.Singular, o.GetNamespace(), o.GetName(), record.Operation, record.Message)
		default:
			h.missing = live.Unserved(kind, record)
		}
		found = append(found, record.Records...)
	}
	if is := valuesOf(h.host, found); !slices.Equal(is, h.values) {
		h.missing = fmt.Sprintf("host %s to lead to %s, not to %s", h.host, listed(h.values), listed(is))
		if h.theirs != "" {
			h.missing += " (deployment " + h.theirs + " has its records: migrate its routes too)"
		}
	}
	if h.missing != "" {
		return nil
	}
	for _, record := range served {
		if m.x.Changed() {
			m.x.Event(report.Served, kind.Singular, record.Namespace, record.Name, live.ValuesText(record))
		}
	}
	if h.since = since; since.IsZero() {
		h.since = m.x.Command.Cluster.Now() // the host has no records
	}
	return nil
}

func listed(values []string) string { return cmp.Or(strings.Join(values, ", "), "nothing") }

// settleHost sets until when the old routes of a host stay. If another deployment has its records, the routes carry no
// note of the change.
func (m *leaseMigration) settleHost(h *hostMove, settle time.Duration) {
	for _, c := range h.routes {
		lag := records.ResidualTTL(c.old.Live)
		if h.theirs != "" {
			for _, o := range m.x.Snapshot.Records.Of(h.host) {
				lag = max(lag, longestTTL(h.host, view.RecordObjectOf(o.Live)))
			}
		}
		if c.ready && lag > 0 {
			m.staysFor(c, h.since, lag, settle)
		}
	}
}
