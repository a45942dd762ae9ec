package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// fake is a world in which one lease is known, and that records what is transferred.
type fake struct {
	def         *lease.Definition
	empty       bool
	unheld      []string
	err         error
	transferred []string
	to          lease.ID
	reads       int
}

// shown shows the world until the test ends.
func (f *fake) shown(t *testing.T) *Shown {
	s := &Shown{}
	s.world.Store(&World{
		Book: func(context.Context) (*view.Book, error) {
			f.reads++
			return &view.Book{APIVersion: "v", Kind: "Book", Hosts: []view.HostRow{}, Addresses: &inventory.Addresses{Total: 27, InUse: 14}}, nil
		},
		Failing: func(context.Context) ([]reconcile.Failing, error) { return nil, nil },
		Definition: func(_ context.Context, g lease.Group) (*lease.Definition, error) {
			if f.def == nil || g != f.def.Lease.Group() {
				return nil, nil
			}
			return f.def, nil
		},
		Transfer: func(_ context.Context, to lease.ID, names []string) ([]string, error) {
			f.to, f.transferred = to, append(f.transferred, names...)
			return f.unheld, f.err
		},
	})
	return s
}

// ask sends a request to the handler.
func ask(h http.Handler, method, path, body string, header ...string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(text)
}

// Before what is watched has been read, and after the watches have ended, nothing is told that might be wrong.
func TestNotReady(t *testing.T) {
	s := &Shown{}
	h := handler(Options{Shown: s})
	answers := func(want int, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if code, body := ask(h, http.MethodGet, path, ""); code != want {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	}
	watched := []string{"/health", "/state", "/managed-hostnames", "/ignore-list", "/usage"}
	answers(http.StatusServiceUnavailable, watched...)
	answers(http.StatusInternalServerError, "/readyz")
	answers(http.StatusOK, "/healthz", "/version")
	ctx, cancel := context.WithCancel(t.Context())
	w, err := (&fake{}).shown(t).World()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { s.Show(ctx, w); close(ended) }()
	for _, err := s.World(); err != nil; _, err = s.World() {
	}
	answers(http.StatusOK, append(watched, "/readyz", "/healthz")...)
	cancel()
	<-ended
	answers(http.StatusServiceUnavailable, watched...)
}

// Akash's provider is answered without a token what its operators answer, and nothing else; before anything is known, as they do then.
func TestAsOperators(t *testing.T) {
	s := &Shown{}
	at := func(address string) http.Handler {
		all, err := servers(Options{Shown: s, Page: http.NotFoundHandler(), Listen: reconcile.Listen{Operators: netip.MustParseAddrPort(address)}})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0].handler
	}
	h := at("0.0.0.0:8080")
	const status = "/ip-lease-status/akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/1/1/1"
	answers := func(want map[string]int) {
		t.Helper()
		for path, want := range want {
			method, path, _ := strings.Cut(path, " ")
			if code, body := ask(h, method, path, "{}"); code != want || code == http.StatusNoContent && body != "" {
				t.Errorf("%s %s: %d %s, want %d", method, path, code, body, want)
			}
		}
	}
	answers(map[string]int{
		"GET /health": 503, "GET /usage": 503, "GET /ignored-leases": 503, "GET " + status: 503, "GET /managed-hostnames": 204, "GET /ignore-list": 204,
	})
	s.world.Store((&fake{}).shown(t).world.Load())
	answers(map[string]int{
		"GET /health": 200, "GET /version": 200, "GET /usage": 200, "GET /ignored-leases": 200, "GET /ignore-list": 200, "GET /managed-hostnames": 200,
		"GET " + status: 204, "GET /ip-lease-status/x/y/1/1": 404, "HEAD /health": 200,
		"GET /state": 404, "GET /metrics": 404, "GET /": 404, "GET /readyz": 404, "POST /hostname/migrate": 404, "POST /usage": 405, "DELETE /health": 405,
	})
	for url, want := range map[string]int{"http://localhost/usage": 200, "http://127.0.0.1:8080/usage": 200, "http://elsewhere.example/usage": 421} {
		if code, body := ask(at("127.0.0.1:8080"), http.MethodGet, url, ""); code != want {
			t.Errorf("%s on loopback: %d %s, want %d", url, code, body, want)
		}
	}
}

// However many ask at once, the cluster is read once a second; another world is read anew.
func TestBookIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		s := f.shown(t)
		for want := 1; want < 4; want++ {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					if code, _ := ask(handler(Options{Shown: s}), http.MethodGet, "/state", ""); code != http.StatusOK {
						t.Error(code)
					}
				})
			}
			all.Wait()
			if f.reads != want {
				t.Errorf("it was read %d times, want %d", f.reads, want)
			}
			if want == 2 {
				s.world.Store((&World{Book: s.world.Load().Book}))
			} else {
				time.Sleep(fresh)
			}
		}
	})
}

// While a reading is slow, who goes away waits no longer, also who has begun it. Who stays gets what is read.
func TestSlowBook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends, reads := make(chan struct{}), 0
		s := &Shown{}
		s.world.Store(&World{Book: func(context.Context) (*view.Book, error) {
			reads++
			<-ends
			return &view.Book{}, nil
		}})
		ctx, leave := context.WithCancel(t.Context())
		var gone, stays sync.WaitGroup
		for range 2 {
			gone.Go(func() {
				if _, err := s.Book(ctx); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			synctest.Wait()
			stays.Go(func() {
				if book, err := s.Book(t.Context()); book == nil || err != nil {
					t.Error(book, err)
				}
			})
		}
		leave()
		gone.Wait()
		close(ends)
		if stays.Wait(); reads != 1 {
			t.Errorf("it was read %d times", reads)
		}
	})
}

// Methods, paths that are none, and who is asked who he is: testdata/paths.txt. Who reads on the loopback address is not; who writes is, and so
// is everybody elsewhere. A name that leads here from elsewhere gets nothing.
func TestPaths(t *testing.T) {
	h := handler(Options{Shown: (&fake{}).shown(t)})
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				text = err.Error()
			}
			_, _ = io.WriteString(w, text)
		})
	}
	guarded := func(loopback bool) func(string) string {
		return func(line string) string {
			method, url, _ := strings.Cut(line, " ")
			code, body := ask(guard(loopback, says("free"), says("reviewed")), method, url, "")
			return fmt.Sprintln(code, body)
		}
	}
	golden.Rules{
		"asked": func(line string) string {
			method, path, _ := strings.Cut(line, " ")
			code, _ := ask(h, method, path, "")
			return fmt.Sprint(code)
		},
		"loopback": guarded(true), "elsewhere": guarded(false),
	}.Check(t, "testdata/paths.txt")
	if _, body := ask(guard(false, says("free"), says("reviewed")), "POST", "http://a/b", strings.Repeat("a", maxBody+1)); !strings.Contains(body, "too large") {
		t.Errorf("a long body is read: %.40s", body)
	}
	page := handler(Options{Shown: &Shown{}, Page: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page of "+r.URL.Path) })})
	for path, want := range map[string]string{"/": "page of /", "/changes": "page of /changes", "/healthz": "ok"} {
		if code, body := ask(page, http.MethodGet, path, ""); code != 200 || body != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// What a request to migrate is answered, as Akash's gateway answers it (MG-1 to MG-6), and what it moves: what it names. Each line of
// testdata/migrate.txt is a body; "names" asks for one of the lease, the others what they say.
func TestMigrate(t *testing.T) {
	held := report.Failures{&report.LeaseError{Lease: someLease(2).Group(), Err: &report.HeldError{Held: []report.HeldThing{{Kind: state.Host, Thing: "a.example.com"}}}}}
	long := strings.NewReplacer("DEEP", strings.Repeat("[", 60000), "LONG", strings.Repeat("a", maxBody), "SOME", strings.Repeat("a", 2000))
	asks := func(path, of string, f fake) func(string) string {
		return func(line string) string {
			f := f
			f.def = definition(someLease(2), "a.example.com", "b.example.com")
			if f.empty {
				f.def = &lease.Definition{Lease: someLease(2)}
			}
			h := handler(Options{Shown: f.shown(t)})
			code, answer := ask(guard(true, h, h), http.MethodPost, "http://localhost"+path, long.Replace(line), Owner, of)
			if f.transferred != nil && f.to != someLease(2) {
				t.Errorf("%s: %q are moved to %s", line, f.transferred, f.to)
			}
			return fmt.Sprintf("%d %q %s", code, f.transferred, answer)
		}
	}
	const hosts, endpoints = "/hostname/migrate", "/endpoint/migrate"
	golden.Rules{
		"hosts": asks(hosts, owner, fake{}), "endpoints": asks(endpoints, owner, fake{}), "nobodys": asks(hosts, "", fake{}),
		"failing-hosts": asks(hosts, owner, fake{err: io.EOF}), "failing-endpoints": asks(endpoints, owner, fake{err: io.EOF}), "held": asks(hosts, owner, fake{err: held}),
		"unheld": asks(hosts, owner, fake{unheld: []string{"b.example.com"}}), "to-an-empty-lease": asks(hosts, owner, fake{empty: true}),
	}.Check(t, "testdata/migrate.txt")
	f := fake{def: definition(someLease(2), "a.example.com")}
	h := handler(Options{Shown: f.shown(t)})
	twice := httptest.NewRequest(http.MethodPost, "http://localhost"+hosts, strings.NewReader(`{"hostnames_to_migrate":["a.example.com"],"destination_dseq":2,"destination_gseq":1}`))
	twice.Header[Owner] = []string{owner, someLease(3).Owner}
	answer := httptest.NewRecorder()
	if guard(true, h, h).ServeHTTP(answer, twice); answer.Code != http.StatusBadRequest {
		t.Errorf("two owners: %d %s", answer.Code, answer.Body)
	}
}
