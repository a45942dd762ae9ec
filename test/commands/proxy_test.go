package commands

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// request is one request as it reached the API server.
type request struct {
	method, path string
	query        url.Values
	body         string
}

// target is the resource and, where one object is meant, its name.
func (r request) target() (resource, name string) {
	segments := strings.Split(strings.Trim(r.path, "/"), "/")
	skip := 2 // api/v1
	if segments[0] == "apis" {
		skip = 3
	}
	segments = segments[min(skip, len(segments)):]
	if len(segments) > 2 && segments[0] == "namespaces" {
		segments = segments[2:]
	}
	segments = append(segments, "", "")
	return segments[0], segments[1]
}

// announcement is what the announcement of a command is called, whose name differs from run to run.
const announcement = "announcement"

// announces is true for a request about one announcement.
func (r request) announces() bool {
	resource, name := r.target()
	return resource == claims.Resource && state.IsAnnouncement(name)
}

// renews is true for a write that only says that a command is still at work: how often it comes depends on the time.
func (r request) renews() bool {
	return r.announces() && r.method == http.MethodPatch && strings.Contains(r.body, `"resourceVersion"`) && strings.Contains(r.body, `"uid"`)
}

// String is the verb and the target: "LIST services", "PATCH leases/shop.example.com", "DELETE announcement".
func (r request) String() string {
	resource, name := r.target()
	switch {
	case r.announces():
		return r.method + " " + announcement
	case r.query.Get("watch") != "":
		return "WATCH " + resource
	case name == "" && r.method == http.MethodGet:
		return "LIST " + resource
	case name == "":
		return r.method + " " + resource
	}
	return r.method + " " + resource + "/" + name
}

// short is the verb and the end of the path: "PATCH ingresses/shop.example.com", "GET akash-net/leases". A write that keeps nothing is a
// CHECK.
func (r request) short() string {
	segments := strings.Split(r.path, "/")
	method := r.method
	if method == http.MethodPatch && r.query.Has("dryRun") {
		method = "CHECK"
	}
	return method + " " + strings.Join(segments[max(len(segments)-2, 0):], "/")
}

func (r request) writes() bool { return r.method != http.MethodGet }

// proxy stands before the API server. It keeps what is asked, can hold it up, and can cut the line. What a command tells of its work by
// Events is none of it.
type proxy struct {
	user
	mu       sync.Mutex
	requests []request
	isCut    bool
	// onTheWay and answered are called with each request, before it goes to the API server and after its answer. As long as they do not
	// return, the request stands still.
	onTheWay, answered func(context.Context, request)
	// after is called when a write was answered. If it says so, the line is cut: the client gets
	// no answer, and nothing that it sends afterwards arrives.
	after func(write string) (cut bool)
	// lose is called before a write is passed on. If it says so, the answer to this one does not arrive.
	lose func(write string) bool
	// before is called before a request is passed on.
	before func(request string)
	// told is called before an Event is passed on.
	told func()
	// wire is how many bytes of bodies went both ways.
	wire atomic.Int64
	// ahead is by how much the clock of the API server is ahead, as its answers show it.
	ahead time.Duration
}

// startProxy stands between the operator and the API server.
func startProxy(t *testing.T, after func(write string) (cut bool)) *proxy {
	t.Helper()
	return startProxyOf(t, operator.config, after)
}

// startProxyOf stands before the API server of a configuration, and sends what it is sent as the user of that.
func startProxyOf(t *testing.T, config *rest.Config, after func(write string) (cut bool)) *proxy {
	t.Helper()
	const below = "/k8s/clusters/c-1" // as Rancher's proxy has it
	p := &proxy{after: after}
	p.kubeconfig = kubeconfig(t, harness.Proxy(t, config, func(r *httputil.ReverseProxy) {
		rewrite := r.Rewrite
		r.Rewrite = func(to *httputil.ProxyRequest) {
			to.Out.URL.Path = strings.TrimPrefix(to.Out.URL.Path, below)
			rewrite(to)
		}
		r.Transport = line{p, r.Transport}
		r.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	})+below)
	return p
}

type line struct {
	*proxy
	next http.RoundTripper
}

// RoundTrip sends a request on. A write that has arrived is carried out, also when the client has gone meanwhile, as on a real server.
func (l line) RoundTrip(in *http.Request) (*http.Response, error) {
	if strings.Contains(in.URL.Path, "/events.k8s.io/") {
		if l.told != nil {
			l.told()
		}
		return l.next.RoundTrip(in)
	}
	body := []byte{}
	if in.Body != nil {
		var err error
		if body, err = io.ReadAll(in.Body); err != nil {
			return nil, err
		}
	}
	r := request{method: in.Method, path: in.URL.Path, query: in.URL.Query(), body: string(body)}
	l.mu.Lock()
	isCut, onTheWay, answered := l.isCut, l.onTheWay, l.answered
	if !isCut {
		l.requests = append(l.requests, r)
	}
	l.mu.Unlock()
	if isCut {
		return nil, io.ErrUnexpectedEOF
	}
	ctx := in.Context()
	if onTheWay != nil {
		onTheWay(ctx, r)
	}
	if l.before != nil {
		l.before(r.short())
	}
	lost := r.writes() && l.lose != nil && l.lose(r.short())
	if r.writes() {
		ctx = context.WithoutCancel(ctx)
	}
	out := in.Clone(ctx)
	out.Body = io.NopCloser(bytes.NewReader(body))
	response, err := l.next.RoundTrip(out)
	if answered != nil {
		answered(in.Context(), r)
	}
	if err != nil {
		return nil, err
	}
	l.wire.Add(int64(len(body)))
	response.Body = counted{response.Body, &l.wire}
	if !r.writes() {
		if l.ahead != 0 {
			date, _ := http.ParseTime(response.Header.Get("Date"))
			response.Header.Set("Date", date.Add(l.ahead).UTC().Format(http.TimeFormat))
		}
		return response, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !lost && l.after != nil && l.after(r.short()) {
		l.isCut, lost = true, true
	}
	if lost {
		_ = response.Body.Close() // nobody reads it
		return nil, io.ErrUnexpectedEOF
	}
	return response, nil
}

// counted counts what is read.
type counted struct {
	io.ReadCloser
	sum *atomic.Int64
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Add(int64(n))
	return n, err
}

// hold calls the functions, which may be nil, with each request from now on.
func (p *proxy) hold(before, after func(context.Context, request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onTheWay, p.answered = before, after
}

// written are the writes so far, in order, without those that keep nothing.
func (p *proxy) written() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if text := r.short(); r.writes() && !strings.HasPrefix(text, "CHECK") {
			out = append(out, text)
		}
	}
	return out
}

// sent are the writes so far that are about one of the resources, in order.
func (p *proxy) sent(resources ...string) []string {
	return slices.DeleteFunc(p.written(), func(write string) bool {
		return !slices.ContainsFunc(resources, func(resource string) bool { return strings.Contains(write, " "+resource+"/") })
	})
}

// routes are the writes of Ingresses so far, and what was asked to be made of them.
func (p *proxy) routes() []string {
	return slices.DeleteFunc(p.written(), func(write string) bool { return !strings.Contains(write, "ingresses") })
}

// recorder is a proxy of the administrator, whose requests are looked at as such.
type recorder struct{ *proxy }

func record(t *testing.T) *recorder {
	t.Helper()
	return &recorder{startProxyOf(t, harness.Plane.Config, nil)}
}

// sent are the requests so far; they are forgotten.
func (r *recorder) sent() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.requests
	r.requests = nil
	return sent
}

// writesOf are the requests that write, as text, in their order. Renewals are left out.
func writesOf(requests []request) []string {
	out := []string{}
	for _, r := range requests {
		if r.writes() && !r.renews() {
			out = append(out, r.String())
		}
	}
	return out
}

// await waits for a signal, or until the test or the client is over: a request that is held must
// not outlive them.
func await(ctx context.Context, t *testing.T, signal <-chan struct{}) {
	select {
	case <-signal:
	case <-ctx.Done():
	case <-t.Context().Done():
	}
}

// arrives fails the test when a signal does not come.
func arrives(t *testing.T, what string, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(deadline):
		t.Fatalf("it never comes to this: %s", what)
	}
}
