//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// request is one request as it reached the API server.
type request struct {
	method, path string
	query        url.Values
	accept       string
	body         []byte
}

// recorder stands before the API server and keeps what is asked of it.
type recorder struct {
	next     http.RoundTripper
	mu       sync.Mutex
	requests []request
}

// RoundTrip sends a request on.
func (r *recorder) RoundTrip(in *http.Request) (*http.Response, error) {
	var body []byte
	if in.Body != nil {
		var err error
		if body, err = io.ReadAll(in.Body); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	r.requests = append(r.requests, request{in.Method, in.URL.Path, in.URL.Query(), in.Header.Get("Accept"), body})
	r.mu.Unlock()
	in.Body = io.NopCloser(bytes.NewReader(body))
	return r.next.RoundTrip(in)
}

// record runs a program against the cluster and answers what it asked of the API server.
func (b *bench) record(ctx context.Context, c *system, p program) ([]request, error) {
	transport, err := rest.TransportFor(c.Config)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(c.Config.Host)
	if err != nil {
		return nil, err
	}
	r := &recorder{next: transport}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(server) },
		Transport: r,
	})
	defer proxy.Close()
	kubeconfig, err := b.writeKubeconfig(proxy.URL)
	if err != nil {
		return nil, err
	}
	for i, arg := range p.args {
		p.args[i] = strings.ReplaceAll(arg, c.Kubeconfig, kubeconfig)
	}
	p.env = []string{"KUBECONFIG=" + kubeconfig}
	_, err = b.measure(ctx, p)
	return r.requests, err
}

// writes counts the requests that write.
func writes(requests []request) int {
	n := 0
	for _, r := range requests {
		if r.method != http.MethodGet {
			n++
		}
	}
	return n
}
