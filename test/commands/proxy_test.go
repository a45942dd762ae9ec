package commands

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// proxy stands before the API server. It keeps the writes, as text ("PATCH ingresses/shop.example.com"),
// and can cut the line.
type proxy struct {
	kubeconfig string

	mu     sync.Mutex
	writes []string
	// after is called when a write was answered. If it says so, the line is cut: the client gets
	// no answer, and nothing that it sends afterwards arrives.
	after func(write string) (cut bool)
	isCut bool
	// lose is called before a write is passed on. If it says so, the answer to this one does not arrive.
	lose func(write string) bool
	// before is called before a request is passed on.
	before func(request string)
	// told is called before an Event is passed on. Events are written beside the work of a command, and are no writes of it.
	told func()
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
	p.kubeconfig = harness.Kubeconfig(t, harness.Proxy(t, config, func(r *httputil.ReverseProxy) {
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

func (l line) RoundTrip(in *http.Request) (*http.Response, error) {
	l.mu.Lock()
	isCut := l.isCut
	l.mu.Unlock()
	if isCut {
		return nil, io.ErrUnexpectedEOF
	}
	if strings.Contains(in.URL.Path, "/events.k8s.io/") {
		if l.told != nil {
			l.told()
		}
		return l.next.RoundTrip(in)
	}
	segments := strings.Split(in.URL.Path, "/")
	method := in.Method
	if method == http.MethodPatch && in.URL.Query().Has("dryRun") {
		method = "CHECK"
	}
	write := method + " " + strings.Join(segments[max(len(segments)-2, 0):], "/")
	if l.before != nil {
		l.before(write)
	}
	if in.Method == http.MethodGet {
		response, err := l.next.RoundTrip(in)
		if err == nil && l.ahead != 0 {
			date, _ := http.ParseTime(response.Header.Get("Date"))
			response.Header.Set("Date", date.Add(l.ahead).UTC().Format(http.TimeFormat))
		}
		return response, err
	}
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	lost := l.lose != nil && l.lose(write)
	out := in.Clone(context.WithoutCancel(in.Context()))
	out.Body = io.NopCloser(bytes.NewReader(body))
	response, err := l.next.RoundTrip(out)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, write)
	if err == nil && lost {
		_ = response.Body.Close() // nobody reads it
		return nil, io.ErrUnexpectedEOF
	}
	if err == nil && l.after != nil && l.after(write) {
		l.isCut = true
		_ = response.Body.Close() // nobody reads it
		return nil, io.ErrUnexpectedEOF
	}
	return response, err
}

// sent are the writes so far that are about one of the resources, in order.
func (p *proxy) sent(resources ...string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []string{}
	for _, write := range p.writes {
		for _, resource := range resources {
			if strings.Contains(write, " "+resource+"/") && !strings.HasPrefix(write, "CHECK") {
				out = append(out, write)
			}
		}
	}
	return out
}

// routes are the writes of Ingresses so far, and what was asked to be made of them.
func (p *proxy) routes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.writes), func(write string) bool {
		return !strings.Contains(write, "ingresses") || strings.HasPrefix(write, "CHECK")
	})
}
