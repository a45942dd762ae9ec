package sim

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// servedBy is the definition of a lease whose host leads to a service.
func servedBy(service string) []*lease.Definition {
	def := (&invocation{id: leaseOf("a", 1), hosts: []string{"a.example.com"}}).definition()
	def.Services[0].Name = service
	def.Hash = lease.Sum(def)
	return []*lease.Definition{def}
}

// applies runs an apply of the lease through a transport.
func applies(t *testing.T, through roundTripper, service string, assumeCrashed bool) error {
	t.Helper()
	opts := command.Options{Config: settings(), Prune: true, Concurrency: 1, AssumeCrashed: assumeCrashed}
	return apply.New(connected(t, through), opts).Apply(t.Context(), servedBy(service))
}

// leadsTo is the service to which the route of the lease leads.
func leadsTo(server *Server) string {
	for _, o := range server.Objects("ingresses") {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		paths, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "http", "paths")
		service, _, _ := unstructured.NestedString(paths[0].(map[string]any), "backend", "service", "name")
		return service
	}
	return ""
}

func isRoute(r *http.Request) bool {
	return isApply(r) && strings.Contains(r.URL.Path, "/ingresses/")
}

// isApply reports whether a request is an apply, and no dry run.
func isApply(r *http.Request) bool {
	return r.Method == http.MethodPatch && !r.URL.Query().Has("dryRun")
}

// isLost fails unless a command says that another one works in its place.
func isLost(t *testing.T, err error) {
	t.Helper()
	if lost := (*turn.LostError)(nil); !errors.As(err, &lost) {
		t.Errorf("want the command to say that it counts as crashed, got %v", err)
	}
}

// A write that was not sent, or not answered, while another command came in the place of this one, is not sent any more,
// neither by the program nor by its client library; one that was on its way makes and changes nothing.
func TestNoWriteAfterItWasOver(t *testing.T) {
	t.Parallel()
	refused := func(op string) error {
		return &net.OpError{Op: op, Net: "tcp", Err: errors.New("connection refused")}
	}
	for name, meets := range map[string]func(t *testing.T, server *Server, r *http.Request, successor func(hasty bool)) (*http.Response, error){
		"no connection for 25 seconds": func(_ *testing.T, _ *Server, _ *http.Request, successor func(bool)) (*http.Response, error) {
			successor(false)
			return nil, refused("dial")
		},
		"the server asks to come again later": func(_ *testing.T, server *Server, r *http.Request, successor func(bool)) (*http.Response, error) {
			successor(true)
			w := &world{server: server}
			return w.refuse(&request{http: r}, http.StatusTooManyRequests, "TooManyRequests").response, nil
		},
		"the request is lost": func(_ *testing.T, _ *Server, _ *http.Request, successor func(bool)) (*http.Response, error) {
			successor(true)
			return nil, refused("read")
		},
		"the request is held": func(_ *testing.T, server *Server, r *http.Request, successor func(bool)) (*http.Response, error) {
			successor(true)
			return server.RoundTrip(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := furnished(t)
				met, over := false, false
				var away time.Time
				late := 0
				err := applies(t, func(r *http.Request) (*http.Response, error) {
					if away.After(time.Now()) {
						time.Sleep(time.Second)
						return nil, refused("dial")
					}
					if over && isRoute(r) {
						late++
					}
					if !met && isRoute(r) {
						met = true
						return meets(t, server, r, func(hasty bool) {
							if !hasty {
								away = time.Now().Add(25 * time.Second)
							}
							if err := applies(t, server.RoundTrip, "new", hasty); err != nil {
								t.Error(err)
							}
							over = true
						})
					}
					return server.RoundTrip(r)
				}, "old", false)
				isLost(t, err)
				if to := leadsTo(server); !over || late > 0 || to != "new" {
					t.Errorf("%d writes of the route came afterwards; it leads to %q", late, to)
				}
			})
		})
	}
}

// ahead answers as an API server whose clock is ahead.
func ahead(server *Server, by time.Duration) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		response, err := server.RoundTrip(r)
		if err == nil {
			response.Header.Set("Date", server.Now().Add(by).UTC().Format(http.TimeFormat))
		}
		return response, err
	}
}

// A command that has crashed is waited for 20 seconds, whatever its clock and that of the next one say.
func TestACrashIsKnownByNoClock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ crashed, next time.Duration }{
		"one clock":                 {0, 0},
		"it was an hour ahead":      {time.Hour, 0},
		"it was an hour behind":     {-time.Hour, 0},
		"the next one is far ahead": {0, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := furnished(t)
				dead, ended := make(chan struct{}), make(chan struct{})
				to := ahead(server, tt.crashed)
				go func() {
					defer close(ended)
					_ = applies(t, func(r *http.Request) (*http.Response, error) { // it is killed
						if isRoute(r) {
							close(dead)
							<-t.Context().Done()
						}
						select {
						case <-dead:
							<-t.Context().Done()
						default:
						}
						return to(r)
					}, "old", false)
				}()
				t.Cleanup(func() { <-ended })
				<-dead
				began := time.Now()
				if err := applies(t, ahead(server, tt.next), "new", false); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took < 20*time.Second || took > 25*time.Second {
					t.Errorf("the next command has waited for %s", took)
				}
			})
		})
	}
}

// A command that renews its announcement is waited for, though the next one's API server has a clock that is ahead.
func TestALivingCommandIsNotTakenForCrashed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := furnished(t)
		begun, done := make(chan struct{}), make(chan error)
		go func() {
			done <- applies(t, func(r *http.Request) (*http.Response, error) {
				if isRoute(r) {
					close(begun)
					time.Sleep(9 * time.Second)
				}
				if r.Method == http.MethodPatch && !strings.Contains(r.URL.Path, "/leases/run--") {
					time.Sleep(9 * time.Second)
				}
				return server.RoundTrip(r)
			}, "old", false)
		}()
		<-begun
		if err := applies(t, ahead(server, time.Minute), "new", false); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if to := leadsTo(server); to != "new" {
			t.Errorf("the route leads to %q", to)
		}
	})
}
