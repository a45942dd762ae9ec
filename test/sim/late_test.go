package sim

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// running is the definition of a lease with what it runs.
func running(t *testing.T, id lease.ID) (defs []*lease.Definition) {
	t.Helper()
	problems, err := input.Read(t.Context(), strings.NewReader(`version: "2.0"
services: {web: {image: nginx, expose: [{port: 80, accept: [a.example.com], to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: 1}}}
`), "web.yaml", input.Options{Lease: &id, Workloads: true}, func(d *lease.Definition) error {
		defs = append(defs, d)
		return nil
	})
	if err != nil || problems.Failed() {
		t.Fatal(err, problems)
	}
	return defs
}

// An apply counts as crashed while its Manifest is on the way, and the lease is released. What it makes late is a problem
// that names what ends it; repair does not.
func TestALateWorkloadIsAProblem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		if err := s.server.ServeAll(); err != nil {
			t.Fatal(err)
		}
		id := leaseOf("a", 1)
		release := func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{id.Group()}) }
		opts := s.opts
		opts.Workloads = &command.Workloads{}
		held := false
		err := apply.New(connected(t, func(r *http.Request) (*http.Response, error) {
			if held { // the command dies
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
			}
			if !held && isApply(r) && strings.Contains(r.URL.Path, "/manifests/") {
				held = true
				s.must(release, func(o *command.Options) { o.AssumeCrashed = true })
			}
			return s.server.RoundTrip(r)
		}), opts).Apply(t.Context(), running(t, id))
		if err == nil {
			t.Error("the command that has died says that it is done")
		}

		name := "StrayWorkload/" + id.Group().String()
		is := func(want ...string) {
			t.Helper()
			if got := s.problems(); !held || !slices.Equal(got, want) {
				t.Errorf("the problems are %q, want %q", got, want)
			}
		}
		is(name)
		if told := s.repair(); !strings.Contains(told, name+" skipped") || len(s.server.Objects("manifests")) != 1 {
			t.Errorf("repair says %s", told)
		}
		is(name)
		if told := s.must(release); !strings.Contains(told, "manifest/"+id.Namespace()+" deleted") {
			t.Errorf("release says %s", told)
		}
		is()
	})
}

// A cluster without Akash's kind of Manifests has no such problem, and a release there finds nothing that runs.
func TestNoManifestsAreServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		delete(s.server.kinds, "/apis/akash.network/v2beta2/manifests")
		id := leaseOf("a", 1)
		s.apply(id, false, "a.example.com")
		if got := s.problems(); len(got) > 0 {
			t.Errorf("the problems are %q", got)
		}
		s.must(func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{id.Group()}) })
	})
}
