package serve

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
)

// answering is a server as a transport.
type answering struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// reviewed is an API server that knows the tokens "anna" and "bert", of whom anna may do everything. Without words it refuses all requests.
func reviewed(t *testing.T, log logr.Logger, words *int) http.Handler {
	t.Helper()
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if *words--; *words < 0 {
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
			_, _ = fmt.Fprintf(w, `{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": {"allowed": %t}}`, strings.Contains(string(body), "anna"))
			return
		}
		status := `{"error": "invalid bearer token"}`
		for _, name := range []string{"anna", "bert"} {
			if strings.Contains(string(body), name) {
				status = fmt.Sprintf(`{"authenticated": true, "user": {"username": %q}}`, name)
			}
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": %s}`, status)
	})
	v, err := newReview(&rest.Config{Host: "http://api.example.com", Transport: answering{server}}, log, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "OK")
	}))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// from asks as a client with an address.
func from(h http.Handler, address, token string) int {
	r := httptest.NewRequest(http.MethodGet, "/state", http.NoBody)
	r.RemoteAddr = address + ":1"
	r.Header.Set("Authorization", token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// 401 is only for a token that the API server has refused: where it does not answer, the answer is 503. Who sends many unknown tokens
// keeps no other client out, asks little of the API server, and does not fill the log.
func TestReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		words := 1000
		h := reviewed(t, funcr.New(func(_, text string) { said = append(said, text) }, funcr.Options{}), &words)
		for token, want := range map[string]int{"Bearer anna": 200, "bearer anna": 200, "Bearer bert": 403, "Bearer nobody": 401, "Basic anna": 401, "Bearer": 401, "": 401} {
			if code := from(h, "192.0.2.1", token); code != want {
				t.Errorf("%q: %d, want %d", token, code, want)
			}
		}
		time.Sleep(time.Minute)
		asked := words
		for n := range 10_000 {
			switch code := from(h, "192.0.2.66", fmt.Sprint("Bearer made-up-", n)); {
			case n < refusalsAtOnce && code != 401, n > 2*refusalsAtOnce && code != 429:
				t.Fatalf("the unknown token %d: %d", n, code)
			}
		}
		if asked -= words; asked > 2*refusalsAtOnce {
			t.Errorf("unknown tokens of one client have cost %d reviews", asked)
		}
		if code := from(h, "192.0.2.1", "Bearer anna"); code != 200 {
			t.Errorf("beside them: %d", code)
		}
		if len(said) != 2 || !strings.Contains(said[0], "does not know the token") {
			t.Errorf("the log says %q", said)
		}
		time.Sleep(2 * remembered)
		words = 0
		for address, token := range map[string]string{"192.0.2.1": "Bearer anna", "192.0.2.2": "Bearer nobody"} {
			if code := from(h, address, token); code != 503 {
				t.Errorf("%s, and the API server does not answer: %d", token, code)
			}
		}
	})
}

// A client that holds many connections keeps no other one out, and all together are bounded. One that ends makes place.
func TestBoundedConnections(t *testing.T) {
	b := &bounded{of: map[netip.Prefix]int{}}
	client := func(n int) netip.Prefix { return clientOf(net.JoinHostPort(fmt.Sprintf("192.0.2.%d", n), "1")) }
	for n := range mostOfClient + 1 {
		if b.count(client(1), 1) != (n < mostOfClient) {
			t.Errorf("connection %d of a client", n)
		}
	}
	for n := range mostOfAll {
		if b.count(client(2+n%16), 1) != (n < mostOfAll-mostOfClient) {
			t.Errorf("connection %d of others", n)
		}
	}
	b.count(client(2), -1)
	if !b.count(client(99), 1) || b.count(client(99), 1) {
		t.Errorf("of %d connections one has ended, and %d are there", mostOfAll, b.all)
	}
	if clientOf("[2001:db8::1]:1") != clientOf("[2001:db8::2]:1") || clientOf("[2001:db8:0:1::1]:1") == clientOf("[2001:db8::1]:1") || clientOf("[::ffff:192.0.2.1]:1") != client(1) {
		t.Error("clients are not told apart")
	}
}
