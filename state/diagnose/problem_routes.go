package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// rivals returns the routes of a host that serve the same requests for a path as another one, or belong to another
// tenant. Routes in one namespace are of one tenant.
func rivals(uses []state.Use) []state.Use {
	var serving []state.Use
	for _, u := range uses {
		if u.Kind != kinds.ProviderHost.Singular && !u.Redirect {
			serving = append(serving, u)
		}
	}
	return slices.DeleteFunc(slices.Clone(serving), func(u state.Use) bool {
		return !slices.ContainsFunc(serving, func(v state.Use) bool {
			same := u.Namespace == v.Namespace || u.HasLease && v.HasLease && u.Lease.Owner == v.Lease.Owner
			return u.UID != v.UID && (u.Path == v.Path && admission.Compete(u.Kind, u.Matches, v.Kind, v.Matches) || !same)
		})
	})
}

// findTwoRoutes finds hosts with competing routes, unless one of them is a stray route of this program.
func (p *problems) findTwoRoutes() {
	for host, uses := range p.Uses {
		c := p.claims[state.HostName(host)]
		serving := slices.DeleteFunc(rivals(uses), func(u state.Use) bool {
			return p.drifted[u.String()] || u.HasLease && c.ServesFor(u.Lease.Group(), state.RouteKey(u.Path), u.Redirect) != nil
		})
		ofLease := func(u state.Use) bool { return u.HasLease }
		if len(serving) < 2 || !c.Held() && !slices.ContainsFunc(serving, ofLease) || p.addMigration(host, serving) {
			continue
		}
		if slices.ContainsFunc(p.found, func(x state.Problem) bool { return x.Thing == host && x.Problem == state.StrayRoute }) {
			continue
		}
		slices.SortFunc(serving, func(a, b state.Use) int { return cmp.Compare(a.String(), b.String()) })
		x := state.Problem{Problem: state.TwoRoutes, Thing: host, Namespace: serving[0].Namespace,
			Message: fmt.Sprintf("%d routes serve it, %s and %s among them", len(serving), serving[0], serving[1])}
		going := p.unwanted(c, serving)
		if len(going) == 0 {
			x.Lease = serving[0].Lease.String()
			p.add(p.byPruning(x, serving[0].Lease.Group()))
			continue
		}
		var names []string
		var reject state.RejectObjects
		for _, u := range going {
			names = append(names, u.String()+p.servesToo(u))
			reject.Reject = append(reject.Reject, state.ObjectRef{Kind: u.Kind, Namespace: u.Namespace, Name: u.Name, UID: string(u.UID)})
		}
		x.Plan, x.Mend = "delete "+strings.Join(names, " and "), reject
		if c.Held() && len(going) < len(serving) {
			x.Plan += ": the other is the holder's"
		}
		p.add(x.ByName())
	}
}

// unwanted returns the competing routes that the holder of the host does not want. If nobody holds the host, the owner
// of the oldest route counts as the holder, as in package admission. It returns nothing if all routes belong to one
// deployment group and to this program: only the definition decides then.
func (p *problems) unwanted(c *state.Claim, serving []state.Use) []state.Use {
	oldest := slices.MinFunc(serving, func(a, b state.Use) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.String(), b.String()))
	})
	without := func(keep func(state.Use) bool) []state.Use { return slices.DeleteFunc(slices.Clone(serving), keep) }
	going := without(func(u state.Use) bool {
		if part := c.Part(state.RouteKey(u.Path)); c.Held() && part != nil {
			return u.Of(part.Lease.Group())
		}
		if c.Held() {
			return u.HasLease && len(c.PartsOf(u.Lease.Group())) > 0
		}
		return u.UID == oldest.UID || u.HasLease && oldest.HasLease && u.Lease.Owner == oldest.Lease.Owner
	})
	ours := func(u state.Use) bool { return p.written[string(u.UID)] }
	switch {
	case len(going) > 0:
		return going
	case slices.ContainsFunc(serving, ours):
		return without(ours)
	}
	return without(func(u state.Use) bool { return u.UID == oldest.UID })
}

// servesToo describes the other hosts that a route serves.
func (p *problems) servesToo(route state.Use) string {
	var hosts []string
	for host, uses := range p.Uses {
		if host != route.Host && slices.ContainsFunc(uses, func(u state.Use) bool { return u.UID == route.UID }) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	slices.Sort(hosts)
	return " (which serves " + strings.Join(hosts, ", ") + " too)"
}

// addMigration adds routes of one deployment group that differ only in kind: a migration is running or has ended early.
// It returns false for other routes.
func (p *problems) addMigration(host string, serving []state.Use) bool {
	forms := map[string]bool{}
	for _, u := range serving {
		form := u.Kind + " " + u.Path
		if !u.HasLease || u.Lease.Group() != serving[0].Lease.Group() || forms[form] {
			return false
		}
		forms[form] = true
	}
	slices.SortFunc(serving, func(a, b state.Use) int { return cmp.Compare(a.String(), b.String()) })
	g := serving[0].Lease.Group()
	base := state.Problem{Thing: host, Namespace: serving[0].Namespace, Lease: serving[0].Lease.String()}
	p.add(fill(base, state.MigrationUnderWay,
		fmt.Sprintf("%s and %s serve it: a migration is under way, or ended early", serving[0], serving[1]),
		"move the routes of its lease to the configured kind, "+p.Config.Target, state.MoveRoutes{Group: g}).ByName())
	return true
}

// checkReports finds reports in a route's status from routers that are gone.
func (p *problems) checkReports(base state.Problem, o *state.OwnObject) {
	var stale, by []string
	for _, r := range o.Reports {
		if r.Stale != "" && (o.Labelled || o.Ours) {
			stale, by = append(stale, r.String()), append(by, r.By)
		}
	}
	if len(stale) == 0 {
		return
	}
	p.add(fill(base, state.StaleReport, strings.Join(stale, "; "),
		"take the report of "+strings.Join(by, ", ")+" out of its status", state.ClearReports{Route: o.ObjectRef}))
}
