package migrate

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// end deletes the old routes whose successors are accepted, and then their companion objects.
func (m *leaseMigration) end(ctx context.Context, keep bool) error {
	if keep {
		m.reportDone("prepared")
		return nil
	}
	settling := &SettlingError{Lease: m.x.Request.Lease}
	now := m.x.Cluster.Now()
	var going []*crossing
	for _, c := range m.routes {
		switch {
		case !c.ready:
		case !m.x.Passed(c.stays):
			settling.add(c, now)
		default:
			going = append(going, c)
		}
	}
	if err := m.whileMarked(ctx, going, func(ctx context.Context, t *marks) error { return m.removeAll(ctx, t, going) }); err != nil {
		return err
	}
	switch {
	case len(settling.Routes) == 0:
		m.reportDone("migrated")
	case m.x.Options.Wait > 0:
		return settling
	default:
		m.reportDone("prepared")
	}
	return nil
}

// removeAll deletes old routes whose claims could be marked, and then companion objects that no other route needs.
func (m *leaseMigration) removeAll(ctx context.Context, t *marks, going []*crossing) error {
	gone := map[*unstructured.Unstructured]bool{}
	var errs []error
	for _, c := range going {
		if !c.ready {
			continue
		}
		err := m.checkSuccessor(ctx, t, c)
		if err == nil {
			err = m.removeOld(ctx, t, c)
		}
		if err != nil {
			c.ready = false
			errs = append(errs, err)
			continue
		}
		gone[c.old.Live] = true
	}
	if len(errs) > 0 {
		return report.Gather(errs) // another run may use the companion objects now
	}
	needed := m.needed(gone)
	for _, o := range m.companions {
		if needed[o.Kind.Plural+"/"+o.Live.GetName()] {
			continue
		}
		if err := m.x.RemoveWhile(ctx, o, report.Deleted, "", m.belongsTo(t, o, going)); err != nil {
			return err
		}
	}
	return nil
}

// belongsTo allows deleting a companion object of routes if no other run of the lease has taken their hosts.
func (m *leaseMigration) belongsTo(t *marks, o observed.Owned, going []*crossing) observed.MayGo {
	return func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if !state.SameTenant(o.Live, now) {
			return false, nil
		}
		for _, c := range going {
			if err := m.stillMarked(ctx, t, c); err != nil {
				return false, err
			}
		}
		return true, nil
	}
}

// needed returns the companion objects of routes that stay.
func (m *leaseMigration) needed(gone map[*unstructured.Unstructured]bool) map[string]bool {
	needed := map[string]bool{}
	for _, c := range m.routes {
		if gone[c.old.Live] || c.old.Kind != kinds.HTTPRoute && c.old.Kind != kinds.TLSRoute {
			continue
		}
		name := c.old.Live.GetName()
		for _, kind := range slices.Concat(kinds.Filters, kinds.Policies) {
			needed[kind.Plural+"/"+name] = true
		}
		needed[kinds.HTTPRoute.Plural+"/"+lease.RedirectName(name)] = true
		for _, service := range state.Backends(c.old.Live) {
			needed[kinds.BackendTLSPolicy.Plural+"/"+service] = true
		}
	}
	return needed
}

// reportDone reports the end of a lease's migration, unless a route had to stay.
func (m *leaseMigration) reportDone(how string) {
	if slices.ContainsFunc(m.routes, func(c *crossing) bool { return !c.ready }) {
		return
	}
	hosts := []string{}
	for _, c := range m.routes {
		hosts = append(hosts, c.use.Host)
	}
	for _, o := range m.current {
		for _, u := range state.HostUses(o) {
			hosts = append(hosts, u.Host)
		}
	}
	slices.Sort(hosts)
	m.x.Send(report.Event{
		Time: time.Now(), Action: report.Done, Lease: m.x.Request.Lease, Kind: "lease", Name: m.x.Request.Lease.String(), Message: how,
		Summary: &report.Summary{Hosts: slices.Compact(hosts), Changed: m.x.Changed(), Took: m.x.Took()},
	})
}

// removeOld deletes an old route, whoever wrote it, if it has not changed since it was read and no other run of the
// lease has taken its host.
func (m *leaseMigration) removeOld(ctx context.Context, t *marks, c *crossing) error {
	when := ""
	if c.lag > 0 {
		when = m.x.Would(c.lag.String() + " after its DNS records lead to the new route")
	}
	return m.x.DeleteWhile(ctx, c.old, report.Deleted, when, m.mayEnd(t, c))
}
