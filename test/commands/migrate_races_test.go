package commands

import (
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// migration is a lease whose Ingress a migration moves to an HTTPRoute, beside which something happens at a
// moment.
type migration struct {
	host       string
	blue       lease.ID
	definition string
}

func newMigration(t *testing.T) migration {
	t.Helper()
	m := migration{host: "moves." + newDomain(), blue: leaseOf(newOwner(), 1)}
	m.definition = define(t, m.blue, web("web", 8080, m.host))
	mustRun(t, 0, "apply", "-f", m.definition)
	return m
}

// beside migrates, and does something before the first request for which the moment has come.
func (m migration) beside(t *testing.T, moment func(request string) bool, do func()) result {
	t.Helper()
	var once sync.Once
	done := false
	p := startProxy(t, nil)
	p.before = func(request string) {
		if moment(request) {
			once.Do(func() {
				done = true
				do()
			})
		}
	}
	r := runAs(t.Context(), p.kubeconfig, "migrate", m.blue.Group().String(), "--to", "httproute", "--assume-serving", "--timeout", "0", "--overlap", "0s")
	if !done {
		t.Fatalf("the moment did not come: %s", r)
	}
	return r
}

// marked is true for a host of which a run has the claim.
func (m migration) marked(t *testing.T) bool {
	t.Helper()
	c := claim(t, m.host)
	return c != nil && c.Part(state.RouteKey("/")) != nil && c.Part(state.RouteKey("/")).Run != ""
}

// Below, a migration stands still for so long that it counts as crashed, and another command works in its place.

// An apply with the old target beside a migration prunes the new route, and finds the old one as it should be.
// Whenever it comes, the host has a route.
func TestMigrateBesideApply(t *testing.T) {
	for name, moment := range map[string]func(m migration) string{
		"before the new route is written": func(m migration) string { return "PATCH httproutes/" + m.host },
		"before the old route is deleted": func(m migration) string { return "DELETE ingresses/" + m.host },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMigration(t)
			r := m.beside(t, func(request string) bool { return request == moment(m) }, func() { mustRun(t, 0, "apply", "--assume-serving", "--assume-crashed", "-f", m.definition) })
			if find(t, ingresses, m.blue.Namespace(), m.host) == nil && find(t, httpRoutes, m.blue.Namespace(), m.host) == nil {
				t.Errorf("the host has no route: %s", r)
			}
			if m.marked(t) {
				t.Errorf("the claim has a run's mark: %s", r)
			}
			mustRun(t, 0, "migrate", m.blue.Group().String(), "--to", "httproute", "--assume-serving", "--timeout", "0", "--overlap", "0s")
			need(t, httpRoutes, m.blue.Namespace(), m.host)
			if find(t, ingresses, m.blue.Namespace(), m.host) != nil {
				t.Error("the old route stays when the migration is run again")
			}
			mustRun(t, 0, "state", "--problems", "--crashed-after", "0s")
		})
	}
	// The whole of an apply between the new route's and the old route's turn: it leaves no trace on the old one.
	t.Run("after the new route was written", func(t *testing.T) {
		m := newMigration(t)
		written := false
		r := m.beside(t, func(request string) bool {
			moment := written && request != "GET leases/"+m.host
			written = written || request == "PATCH httproutes/"+m.host
			return moment
		}, func() { mustRun(t, 0, "apply", "--assume-serving", "--assume-crashed", "-f", m.definition) })
		if find(t, ingresses, m.blue.Namespace(), m.host) == nil && find(t, httpRoutes, m.blue.Namespace(), m.host) == nil {
			t.Errorf("the host has no route: %s", r)
		}
		if m.marked(t) {
			t.Errorf("the claim has a run's mark: %s", r)
		}
	})
}

// A host that has changed hands between a migration's reads and its delete of the old route keeps that route,
// which serves it until its new holder is applied.
func TestMigrateOfAHostThatChangesHands(t *testing.T) {
	m := newMigration(t)
	green := leaseOf(m.blue.Owner, 2)
	r := m.beside(t, func(request string) bool {
		return request == "DELETE ingresses/"+m.host ||
			request == "PATCH leases/"+m.host && find(t, httpRoutes, m.blue.Namespace(), m.host) != nil && !m.marked(t)
	}, func() { mustRun(t, 0, "transfer", m.host, "--to", green.String(), "--assume-crashed") })
	need(t, ingresses, m.blue.Namespace(), m.host)
	held(t, m.host, "2 /")
	if r.Code != 1 {
		t.Errorf("exit code %d: %s", r.Code, r)
	}
	r.Says(t, "host "+m.host+": lease "+green.String()+" has got it meanwhile; its old route stays")
	if m.marked(t) {
		t.Errorf("the claim has a run's mark: %s", r)
	}
}

// A lease that is released beside its migration leaves no route behind.
func TestMigrateBesideRelease(t *testing.T) {
	for _, at := range []string{"PATCH httproutes/", "DELETE ingresses/"} {
		t.Run(at, func(t *testing.T) {
			m := newMigration(t)
			r := m.beside(t, func(request string) bool { return request == at+m.host }, func() { mustRun(t, 0, "release", m.blue.Group().String(), "--assume-crashed") })
			if r.Code == 0 && at == "PATCH httproutes/" {
				t.Errorf("it is done: %s", r)
			}
			if find(t, ingresses, m.blue.Namespace(), m.host) != nil || find(t, httpRoutes, m.blue.Namespace(), m.host) != nil {
				t.Errorf("a route is left: %s", r)
			}
			held(t, m.host)
		})
	}
}
