package reconcile_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	certutil "k8s.io/client-go/util/cert"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What is answered, and to whom, is tested in reconcile/serve. Here are the answers of a reconciler over a cluster.

// server is a reconciler that answers over HTTP.
type server struct {
	*harness.Process
	url, token string
	// policy is what the last answer allows a page.
	policy string
}

// client does not check certificates: each reconciler makes its own.
var client = &http.Client{
	Timeout:   harness.Deadline,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

// serve starts a reconciler that answers on the loopback address, and waits until it is ready. It does not wait to be elected.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	return serveAs(t, reconciler, "http", "", append(args, "--leader-elect=false")...)
}

// serveAs starts a reconciler that answers at a port of an address; empty for the loopback address.
func serveAs(t *testing.T, kubeconfig, scheme, address string, args ...string) *server {
	t.Helper()
	port := harness.FreePort(t)
	s := &server{Process: watchAs(t, kubeconfig, append(args, "--listen", address+":"+port)...), url: scheme + "://127.0.0.1:" + port}
	harness.Eventually(t, "the reconciler is to be ready", func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/readyz", http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
	return s
}

// asks sends a request, and returns the status and the body of the answer. Headers are pairs.
func (s *server) asks(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if request.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it has been read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	s.policy = response.Header.Get("Content-Security-Policy")
	return response.StatusCode, string(text)
}

// gets reads a path, and decodes the answer.
func gets[T any](t *testing.T, s *server, path string) (out T) {
	t.Helper()
	status, text := s.asks(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return out
}

// account makes a ServiceAccount that may get or post some paths, and returns its token.
func account(t *testing.T, verb string, paths ...string) string {
	t.Helper()
	name := fmt.Sprint("http-", harness.Number())
	for _, args := range [][]string{
		{"create", "serviceaccount", name},
		{"create", "clusterrole", name, "--verb=" + verb, "--non-resource-url=" + strings.Join(paths, ",")},
		{"create", "clusterrolebinding", name, "--clusterrole=" + name, "--serviceaccount=default:" + name},
	} {
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	token, err := harness.Token(t.Context(), harness.Plane, "default", name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// managed is a host as Akash's hostname operator shows it.
type managed struct {
	LeaseID struct {
		Owner    string `json:"owner"`
		DSeq     uint64 `json:"dseq"`
		GSeq     uint32 `json:"gseq"`
		OSeq     uint32 `json:"oseq"`
		Provider string `json:"provider"`
	}
	Namespace    string
	ExternalPort uint32
	ServiceName  string
	LastUpdate   string
}

// manages waits until a host is managed for a lease; the zero lease for none.
func manages(t *testing.T, s *server, host string, id lease.ID) (one managed) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%s is to be managed for lease %s", host, id), func(context.Context) (bool, error) {
		one = gets[map[string]managed](t, s, "/managed-hostnames")[host]
		return lease.ID{Owner: one.LeaseID.Owner, DSeq: one.LeaseID.DSeq, GSeq: one.LeaseID.GSeq, OSeq: one.LeaseID.OSeq, Provider: one.LeaseID.Provider} == id, nil
	})
	return one
}

// ignoring is a lease as Akash's operators show one that fails.
type ignoring struct {
	Hostnames []string `json:"hostnames"`
	LastError string   `json:"last-error"`
	NextTry   string   `json:"next-try"`
}

// foreign are the beginnings of the names of metrics that are not ours, as they are documented.
var foreign = []string{"akash_net_", "controller_runtime_", "workqueue_", "rest_client_", "leader_election_", "certwatcher_", "go_", "process_"}

// What Akash's operators tell, a reconciler tells of the cluster: hosts that are managed (HO-9) and no more (HO-4), leases that fail (HO-6)
// and are tried again (HO-8), addresses as far as they are granted (IP-11), and what is left (IP-12); and Prometheus gets what happens. On
// the loopback address nobody is asked who reads; who posts is, and a page whose name leads here from elsewhere reads nothing.
func TestHTTP(t *testing.T) {
	t.Parallel()
	dir, owner, other := newFolder(t), harness.NewOwner(t), harness.LeaseOf(harness.NewOwner(t), 1)
	good, bad, addressed := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2), harness.LeaseOf(owner, 3)
	ours, theirs := harness.NewHost("ours"), harness.NewHost("theirs")
	harness.Run(t.Context(), "reserve", theirs, "--lease", other.String()).Exits(t, 0)
	dir.define(t, good, ours)
	dir.define(t, bad, theirs)
	text, err := os.ReadFile(harness.Define(t, addressed, []string{
		"{name: web, expose: [{port: 8080, as: 8080, global: true, ip: public}, {port: 8443, as: 443, global: true, ip: public}]}",
		"{name: dns, expose: [{port: 5353, as: 53, protocol: UDP, global: true, ip: second}]}",
	}, []string{"{name: public}", "{name: second}"}))
	if err != nil {
		t.Fatal(err)
	}
	dir.write(t, "3.yaml", string(text))
	s := serve(t, "-f", dir.path, "--source", "http", "--max-deletes=1", "--config", harness.Configure(t, "ip: {ranges: [203.0.113.16/28]}"))

	one := manages(t, s, ours, good)
	if one.Namespace != good.Namespace() || one.ServiceName != "web" || one.ExternalPort != 80 || !strings.HasSuffix(one.LastUpdate, " +0000 UTC") {
		t.Errorf("%+v", one)
	}
	var failing ignoring
	harness.Eventually(t, "the lease is to fail whose host another one holds", func(context.Context) (bool, error) {
		list := gets[map[string]ignoring](t, s, "/ignore-list")
		failing = list[bad.String()]
		return len(list) == 1 && failing.LastError != "", nil
	})
	if !strings.Contains(failing.LastError, "host "+theirs+" is held by lease "+other.String()) || fmt.Sprint(failing.Hostnames) != "["+theirs+"]" || failing.NextTry == "" {
		t.Errorf("%+v", failing)
	}
	if book := gets[map[string]any](t, s, "/state"); book["kind"] != "Book" || book["hosts"] == nil || book["pools"] == nil {
		t.Errorf("%v", book)
	}
	prometheus(t, s)

	status := fmt.Sprintf("/ip-lease-status/%s/3/1/1", owner)
	for _, name := range []string{"web-ip-8080-tcp", "dns-ip-53-udp"} {
		harness.Eventually(t, name+" is to be written", func(context.Context) (bool, error) {
			return harness.Find(t, kinds.Service.Resource(), addressed.Namespace(), name) != nil, nil
		})
	}
	if code, text := s.asks(t, http.MethodGet, status, ""); code != http.StatusNoContent || text != "" {
		t.Errorf("before anything is granted: %d %s", code, text)
	}
	want := fmt.Sprintf(`[{"Port":8080,"ExternalPort":8080,"ServiceName":"web","IP":%q,"Protocol":"TCP"}]`, grant(t, addressed, "web-ip-8080-tcp"))
	harness.Eventually(t, "the granted address is to be told: "+want, func(context.Context) (bool, error) {
		_, text := s.asks(t, http.MethodGet, status, "")
		return strings.Join(strings.Fields(text), "") == want, nil
	})
	if usage := gets[map[string]uint](t, s, "/usage"); usage["Available"] != 16 || usage["InUse"] != 2 || usage["Free"] != 14 {
		t.Errorf("%v", usage)
	}

	harness.Run(t.Context(), "release", other.Group().String()).Exits(t, 0)
	manages(t, s, theirs, bad)
	harness.Eventually(t, "the lease is to fail no more, once its command has ended", func(context.Context) (bool, error) {
		return len(gets[map[string]ignoring](t, s, "/ignore-list")) == 0, nil
	})
	dir.remove(t, good)
	manages(t, s, ours, lease.ID{})

	for _, tt := range []struct {
		method, path, host, token string
		want                      int
	}{
		{http.MethodGet, "/version", "", "", http.StatusOK},
		{http.MethodGet, "/state", "evil.example.com", "", http.StatusMisdirectedRequest},
		{http.MethodPost, "/hostname/migrate", "", "", http.StatusUnauthorized},
		{http.MethodPost, "/hostname/migrate", "", account(t, "get", "/state"), http.StatusForbidden},
	} {
		s.token = tt.token
		if got, body := s.asks(t, tt.method, tt.path, "{}", "Host", tt.host); got != tt.want {
			t.Errorf("%+v: %d %s", tt, got, body)
		}
	}
	s.Stops(t)
}

// prometheus fails the test unless the metrics are those that are documented, and tell what has happened; promtool has nothing against ours.
func prometheus(t *testing.T, s *server) {
	t.Helper()
	_, text := s.asks(t, http.MethodGet, "/metrics", "")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Error(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "akash_net_") {
			t.Error(p)
		}
	}
	for _, name := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(foreign, func(prefix string) bool { return strings.HasPrefix(name[1], prefix) }) {
			t.Errorf("%s is not documented", name[1])
		}
	}
	for _, want := range []string{
		`(?m)^akash_net_failing_leases 1$`, `(?m)^akash_net_hosts\{state="Active"\} [1-9]`, `(?m)^akash_net_leases\{state="Active"\} [1-9]`,
		`(?m)^akash_net_commands_total\{action="apply",result="failed"\} [1-9]`, `(?m)^akash_net_command_duration_seconds_count\{action="apply"\} [1-9]`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("nothing is %s", want)
		}
	}
}

// grant grants a Service the address that it asks for, as MetalLB does.
func grant(t *testing.T, id lease.ID, name string) (address string) {
	t.Helper()
	o := harness.Need(t, kinds.Service.Resource(), id.Namespace(), name)
	for key, value := range o.GetAnnotations() {
		if strings.HasSuffix(key, "/loadBalancerIPs") {
			address = value
		}
	}
	err := unstructured.SetNestedSlice(o.Object, []any{map[string]any{"ip": address}}, "status", "loadBalancer", "ingress")
	if err == nil {
		_, err = harness.Objects.Resource(kinds.Service.Resource()).Namespace(id.Namespace()).UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// At an address that others reach, the reconciler has a certificate, and tells those who may know: tokens and rights are reviewed by the
// API server. The shipped rights are enough, with those to ask for reviews. The page and what it loads have a policy of their own.
func TestHTTPAuthentication(t *testing.T) {
	t.Parallel()
	_, operator, err := harness.Operator(t.Context(), "system:auth-delegator")
	if err != nil {
		t.Fatal(err)
	}
	s := serveAs(t, operator, "https", "0.0.0.0", "-f", newFolder(t).path, "--leader-elect=false")
	reads, moves, sees := account(t, "get", "/state", "/metrics"), account(t, "post", "/hostname/migrate"), account(t, "get", "/", "/assets/*")
	s.token = sees
	_, page := s.asks(t, http.MethodGet, "/", "")
	assets := regexp.MustCompile(`(?:src|href)="\.(/assets/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(assets) != 3 {
		t.Fatalf("it loads %q: %s", assets, page)
	}
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
		{reads, "GET", "/usage", 403},
		{reads, "HEAD", "/state", 403},
		{reads, "POST", "/hostname/migrate", 403},
		{moves, "POST", "/hostname/migrate", 422},
		{moves, "POST", "/endpoint/migrate", 403},
		{moves, "GET", "/state", 403},
		{"", "GET", "/healthz", 200},
		{"", "POST", "/healthz", 401},
		{"", "GET", "/healthz/../state", 401},
		{"", "GET", "//state", 401},
		{reads, "GET", "/", 403},
		{sees, "GET", "/", 200},
		{"", "GET", assets[0][1], 401},
		{reads, "GET", assets[0][1], 403},
		{sees, "GET", assets[0][1], 200},
	} {
		s.token = tt.token
		if got, body := s.asks(t, tt.method, tt.path, ""); got != tt.want {
			t.Errorf("%s %s with %.10q: %d %s", tt.method, tt.path, tt.token, got, body)
		}
		if own := strings.Contains(s.policy, "script-src 'self'"); own != (tt.token == sees) {
			t.Errorf("%s with %.10q allows %q", tt.path, tt.token, s.policy)
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
	folder{dir}.write(t, "tls.key", string(keyText))
	folder{dir}.write(t, "tls.crt", string(certText))
	return filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
}

// The certificate of the files is shown, and the next one when they are replaced. Without it nothing is served.
func TestHTTPCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t, dir, "one.example.com")
	s := serveAs(t, reconciler, "https", "", "-f", newFolder(t).path, "--leader-elect=false", "--tls-cert-file", cert, "--tls-private-key-file", key)
	for _, name := range []string{"one.example.com", "two.example.com"} {
		certificate(t, dir, name)
		harness.Eventually(t, "the certificate is to be that of "+name, func(context.Context) (bool, error) {
			c, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return false, err
			}
			defer c.Close() //nolint:errcheck // it was looked at
			return c.ConnectionState().PeerCertificates[0].VerifyHostname(name) == nil, nil
		})
	}
	s.Stops(t)
	harness.Execute(t.Context(), reconciler, "reconcile", "--watch", "--heal", "--listen", harness.FreePort(t),
		"--tls-cert-file", filepath.Join(dir, "none"), "--tls-private-key-file", key).Exits(t, 1).Says(t, "--tls-cert-file", "none: no such file")
}

// Who waits to be elected is ready, answers from what it watches, and its page follows what changes. The page is read again once a minute
// though nothing has changed: the deadline of the client is too short for so many pieces of news that come no faster.
func TestHTTPStandby(t *testing.T) {
	dir, owner := newFolder(t), harness.NewOwner(t)
	leader := serveAs(t, reconciler, "http", "", "-f", dir.path)
	leader.Says(t, "has no .json, .yaml, .yml files")
	standby := serveAs(t, reconciler, "http", "", "-f", dir.path)
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
	for n := range uint64(3) {
		id, host := harness.LeaseOf(owner, n+1), harness.NewHost("follows")
		dir.define(t, id, host)
		manages(t, standby, host, id)
		next()
	}
	leader.Stops(t)
	standby.Stops(t)
}

// Whatever is read, the API server is asked for nothing, though what is told is new.
func TestHTTPSendsNothing(t *testing.T) { // alone: it would look at the runs of other tests
	var mu sync.Mutex
	var sent []string
	url := harness.Proxy(t, rights(t), func(p *httputil.ReverseProxy) {
		rewrite := p.Rewrite
		p.Rewrite = func(r *httputil.ProxyRequest) {
			mu.Lock()
			if !r.In.URL.Query().Has("watch") {
				sent = append(sent, r.In.Method+" "+r.In.URL.String())
			}
			mu.Unlock()
			rewrite(r)
		}
	})
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("quiet")
	dir.define(t, id, host)
	s := serveAs(t, harness.Kubeconfig(t, url), "http", "", "-f", dir.path, "--leader-elect=false")
	manages(t, s, host, id)
	s.Says(t, "is applied: 1 host")
	harness.Eventually(t, "nothing is to be sent while something new is read", func(context.Context) (bool, error) {
		other, news := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("news")
		labels, err := json.Marshal(other.Labels())
		if err != nil {
			return false, err
		}
		mu.Lock()
		sent = nil
		mu.Unlock()
		harness.Create(t, "provider-services", kinds.ProviderHost.Resource(), fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: ProviderHost,
			metadata: {name: %s, namespace: lease, labels: %s},
			spec: {owner: %s, provider: %s, hostname: %[1]s, dseq: 1, gseq: 1, oseq: 1, service_name: web, external_port: 80}}`, news, labels, other.Owner, other.Provider))
		for text := ""; !strings.Contains(text, news); {
			for _, path := range []string{"/managed-hostnames", "/ignore-list", "/usage", "/metrics", "/ip-lease-status/" + id.Owner + "/1/1/1", "/state"} {
				_, text = s.asks(t, http.MethodGet, path, "")
			}
		}
		mu.Lock()
		defer mu.Unlock()
		t.Log(sent)
		return len(sent) == 0, nil
	})
	s.Stops(t)
}

// Clients that send slowly, or half of what they announce, keep nobody else from an answer, and not the program from its end.
func TestHTTPSlowClients(t *testing.T) {
	harness.NeedsLong(t) // until the reconciler loses patience
	t.Parallel()
	s := serve(t, "-f", newFolder(t).path)
	s.token = account(t, "post", "/hostname/migrate")
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
	half("GET /state HTTP/1.1\r\nHost: localh")
	s.Stops(t)
}

// The host and the endpoint that are named move to the service that uses them, and nothing else (MG-3, MG-6); the lease keeps them when the
// first one is closed (MG-7). A lease that does not exist, or is another owner's, gets nothing (MG-1), nor one that does not use it (MG-2).
func TestMigrate(t *testing.T) {
	t.Parallel()
	dir, owner, config := newFolder(t), harness.NewOwner(t), harness.Configure(t, "ip: {ranges: [203.0.113.64/28]}")
	first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	hosts := []string{harness.NewHost("kittens"), harness.NewHost("puppies")}
	define := func(id lease.ID, service string) {
		text, err := os.ReadFile(harness.Define(t, id, []string{fmt.Sprintf(
			"{name: %s, expose: [{port: 1234, as: 80, global: true, hosts: [%s]}, {port: 82, as: 82, global: true, ip: public}, {port: 81, as: 81, global: true, ip: other}]}",
			service, strings.Join(hosts, ", "))}, []string{"{name: public}", "{name: other}"}))
		if err != nil {
			t.Fatal(err)
		}
		dir.write(t, fmt.Sprintf("%d.yaml", id.DSeq), string(text))
	}
	define(first, "web")
	harness.Run(t.Context(), "apply", "-f", dir.path, "--wait=false", "--config", config).Exits(t, 0)
	define(second, "hostly-service")
	s := serve(t, "-f", dir.path, "--source", "migrates", "--max-deletes=1", "--config", config)
	s.token = account(t, "post", "/hostname/migrate", "/endpoint/migrate")
	migrates := func(what string, to lease.ID, names ...string) (int, string) {
		body, err := json.Marshal(map[string]any{what + "s_to_migrate": names, "destination_dseq": to.DSeq, "destination_gseq": to.GSeq})
		if err != nil {
			t.Fatal(err)
		}
		return s.asks(t, http.MethodPost, "/"+what+"/migrate", string(body), "Akash-Owner", to.Owner)
	}
	has := func(id lease.ID, host string) {
		t.Helper()
		manages(t, s, host, id)
		for _, one := range []lease.ID{first, second} {
			routed(t, one, host, one == id)
		}
	}
	harness.Eventually(t, "the reconciler is to have kept the second lease's definition", func(context.Context) (bool, error) {
		_, text := migrates("hostname", second, "foobar.org")
		return !strings.Contains(text, "destination deployment does not exist"), nil
	})
	for _, tt := range []struct {
		what, name string
		to         lease.ID
		says       string
	}{
		{"hostname", hosts[0], harness.LeaseOf(owner, 7), "destination deployment does not exist"},
		{"hostname", hosts[0], harness.LeaseOf(harness.NewOwner(t), 2), "destination deployment does not exist"},
		{"hostname", "foobar.org", second, `the hostname "foobar.org" is not used by this deployment`},
		{"endpoint", "none", second, `the endpoint "none" does not exist in the destination deployment`},
	} {
		if status, text := migrates(tt.what, tt.to, tt.name); status != http.StatusBadRequest || !strings.Contains(text, tt.says) {
			t.Errorf("%+v: %d %s", tt, status, text)
		}
	}
	has(first, hosts[0])
	for range 2 {
		if status, text := migrates("hostname", second, hosts[0]); status != http.StatusOK || text != fmt.Sprintf("{\n  \"transferred\": [\n    %q\n  ]\n}\n", hosts[0]) {
			t.Errorf("%d %s", status, text)
		}
	}
	has(second, hosts[0])
	has(first, hosts[1])
	if one := manages(t, s, hosts[0], second); one.ServiceName != "hostly-service" || one.ExternalPort != 80 {
		t.Errorf("%+v", one)
	}
	if status, text := migrates("endpoint", second, "public"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	serves := func(id lease.ID, name string) bool {
		return harness.Find(t, kinds.Service.Resource(), id.Namespace(), name) != nil
	}
	harness.Eventually(t, "the second lease is to have the one endpoint", func(context.Context) (bool, error) {
		return serves(second, "hostly-service-ip-82-tcp") && !serves(first, "web-ip-82-tcp") && serves(first, "web-ip-81-tcp") && !serves(second, "hostly-service-ip-81-tcp"), nil
	})
	dir.remove(t, first)
	released(t, first)
	has(second, hosts[0])
	has(second, hosts[1]) // it was withheld
	s.Stops(t)
}
