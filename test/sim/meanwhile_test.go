package sim

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// A command reads everything while another one applies its lease otherwise, and that one ends before it is announced itself: what has
// been written since is read again.
func TestWhatIsWrittenBetweenReadingAndAnnouncing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, opts := furnished(t), command.Options{Config: settings(), Prune: true, Concurrency: 1, AssumeServing: true}
		was := (&invocation{id: leaseOf("a", 1), hosts: []string{"a.example.com"}}).definition()
		other := (&invocation{id: leaseOf("a", 1), hosts: []string{"a.example.com"}}).definition()
		other.Services[0].Expose[0].HTTP.ReadTimeout = 30 * time.Second
		other.Hash = lease.Sum(other)
		applies := func(through roundTripper, def *lease.Definition) {
			if err := apply.New(connected(t, through), opts).Apply(t.Context(), []*lease.Definition{def}); err != nil {
				t.Error(err)
			}
		}
		applies(server.RoundTrip, was)
		time.Sleep(time.Minute)
		hasRead, ended, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		begun := false
		applies(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/ingresses/") && !r.URL.Query().Has("dryRun") && !begun {
				begun = true
				go func() {
					defer close(done)
					waited := false
					applies(func(r *http.Request) (*http.Response, error) {
						if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/leases/run--") && !waited {
							waited = true
							close(hasRead)
							<-ended
						}
						return server.RoundTrip(r)
					}, was)
				}()
				<-hasRead
			}
			return server.RoundTrip(r)
		}, other)
		close(ended)
		<-done
		for _, o := range server.Objects("ingresses") {
			if got := o.GetAnnotations()["nginx.ingress.kubernetes.io/proxy-read-timeout"]; got != "60" {
				t.Errorf("the route has a timeout of %q seconds", got)
			}
		}
	})
}

// A release has read what its lease runs when another command lets the lease run something else, and ends. What it runs by then goes, too.
func TestWhatRunsBetweenReadingAndAnnouncing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		if err := s.server.ServeAll(); err != nil {
			t.Fatal(err)
		}
		id := leaseOf("a", 1)
		defs := running(t, id)
		applies := func(a *apply.Applier) error { return a.Apply(t.Context(), defs) }
		s.must(applies)
		time.Sleep(time.Minute)
		begun := false
		err := apply.New(connected(t, func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/leases/run--") && !begun {
				begun = true
				s.must(applies, func(o *command.Options) { o.Workloads = &command.Workloads{} })
				if len(s.server.Objects("deployments")) == 0 {
					t.Error("nothing runs")
				}
			}
			return s.server.RoundTrip(r)
		}), s.opts).Release(t.Context(), []lease.Group{id.Group()})
		if left := len(s.server.Objects("deployments")) + len(s.server.Objects("manifests")); err != nil || left > 0 {
			t.Errorf("%d objects run after the release: %v", left, err)
		}
	})
}

// Another deployment of the owner takes a port of an address while the release of its only holder is about to delete the pool, or has begun
// to: the claim is its, and so is the pool, which it has touched. If it has given the port up before that release asks again, the pool goes
// with the claim.
func TestAddressIsTakenWhileItsPoolGoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		plural string
		stays  bool
	}{{"l2advertisements", true}, {"ipaddresspools", true}, {"ipaddresspools", false}} {
		t.Run(fmt.Sprint(tt.plural, " ", tt.stays), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, cfg := furnished(t), settings()
				cfg.IP.Mode = config.ModeDedicated
				opts := command.Options{Config: cfg, Prune: true, Concurrency: 1, AssumeServing: true}
				definition := func(dseq uint64, host string, port uint16) *lease.Definition {
					d := (&invocation{id: leaseOf("a", dseq), hosts: []string{host}, endpoint: true}).definition()
					d.Services[0].Expose[1].As = port
					d.Hash = lease.Sum(d)
					return d
				}
				held, taken := definition(1, "a.example.com", 443), definition(2, "b.example.com", 444)
				other := func() *apply.Applier { return apply.New(connected(t, server.RoundTrip), opts) }
				do := func(err error) {
					if err != nil {
						t.Error(err)
					}
				}
				do(other().Apply(t.Context(), []*lease.Definition{held}))
				took, gave := false, tt.stays
				do(apply.New(connected(t, func(r *http.Request) (*http.Response, error) {
					deletes := func(plural string) bool {
						return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/"+plural+"/")
					}
					switch {
					case !took && deletes(tt.plural):
						took = true
						do(other().Apply(t.Context(), []*lease.Definition{taken}))
					case took && !gave && strings.Contains(r.URL.Path, "/leases/ip--"):
						answer, err := server.RoundTrip(r)
						gave = true
						do(other().Release(t.Context(), []lease.Group{taken.Lease.Group()}))
						return answer, err
					}
					return server.RoundTrip(r)
				}), opts).Release(t.Context(), []lease.Group{held.Lease.Group()}))
				want := map[bool]int{true: 1, false: 0}[tt.stays]
				for _, of := range []string{"ipaddresspools", "l2advertisements"} {
					if n := len(server.Objects(of)); n != want || !took || !gave {
						t.Errorf("there are %d %s; taken: %t, given up: %t", n, of, took, gave)
					}
				}
			})
		})
	}
}
