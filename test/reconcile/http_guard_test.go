package reconcile_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// At an address that others reach, the reconciler has a certificate, and tells those who may know: tokens and rights are reviewed by the
// API server. The shipped rights are enough, with those to ask for reviews.
func TestHTTPAuthentication(t *testing.T) {
	s := serveAs(t, operator(t), "https", "0.0.0.0", "--heal").ready(t)
	reads, moves := account(t, mayGet("/state", "/metrics")), account(t, mayPost("/hostname/migrate"))
	for _, tt := range []struct {
		token, method, path string
		want                int
	}{
		{"", "GET", "/state", 401},
		{"", "GET", "/", 401},
		{"", "POST", "/hostname/migrate", 401},
		{"no.such.token", "GET", "/state", 401},
		{reads[:len(reads)-4] + "AAAA", "GET", "/state", 401},
		{reads, "GET", "/state", 200},
		{reads, "GET", "/metrics", 200},
		{reads, "GET", "/ignore-list", 403},
		{reads, "GET", "/usage", 403},
		{reads, "HEAD", "/state", 403},
		{reads, "POST", "/hostname/migrate", 403},
		{reads, "POST", "/state", 403},
		{moves, "POST", "/hostname/migrate", 422},
		{moves, "POST", "/endpoint/migrate", 403},
		{moves, "GET", "/state", 403},
		{"", "GET", "/healthz", 200},
		{"", "GET", "/health", 200},
		{"", "POST", "/healthz", 401},
		{"", "GET", "/healthz/../state", 401},
		{"", "GET", "//state", 401},
	} {
		if s.token = tt.token; tt.path == "" {
			continue
		}
		if got, body := s.asks(t, tt.method, tt.path, ""); got != tt.want {
			t.Errorf("%s %s with %.10q: %d %s", tt.method, tt.path, tt.token, got, body)
		}
	}
	s.Stops(t)
}

// On the loopback address nobody is asked who reads; who posts is. A page whose name leads here from elsewhere reads nothing.
func TestHTTPLoopback(t *testing.T) {
	s := serve(t, "--heal")
	for _, path := range []string{"/state", "/managed-hostnames", "/ignore-list", "/usage", "/version", "/metrics", "/healthz", "/readyz", "/health"} {
		if status, body := s.asks(t, http.MethodGet, path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := s.asks(t, http.MethodGet, "/state", "", "Host", "evil.example.com"); status != http.StatusMisdirectedRequest {
		t.Errorf("a name from elsewhere: %d", status)
	}
	if status, _ := s.asks(t, http.MethodPost, "/hostname/migrate", "{}"); status != http.StatusUnauthorized {
		t.Errorf("a post without a token: %d", status)
	}
	s.token = account(t)
	if status, _ := s.asks(t, http.MethodPost, "/hostname/migrate", "{}"); status != http.StatusForbidden {
		t.Errorf("a post without the right: %d", status)
	}
	s.Stops(t)
}

// At an address that others reach, the page and what it loads are shown to those who may get them, with a policy of the page's own.
func TestHTTPPage(t *testing.T) {
	s := serveAs(t, operator(t), "https", "0.0.0.0", "--heal").ready(t)
	reads, sees := account(t, mayGet("/state")), account(t, mayGet("/", "/assets/*"))
	s.token = sees
	status, page := s.asks(t, http.MethodGet, "/", "")
	assets := regexp.MustCompile(`(?:src|href)="\.(/assets/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if status != http.StatusOK || len(assets) != 3 {
		t.Fatalf("%d, it loads %q: %s", status, assets, page)
	}
	paths := []string{"/"}
	for _, m := range assets {
		paths = append(paths, m[1])
	}
	for _, path := range paths {
		for token, want := range map[string]int{"": 401, reads: 403, sees: 200} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			answer, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			policy := answer.Header.Get("Content-Security-Policy")
			if own := strings.Contains(policy, "script-src 'self'"); answer.StatusCode != want || own != (want == 200) || !strings.HasPrefix(policy, "default-src 'none'") {
				t.Errorf("%s with %.10q: %d, %s", path, token, answer.StatusCode, policy)
			}
		}
	}
	s.Stops(t)
}

// certificate writes a certificate and its key for a name.
func certificate(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	certText, keyText, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, text := range map[string][]byte{key: keyText, cert: certText} {
		if err := os.WriteFile(path+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// The certificate of the files is shown, and the next one when they are replaced. Without it nothing is served.
func TestHTTPCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, "one.example.com")
	s := serveAs(t, reconciler, "https", "", "--heal", "--leader-elect=false", "--tls-cert-file", cert, "--tls-private-key-file", key).ready(t)
	shows := func(name string) {
		t.Helper()
		harness.Eventually(t, "the certificate is to be that of "+name, func(context.Context) (bool, error) {
			c, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return false, err
			}
			defer c.Close() //nolint:errcheck // it was looked at
			return c.ConnectionState().PeerCertificates[0].VerifyHostname(name) == nil, nil
		})
	}
	shows("one.example.com")
	certificate(t, dir, "two.example.com")
	shows("two.example.com")
	s.Stops(t)
	harness.Execute(t.Context(), reconciler, "reconcile", "--watch", "--heal", "--listen", harness.FreePort(t),
		"--tls-cert-file", filepath.Join(dir, "none"), "--tls-private-key-file", key).Exits(t, 1).Says(t, "--tls-cert-file", "none: no such file")
}

// Where somebody else listens, nothing is begun.
func TestHTTPAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	harness.Execute(t.Context(), reconciler, "reconcile", "--watch", "--heal", "--listen", l.Addr().String()).Exits(t, 1).Says(t, "--listen: cannot listen at "+l.Addr().String()+": ", "address already in use")
}

// Who waits to be elected is ready, and answers from what it watches.
func TestHTTPStandby(t *testing.T) {
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.NewHost("standby")
	dir.define(t, id, host)
	leader := serveAs(t, reconciler, "http", "", "-f", dir.path).ready(t)
	routed(t, id, host, true)
	standby := serveAs(t, reconciler, "http", "", "-f", dir.path).ready(t)
	manages(t, standby, host, id)
	leader.Stops(t)
	harness.Remove(t, ingresses, id.Namespace(), host)
	routed(t, id, host, true)
	standby.Stops(t)
}

// The page of who waits to be elected follows what changes. It is read again once a minute though nothing has changed: the deadline of the
// client is too short for so many pieces of news that come no faster.
func TestHTTPStandbyFollows(t *testing.T) {
	dir, owner := newFolder(t), harness.NewOwner()
	leader := serveAs(t, reconciler, "http", "", "-f", dir.path).ready(t)
	leader.Says(t, "has no .json, .yaml, .yml files")
	standby := serveAs(t, reconciler, "http", "", "-f", dir.path).ready(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, standby.url+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	events := bufio.NewScanner(answer.Body)
	next := func() {
		for events.Scan() {
			if strings.HasPrefix(events.Text(), "data: ") {
				return
			}
		}
		t.Fatalf("the events have ended: %v", events.Err())
	}
	next()
	for n := range uint64(4) {
		dir.define(t, harness.LeaseOf(owner, n+1), harness.NewHost("follows"))
		next()
	}
	leader.Stops(t)
	standby.Stops(t)
}

// Whatever is read, the API server is asked for nothing.
func TestHTTPSendsNothing(t *testing.T) {
	var mu sync.Mutex
	var sent []string
	url := harness.Proxy(t, rights(t), func(p *httputil.ReverseProxy) {
		rewrite := p.Rewrite
		p.Rewrite = func(r *httputil.ProxyRequest) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, r.In.Method+" "+r.In.URL.String())
			rewrite(r)
		}
	})
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.NewHost("quiet")
	dir.define(t, id, host)
	s := serveAs(t, harness.Kubeconfig(t, url), "http", "", "-f", dir.path, "--leader-elect=false").ready(t)
	routed(t, id, host, true)
	harness.Create(t, "provider-services", providerHosts, providerHost(id, harness.NewHost("unclaimed")))
	manages(t, s, host, id)
	quiet := time.Now()
	harness.Eventually(t, "nothing is to be sent while all is read again and again", func(context.Context) (bool, error) {
		for _, path := range []string{"/state", "/managed-hostnames", "/ignore-list", "/usage", "/metrics", fmt.Sprintf("/ip-lease-status/%s/1/1/1", id.Owner)} {
			s.asks(t, http.MethodGet, path, "")
		}
		mu.Lock()
		defer mu.Unlock()
		for _, one := range sent {
			if !strings.Contains(one, "watch=true") {
				t.Log(one)
				quiet = time.Now()
			}
		}
		sent = nil
		return time.Since(quiet) > 3*time.Second, nil // a book answers for one
	})
	s.Stops(t)
}

// Clients that send slowly, or half of what they announce, keep nobody else from an answer, and not the program from its end.
func TestHTTPSlowClients(t *testing.T) {
	s := serve(t, "--heal")
	s.token = account(t, mayPost("/hostname/migrate"))
	half := func(text string) net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range 200 {
		half("GET /state HTTP/1.1\r\nHost: localh")
	}
	slow := half("POST /hostname/migrate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + s.token + "\r\nContent-Length: 1000\r\n\r\n{\"hostnames")
	if status, _ := s.asks(t, http.MethodGet, "/state", ""); status != http.StatusOK {
		t.Errorf("the others are answered with %d", status)
	}
	if line, err := bufio.NewReader(slow).ReadString('\n'); !strings.Contains(line, " 422 ") {
		t.Errorf("half a body: %q, %v", line, err)
	}
	if status, _ := s.asks(t, http.MethodPost, "/hostname/migrate", `{"hostnames_to_migrate": ["`+strings.Repeat("a", 70000)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %d", status)
	}
	half("GET /state HTTP/1.1\r\nHost: localh")
	s.Stops(t)
}

// What is not understood is refused before anything is begun.
func TestHTTPUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--listen", "8443"}, {"--watch", "--listen", "example.com:80"}, {"--watch", "--listen", "1.2.3.4"}, {"--watch", "--tls-cert-file", "a", "--tls-private-key-file", "b"},
		{"--watch", "--listen", "8443", "--tls-cert-file", "a"},
	} {
		harness.RunAs(t.Context(), reconciler, append([]string{"reconcile", "--heal"}, args...)...).Exits(t, 2)
	}
}
