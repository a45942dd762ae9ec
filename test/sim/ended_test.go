package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// diesAfter applies a lease with these hosts by a command that dies once it has applied an object, whose path ends so.
func (s *scene) diesAfter(object string, id lease.ID, hosts ...string) {
	s.Helper()
	wrote := false
	dies := connected(s.T, func(r *http.Request) (*http.Response, error) {
		if wrote {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		}
		wrote = isApply(r) && strings.HasSuffix(r.URL.Path, object)
		return s.server.RoundTrip(r)
	})
	def := (&invocation{id: id, hosts: hosts}).definition()
	if err := apply.New(dies, s.opts).Apply(s.Context(), []*lease.Definition{def}); err == nil || !wrote {
		s.Fatal("the command that has died says that it is done")
	}
}

// The announcement of a command that has crashed goes with a reconciler also where nobody names its lease any more, and nothing is kept.
func TestAnnouncementOfALeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSituation(furnished(t))
		c, opts, id := connect(s.server), s.options(1), allLeases()[0]
		l := ledger.New(c, opts.Config.LedgerNamespace)
		if _, err := l.Announcements.Put(t.Context(), &state.Announcement{Nonce: "crashed", Phase: state.Active, Begun: s.server.Now(), Renewed: s.server.Now(), Lasts: 20 * time.Second, By: "somebody", Groups: []lease.Group{id.Group()}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if failed, err := reconcile.New(c, opts, reconcile.Limits{Heal: true}).WorkAfter(t.Context(), []lease.Group{id.Group()}); err != nil || len(failed) > 0 {
			t.Error(failed, err)
		}
		if left, err := l.Announcements.List(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("there are %v, %v", left, err)
		}
	})
}

// An announcement for two leases, one of which another crashed command has marked, goes as one problem: the turn that ends the other command
// takes the first lease off it.
func TestAnnouncementOfTwoLeasesIsOneProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id, other := newScene(t), allLeases()[0], allLeases()[1]
		s.diesAfter("/leases/a.example.com", id, "a.example.com")
		l := ledger.New(connected(t, s.server.RoundTrip), s.opts.Config.LedgerNamespace)
		if _, err := l.Announcements.Put(t.Context(), &state.Announcement{Nonce: "crashed", Phase: state.Active, Begun: s.server.Now(), Renewed: s.server.Now(), Lasts: 20 * time.Second, By: "somebody", Groups: []lease.Group{id.Group(), other.Group()}}); err != nil {
			t.Fatal(err)
		}
		if told := s.repair(); strings.Count(told, "run--crashed repaired") != 1 {
			t.Error(told)
		}
		if got := s.problems(); len(got) > 0 {
			t.Errorf("the problems are %q", got)
		}
	})
}

// A route with the mark of a command that went on in the place of a crashed one is written as any other: what the API server has been asked of
// it once is known.
func TestRouteWithAMarkIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id, asked := newScene(t), allLeases()[0], 0
		s.diesAfter("/ingresses/a.example.com", id, "a.example.com")
		s.apply(id, false, "a.example.com")
		if routes := s.server.Objects("ingresses"); len(routes) != 1 || routes[0].GetAnnotations()[lease.AnnotationTaken] == "" {
			t.Fatalf("there are %v", routes)
		}
		time.Sleep(10 * time.Minute)
		def := (&invocation{id: id, hosts: []string{"a.example.com", "b.example.com"}}).definition()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		counted := connected(t, func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Has("dryRun") {
				if asked++; asked > 10 {
					end()
				}
			}
			return s.server.RoundTrip(r)
		})
		if err := apply.New(counted, s.opts).Apply(ctx, []*lease.Definition{def}); err != nil || asked == 0 || asked > 2 {
			t.Errorf("%d dry runs, %v", asked, err)
		}
	})
}

// So does what that command has claimed and not finished: the host is free again for the next tenant.
func TestClaimOfALeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id := newScene(t), allLeases()[0]
		s.diesAfter("/leases/a.example.com", id, "a.example.com")
		if got := s.problems(); len(got) != 1 || !strings.HasPrefix(got[0], state.CrashedRun+"/") {
			t.Fatalf("the problems are %q", got)
		}
		failed, err := reconcile.New(connected(t, s.server.RoundTrip), s.opts, reconcile.Limits{Heal: true}).WorkAfter(t.Context(), []lease.Group{id.Group()})
		if err != nil || len(failed) > 0 {
			t.Error(failed, err)
		}
		if got := s.problems(); len(got) > 0 {
			t.Errorf("the problems are %q", got)
		}
	})
}

// What half a release has left goes as well: a claim of a lease whose namespace is gone, of which nothing is kept and nothing announced.
func TestHalfAReleaseOfALeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id := newScene(t), allLeases()[0]
		s.apply(id, false, "a.example.com")
		maps.DeleteFunc(s.server.objects, func(path string, _ *stored) bool {
			return strings.HasSuffix(path, "/namespaces/"+id.Namespace()) || strings.Contains(path, "/"+id.Namespace()+"/") || strings.HasSuffix(path, "/"+kept.Name(id.Group()))
		})
		if got := s.problems(); !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, state.NamespaceGone+"/") }) {
			t.Fatalf("the problems are %q", got)
		}
		failed, err := reconcile.New(connected(t, s.server.RoundTrip), s.opts, reconcile.Limits{Heal: true}).Work(t.Context(), []lease.Group{id.Group()})
		if err != nil || len(failed) > 0 {
			t.Error(failed, err)
		}
		if got := s.problems(); len(got) > 0 {
			t.Errorf("the problems are %q", got)
		}
	})
}

// Nothing is given up of a lease of which somebody says something: a kept definition that this program cannot read, or a Manifest though
// none is applied.
func TestWhatIsNotForgottenIsKept(t *testing.T) {
	id := allLeases()[0]
	definition := "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases/" + kept.Name(id.Group())
	for _, what := range []string{"kept, and cannot be read", "a Manifest"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				r := reconcile.New(connected(t, s.server.RoundTrip), s.opts, reconcile.Limits{Heal: true})
				s.apply(id, false, "a.example.com")
				if what == "kept, and cannot be read" {
					s.send(http.MethodPatch, definition, `{"metadata":{"annotations":{"`+kept.AnnotationText+`":"x"}}}`)
				} else {
					s.send(http.MethodDelete, definition, "")
					def := (&invocation{id: id, hosts: []string{"a.example.com"}}).definition()
					r.Says(0, reconcile.Said{Source: reconcile.OfManifests, Definitions: map[lease.Group]*lease.Definition{id.Group(): def}})
				}
				s.send(http.MethodDelete, "/api/v1/namespaces/"+id.Namespace(), "")
				before := s.holders()
				if failed, err := r.Work(t.Context(), []lease.Group{id.Group()}); err != nil || len(failed) > 0 {
					t.Error(failed, err)
				}
				if after := s.holders(); len(before) == 0 || !maps.Equal(before, after) {
					t.Errorf("%v are held, and were %v", after, before)
				}
			})
		})
	}
}

// A lease that somebody applies between the reconciler's look at it and the heal is looked at again: that is no failure of the run.
func TestWhatChangesMeanwhileIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id, applied := newScene(t), allLeases()[0], false
		s.apply(id, false, "a.example.com")
		c := connected(t, func(r *http.Request) (*http.Response, error) {
			if !applied && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/ingresses") {
				applied = true
				s.apply(id, false, "b.example.com")
			}
			return s.server.RoundTrip(r)
		})
		if err := reconcile.New(c, s.opts, reconcile.Limits{Heal: true}).Once(t.Context()); err != nil || !applied {
			t.Errorf("applied: %t, %v", applied, err)
		}
	})
}

// Files that vanish one by one while the reconciler is killed after each release count together; when the time of the limit is over, the
// next may go.
func TestReleasesBeforeAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		said := reconcile.Said{Source: "prod", Complete: true, Definitions: map[lease.Group]*lease.Definition{}}
		for i, id := range allLeases()[:3] {
			said.Definitions[id.Group()] = (&invocation{id: id, hosts: []string{fmt.Sprintf("h%d.example.com", i)}}).definition()
		}
		// begin begins another reconciler, and lets it do what is due. It ends what it has begun, though the next may have to.
		begin := func() (*reconcile.Reconciler, error) {
			r := reconcile.New(connected(t, s.server.RoundTrip), s.opts, reconcile.Limits{MaxDeletes: -1, Per: time.Hour})
			r.Says(0, said)
			return r, r.Once(t.Context())
		}
		if _, err := begin(); err != nil {
			t.Fatal(err)
		}
		first, second := allLeases()[0].Group(), allLeases()[1].Group()
		delete(said.Definitions, first)
		if _, err := begin(); err != nil {
			t.Fatal(err)
		}
		delete(said.Definitions, second)
		successor, err := begin()
		if many, ok := errors.AsType[*reconcile.ManyDeletesError](err); !ok || many.Gone != 2 || many.Released != 1 || many.Owned != 3 {
			t.Fatalf("the second of three is released after the first: %v", err)
		}
		time.Sleep(time.Hour + time.Second)
		if err := successor.Once(t.Context()); err != nil {
			t.Error(err)
		}
		book := ledger.New(connect(s.server), s.opts.Config.LedgerNamespace)
		if left, err := book.Released(t.Context(), "prod"); err != nil || !slices.Equal(left, []lease.Group{second}) {
			t.Errorf("what counts still is %v, %v", left, err)
		}
		record := func() bool {
			return slices.ContainsFunc(slices.Collect(maps.Keys(s.server.objects)), func(path string) bool { return strings.HasSuffix(path, "/"+state.ReleasedName("prod")) })
		}
		if err := successor.Forget(t.Context()); err != nil || !record() {
			t.Errorf("what counts still is forgotten: %v", err)
		}
		time.Sleep(time.Hour + time.Second)
		if err := successor.Forget(t.Context()); err != nil || record() {
			t.Errorf("what counts no more is still recorded: %v", err)
		}
	})
}

// A lease that has no Manifest any more is over once Akash's provider has deleted its ProviderHosts, also for a reconciler that watches and
// has looked before: neither a source nor a kept definition says anything else then.
func TestLeaseEndsWithItsProviderHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id, other := newScene(t), allLeases()[0], allLeases()[2]
		w := &world{server: s.server}
		remember := func() { // and let the watches have told of all
			w.pasts = nil
			w.remember()
		}
		p := &process{world: w, cluster: connected(t, s.server.RoundTrip)}
		p.watch()
		r := reconcile.New(p.watching, s.opts, reconcile.Limits{Manifests: true})
		said := reconcile.Said{Source: reconcile.OfManifests, Complete: true, Definitions: map[lease.Group]*lease.Definition{}}
		for i, id := range []lease.ID{id, other} {
			said.Definitions[id.Group()] = (&invocation{id: id, hosts: []string{fmt.Sprintf("h%d.example.com", i)}}).definition()
		}
		r.Says(0, said)
		remember()
		if failed, err := r.Work(t.Context(), []lease.Group{id.Group(), other.Group()}); err != nil || len(failed) > 0 {
			t.Fatal(failed, err)
		}
		labels, err := json.Marshal(id.Labels())
		if err != nil {
			t.Fatal(err)
		}
		hosts := "/apis/akash.network/v2beta2/namespaces/" + s.opts.Config.ManifestNamespace + "/providerhosts"
		s.send(http.MethodPost, hosts+"?fieldManager="+managed.Akash, `{"apiVersion":"akash.network/v2beta2","kind":"ProviderHost","metadata":{"name":"z.example.com","labels":`+string(labels)+`}}`)
		said.Definitions = map[lease.Group]*lease.Definition{other.Group(): said.Definitions[other.Group()]}
		r.Says(0, said)
		over := func() []lease.Group {
			remember()
			view, err := r.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return view.Over()
		}
		if got := over(); len(got) > 0 {
			t.Fatalf("over with a ProviderHost are %v", got)
		}
		s.send(http.MethodDelete, hosts+"/z.example.com", "")
		if got := over(); !slices.Equal(got, []lease.Group{id.Group()}) {
			t.Errorf("over without one are %v", got)
		}
	})
}
