package commands

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

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

func (r request) writes() bool { return r.method != http.MethodGet }

// recorder stands before the API server and keeps what is asked of it.
type recorder struct {
	user
	mu       sync.Mutex
	requests []request
	// before and after are called on the way to the API server and back.
	before, after func(context.Context, request)
}

// hold calls the functions, which may be nil, with each request from now on: before it goes to
// the API server, and after its answer. As long as they do not return, the request stands still.
func (r *recorder) hold(before, after func(context.Context, request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before, r.after = before, after
}

// record starts a recorder.
func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.kubeconfig = kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
		p.Transport = through{r, p.Transport}
		p.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}))
	return r
}

// through sends requests on. A write that has arrived is carried out, also when the client has
// gone meanwhile, as on a real server.
type through struct {
	*recorder
	next http.RoundTripper
}

func (p through) RoundTrip(in *http.Request) (*http.Response, error) {
	if strings.Contains(in.URL.Path, "/events.k8s.io/") { // what a command tells of its work is none of it
		return p.next.RoundTrip(in)
	}
	body := []byte{}
	if in.Body != nil {
		var err error
		if body, err = io.ReadAll(in.Body); err != nil {
			return nil, err
		}
	}
	r := request{method: in.Method, path: in.URL.Path, query: in.URL.Query(), body: string(body)}
	p.mu.Lock()
	p.requests = append(p.requests, r)
	before, after := p.before, p.after
	p.mu.Unlock()
	ctx := in.Context()
	if before != nil {
		before(ctx, r)
	}
	if r.writes() {
		ctx = context.WithoutCancel(ctx)
	}
	out := in.Clone(ctx)
	out.Body = io.NopCloser(bytes.NewReader(body))
	response, err := p.next.RoundTrip(out)
	if after != nil {
		after(in.Context(), r)
	}
	return response, err
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

// pass waits for a signal, or until the test or the client is over: a request that is held must
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
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	select {
	case <-signal:
	case <-ctx.Done():
		t.Fatalf("it never comes to this: %s", what)
	}
}
