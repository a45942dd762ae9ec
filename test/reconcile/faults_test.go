package reconcile_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// road is the way from a reconciler to the API server, on which a test lets requests fail.
type road struct {
	next http.RoundTripper

	mu sync.Mutex
	// meets answers a request in the server's place, or does something to it; nil lets all pass.
	meets func(*http.Request) *http.Response
}

// newRoad returns a road, and the kubeconfig of a reconciler that takes it, with the rights of an administrator.
func newRoad(t *testing.T) (_ *road, kubeconfig string) {
	t.Helper()
	r := &road{}
	server := harness.Proxy(t, rights(t), func(p *httputil.ReverseProxy) {
		r.next, p.Transport = p.Transport, r
	})
	return r, harness.Kubeconfig(t, server)
}

// meet sets what requests meet from now on.
func (r *road) meet(meets func(*http.Request) *http.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meets = meets
}

// RoundTrip implements http.RoundTripper.
func (r *road) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	meets := r.meets
	r.mu.Unlock()
	if meets != nil {
		if out := meets(q); out != nil {
			return out, nil
		}
	}
	return r.next.RoundTrip(q)
}

// says is an answer of the API server.
func says(q *http.Request, code int, status string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: q,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", ` + status + `}`)),
	}
}

// short is the body of a watch that ends early.
type short struct {
	io.Reader
	io.Closer
}

// A kind that cannot be listed when a reconciler starts keeps only those leases waiting that need it.
func TestKindThatCannotBeListed(t *testing.T) {
	t.Parallel()
	r, kubeconfig := newRoad(t)
	r.meet(func(q *http.Request) *http.Response {
		if !strings.HasSuffix(q.URL.Path, "/ipaddresspools") {
			return nil
		}
		return says(q, http.StatusInternalServerError, `"reason": "InternalError", "code": 500, "message": "conversion webhook failed"`)
	})
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("listed")
	dir.define(t, id, host)
	w := watchAs(t, kubeconfig, "-f", dir.path, "--source", "listed", "--leader-elect=false")
	routed(t, id, host, true)
	w.Stops(t)
}

// Watches that break off several times, and that are too old to go on, hide nothing.
func TestTornWatches(t *testing.T) {
	harness.NeedsLong(t) // client-go waits longer after each
	t.Parallel()
	r, kubeconfig := newRoad(t)
	var mu sync.Mutex
	cut := map[string]int{}
	r.meet(func(q *http.Request) *http.Response {
		if !q.URL.Query().Has("watch") {
			return nil
		}
		mu.Lock()
		cut[q.URL.Path]++
		n := cut[q.URL.Path]
		mu.Unlock()
		if n > 4 { // client-go waits longer after each, up to half a minute
			return nil
		}
		if n == 2 {
			return says(q, http.StatusGone, `"reason": "Expired", "code": 410, "message": "too old resource version"`)
		}
		out, err := r.next.RoundTrip(q)
		if err != nil {
			return nil
		}
		in, writes := io.Pipe()
		go func() {
			_, err := io.Copy(writes, out.Body)
			writes.CloseWithError(err)
		}()
		time.AfterFunc(time.Duration(n)*400*time.Millisecond, func() { _ = out.Body.Close() })
		out.Body = short{in, in}
		return out
	})
	dir, owner := newFolder(t), harness.NewOwner(t)
	first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	one, two := harness.NewHost("one"), harness.NewHost("two")
	dir.define(t, first, one)
	w := watchAs(t, kubeconfig, "-f", dir.path, "--source", "torn", "--leader-elect=false", "--max-deletes=10")
	for range 3 {
		routed(t, first, one, true)
		dir.define(t, second, two)
		routed(t, second, two, true)
		harness.Remove(t, ingresses, first.Namespace(), one)
		routed(t, first, one, true)
		dir.remove(t, second)
		routed(t, second, two, false)
		released(t, second)
	}
	w.Stops(t)
}

// While the API server cannot store anything, nothing is said to be done. When it can, it is done.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	r, kubeconfig := newRoad(t)
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("full")
	dir.define(t, id, host)
	r.meet(func(q *http.Request) *http.Response {
		if q.Method == http.MethodGet || strings.Contains(q.URL.Path, "accessreviews") {
			return nil
		}
		return says(q, http.StatusInternalServerError, `"reason": "InternalError", "code": 500, "message": "etcdserver: mvcc: database space exceeded"`)
	})
	w := watchAs(t, kubeconfig, "-f", dir.path, "--leader-elect=false")
	w.Says(t, "database space exceeded")
	if strings.Contains(w.String(), "is applied") || route(t, id, host) != nil {
		t.Errorf("something was done: %s", w)
	}
	r.meet(nil)
	routed(t, id, host, true)
	w.Says(t, "is applied: 1 host")
	w.Stops(t)
}

// A leader that cannot renew its election in the middle of a write is followed by another one. The write that arrives late changes nothing.
func TestLeaderIsLost(t *testing.T) {
	harness.NeedsLong(t) // until the leader gives up
	r, kubeconfig := newRoad(t)
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("lost")
	dir.define(t, id, host)
	first := watchAs(t, kubeconfig, "-f", dir.path)
	routed(t, id, host, true)
	first.Says(t, "is applied: 1 host")
	watch(t, "-f", dir.path)

	held, goes, arrived := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once, late sync.Once
	r.meet(func(q *http.Request) *http.Response {
		switch {
		case strings.Contains(q.URL.Path, "/leases/el--") && q.Method != http.MethodGet:
			return says(q, http.StatusServiceUnavailable, `"code": 503, "message": "not now"`)
		case q.Method == http.MethodPatch && strings.Contains(q.URL.Path, "/ingresses/") && !q.URL.Query().Has("dryRun"):
			once.Do(func() { close(held) })
			<-goes
			out, err := r.next.RoundTrip(q.WithContext(context.WithoutCancel(q.Context())))
			late.Do(func() { close(arrived) })
			if err == nil {
				return out
			}
		}
		return nil
	})
	dir.define(t, id, host, "http: {readTimeout: 30s}")
	<-held
	first.Says(t, "It begins anew")
	dir.define(t, id, host, "http: {readTimeout: 20s}")
	has := func(timeout string) {
		t.Helper()
		harness.Eventually(t, "the timeout is to be "+timeout, func(context.Context) (bool, error) {
			return route(t, id, host).GetAnnotations()[readTimeout] == timeout, nil
		})
	}
	has("20")
	close(goes)
	<-arrived
	if got := route(t, id, host).GetAnnotations()[readTimeout]; got != "20" {
		t.Errorf("the late write has changed the timeout to %s", got)
	}
	r.meet(nil)
	dir.define(t, id, host, "http: {readTimeout: 10s}")
	has("10")
	first.Stops(t)
}
