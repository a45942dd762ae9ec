package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
)

// However many requests have tokens that nobody knows, the log says so once a minute.
func TestUnknownTokensDoNotFillTheLog(t *testing.T) {
	reviews := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": {"error": "invalid bearer token"}}`))
	})
	filter, err := guarded(false)(&rest.Config{Host: "http://api.example.com"}, &http.Client{Transport: answering{reviews}})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	guarded, err := filter(funcr.New(func(_, text string) { said = append(said, text) }, funcr.Options{}), http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for range 3 {
			for range 50 {
				if code, body := ask(guarded, "GET", "/state", "", "Authorization", "Bearer unknown"); code != 401 {
					t.Fatalf("%d %s", code, body)
				}
			}
			time.Sleep(time.Minute)
		}
	})
	if len(said) != 3 || !strings.Contains(said[0], "invalid bearer token") {
		t.Errorf("the log says %d times: %q", len(said), said)
	}
}

// answering is a server as a transport.
type answering struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
