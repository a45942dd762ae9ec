package harness

import (
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// Proxy starts a reverse proxy for the API server of a configuration, which runs until the test ends; edit configures
// it. It returns the proxy's URL.
func Proxy(t testing.TB, config *rest.Config, edit func(*httputil.ReverseProxy)) string {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(server) },
		Transport: transport, FlushInterval: -1,
	}
	edit(proxy)
	web := httptest.NewServer(proxy)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

// Kubeconfig writes a kubeconfig with a server and no user, and returns its path.
func Kubeconfig(t testing.TB, server string) string {
	t.Helper()
	return File(t, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
  clusters: [{name: test, cluster: {server: %q}}],
  contexts: [{name: test, context: {cluster: test}}]}`, server))
}
