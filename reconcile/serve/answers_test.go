package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// fake is a world in which one lease is known, and that records what is transferred.
type fake struct {
	def         *lease.Definition
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

// Methods, and paths that are none.
func TestPaths(t *testing.T) {
	h := handler(Options{Shown: (&fake{}).shown(t)})
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{http.MethodHead, "/state", 200},
		{http.MethodPost, "/state", 405},
		{http.MethodOptions, "/state", 405},
		{http.MethodDelete, "/ignore-list", 405},
		{http.MethodGet, "/hostname/migrate", 405},
		{http.MethodGet, "/", 404},
		{http.MethodGet, "/state/", 404},
		{http.MethodGet, "/State", 404},
		{http.MethodGet, "/state%2F", 404},
		{http.MethodGet, "/%2e%2e/state%00", 404},
		{http.MethodGet, "/healthz/etcd", 404},
		{http.MethodGet, "/ip-lease-status/akash1a/1/1/1", 204},
		{http.MethodGet, "/ip-lease-status/cosmos1a/1/1/1", 404},
		{http.MethodGet, "/ip-lease-status/akash1a/1/1/x", 404},
		{http.MethodGet, "/ip-lease-status/akash1a/0/1/1", 404},
		{http.MethodGet, "/ip-lease-status/akash1a/18446744073709551616/1/1", 404},
		{http.MethodGet, "/ip-lease-status/akash1a/1/4294967296/1", 404},
		{http.MethodGet, "/ip-lease-status/akash1a%2F1/1/1/1", 404},
		{http.MethodGet, "/ip-lease-status/akash1a/1/1", 404},
	} {
		if got, body := ask(h, tt.method, tt.path, ""); got != tt.want {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, got, body)
		}
	}
	page := handler(Options{Shown: &Shown{}, Page: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page of "+r.URL.Path) })})
	for path, want := range map[string]string{"/": "page of /", "/changes": "page of /changes", "/healthz": "ok"} {
		if code, body := ask(page, http.MethodGet, path, ""); code != 200 || body != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// What a request to migrate is answered, as Akash's gateway answers it (MG-1 to MG-6), and what it moves: what it names.
func TestMigrate(t *testing.T) {
	held := report.Failures{&report.LeaseError{Lease: someLease(2).Group(), Err: &report.HeldError{Held: []report.HeldThing{{Kind: state.Host, Thing: "a.example.com"}}}}}
	const hosts, endpoints = "/hostname/migrate", "/endpoint/migrate"
	for name, tt := range map[string]struct {
		path, body, owner string
		unheld            []string
		err               error
		code              int
		answer            string
		moves             []string
	}{
		"no such lease (MG-1)": {path: hosts, body: `{"hostnames_to_migrate":["a.example.com"],"destination_dseq":9,"destination_gseq":1}`, code: 400, answer: "destination deployment does not exist\n"},
		"a host that it does not define (MG-2)": {
			path: hosts, body: `{"hostnames_to_migrate":["a.example.com","foobar.org"],"destination_dseq":2,"destination_gseq":1}`,
			code: 400, answer: "the hostname \"foobar.org\" is not used by this deployment\n",
		},
		"a host (MG-3)": {
			path: hosts, body: `{"hostnames_to_migrate":["a.example.com"],"destination_dseq":2,"destination_gseq":1}`,
			code: 200, answer: "{\n  \"transferred\": [\n    \"a.example.com\"\n  ]\n}\n", moves: []string{"a.example.com"},
		},
		"it fails (MG-4, MG-5)": {
			path: hosts, body: `{"hostnames_to_migrate":["a.example.com"],"destination_dseq":2,"destination_gseq":1}`, err: io.EOF,
			code: 500, answer: "failed transferring \"a.example.com\": EOF\n", moves: []string{"a.example.com"},
		},
		"an endpoint that fails (MG-6)": {
			path: endpoints, body: `{"endpoints_to_migrate":["public"],"destination_dseq":2,"destination_gseq":1}`, err: io.EOF,
			code: 500, answer: "failed transferring \"public\": EOF\n", moves: []string{"endpoint/public"},
		},
		"an endpoint": {path: endpoints, body: `{"endpoints_to_migrate":["public"],"destination_dseq":2,"destination_gseq":1}`, code: 200, answer: "{\n  \"transferred\": [\n    \"public\"\n  ]\n}\n", moves: []string{"endpoint/public"}},
		"an endpoint that it does not define": {
			path: endpoints, body: `{"endpoints_to_migrate":["other"],"destination_dseq":2,"destination_gseq":1}`,
			code: 400, answer: "the endpoint \"other\" does not exist in the destination deployment\n",
		},
		"another owner holds it": {
			path: hosts, body: `{"hostnames_to_migrate":["a.example.com"],"destination_dseq":2,"destination_gseq":1}`, err: held,
			code: 400, answer: "hostname not allowed: host \"a.example.com\" in use\n", moves: []string{"a.example.com"},
		},
		"nobody holds one, and one is named twice": {
			path: hosts, body: `{"hostnames_to_migrate":["a.example.com","b.example.com","a.example.com"],"destination_dseq":2,"destination_gseq":1}`,
			unheld: []string{"b.example.com"},
			code:   200, answer: "{\n  \"transferred\": [\n    \"a.example.com\"\n  ]\n}\n", moves: []string{"a.example.com", "b.example.com"},
		},
		"nothing is named":             {path: hosts, body: `{"destination_dseq":2,"destination_gseq":1}`, code: 400},
		"endpoints where hosts belong": {path: hosts, body: `{"endpoints_to_migrate":["public"],"destination_dseq":2,"destination_gseq":1}`, code: 400},
		"no JSON":                      {path: hosts, body: `hosts`, code: 422},
		"a number as text":             {path: hosts, body: `{"hostnames_to_migrate":["a.example.com"],"destination_dseq":"2","destination_gseq":1}`, code: 422},
		"nothing":                      {path: hosts, code: 422},
		"deep":                         {path: hosts, body: strings.Repeat(`[`, 60000), code: 422},
		"too long":                     {path: hosts, body: `{"hostnames_to_migrate":["` + strings.Repeat("a", maxBody) + `"]}`, code: 413},
		"no owner":                     {path: hosts, body: `{}`, owner: "-", code: 400, answer: "the header Akash-Owner does not name the owner: \"\" is not an Akash address (akash1…, lower case, at most 63 characters)\n"},
		"a name that would be an endpoint": {
			path: hosts, body: `{"hostnames_to_migrate":["endpoint/public"],"destination_dseq":2,"destination_gseq":1}`,
			code: 400, answer: "the hostname \"endpoint/public\" is not used by this deployment\n",
		},
		"a name with control characters": {
			path: hosts, body: `{"hostnames_to_migrate":["\u001b[31m` + strings.Repeat("a", 2000) + `"],"destination_dseq":2,"destination_gseq":1}`,
			code: 400, answer: "the hostname \"\\x1b[31m" + strings.Repeat("a", 95) + "…\" is not used by this deployment\n",
		},
	} {
		f := &fake{def: definition(someLease(2), "a.example.com", "b.example.com"), unheld: tt.unheld, err: tt.err}
		h := guard(true, handler(Options{Shown: f.shown(t)}), handler(Options{Shown: f.shown(t)}))
		of := map[string]string{"": owner, "-": ""}[tt.owner]
		code, answer := ask(h, http.MethodPost, "http://localhost"+tt.path, tt.body, Owner, of)
		if code != tt.code || answer != tt.answer {
			t.Errorf("%s: %d %q", name, code, answer)
		}
		if !slices.Equal(f.transferred, tt.moves) || f.transferred != nil && f.to != someLease(2) {
			t.Errorf("%s: %q are moved to %s", name, f.transferred, f.to)
		}
	}
}

// A lease whose definition is empty is on its way out: nothing is moved to it.
func TestMigrateToEmptyLease(t *testing.T) {
	f := &fake{def: &lease.Definition{Lease: someLease(2)}}
	code, answer := ask(handler(Options{Shown: f.shown(t)}), http.MethodPost, "/hostname/migrate",
		`{"hostnames_to_migrate":["a.example.com"],"destination_dseq":2,"destination_gseq":1}`, Owner, owner)
	if code != 400 || answer != "destination deployment does not exist\n" {
		t.Errorf("%d %s", code, answer)
	}
}

// Who reads on the loopback address is not asked who he is; who writes is, and so is everybody elsewhere. A name that leads here from
// elsewhere gets nothing.
func TestGuard(t *testing.T) {
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				text = err.Error()
			}
			_, _ = io.WriteString(w, text)
		})
	}
	for _, tt := range []struct {
		loopback          bool
		method, url, want string
	}{
		{true, "GET", "http://localhost:8443/state", "free"},
		{true, "GET", "http://127.0.0.1/state", "free"},
		{true, "HEAD", "http://[::1]:80/state", "free"},
		{true, "GET", "http://[::1]/state", "free"},
		{true, "POST", "http://localhost/hostname/migrate", "reviewed"},
		{true, "PUT", "http://localhost/healthz", "reviewed"},
		{true, "GET", "http://evil.example.com/state", "refused"},
		{true, "GET", "http://localhost.evil.example.com/state", "refused"},
		{true, "GET", "http://127.0.0.1.nip.io/state", "refused"},
		{true, "POST", "http://10.0.0.1/hostname/migrate", "refused"},
		{false, "GET", "http://reconciler.akash-net.svc:8443/state", "reviewed"},
		{false, "GET", "http://localhost/metrics", "reviewed"},
		{false, "GET", "http://10.0.0.1/healthz", "free"},
		{false, "HEAD", "http://10.0.0.1/readyz", "free"},
		{false, "GET", "http://10.0.0.1/health", "free"},
		{false, "GET", "http://10.0.0.1/healthz/", "reviewed"},
		{false, "POST", "http://10.0.0.1/healthz", "reviewed"},
		{false, "GET", "http://10.0.0.1/healthz%2f..%2fstate", "reviewed"},
	} {
		code, body := ask(guard(tt.loopback, says("free"), says("reviewed")), tt.method, tt.url, "")
		if code == http.StatusMisdirectedRequest {
			body = "refused"
		}
		if body != tt.want {
			t.Errorf("%s %s, loopback %t: %d %s", tt.method, tt.url, tt.loopback, code, body)
		}
	}
	if _, body := ask(guard(false, says("free"), says("reviewed")), "POST", "http://a/b", strings.Repeat("a", maxBody+1)); !strings.Contains(body, "too large") {
		t.Errorf("a long body is read: %.40s", body)
	}
}
