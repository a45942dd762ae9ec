package ledger_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// spoil changes the requests that write claims.
func spoil(change func(*http.Request)) func(*rest.Config) {
	return func(connection *rest.Config) {
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPatch && ofClaim(r) {
					r = r.Clone(r.Context())
					change(r)
				}
				return next.RoundTrip(r)
			})
		})
	}
}

// ofClaim is true for a request about one claim: about neither an announcement nor a definition.
func ofClaim(r *http.Request) bool {
	_, name, found := strings.Cut(r.URL.Path, "/leases/")
	return found && !state.IsAnnouncement(name) && !kept.IsName(name)
}

// behind makes the first write to a claim wait until others have done their work.
func behind(name string, work func()) func(*rest.Config) {
	var once sync.Once
	return spoil(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/"+name) {
			once.Do(work)
		}
	})
}

// edit changes the body of a request.
func edit(t *testing.T, r *http.Request, change func([]byte) []byte) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	body = change(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// newOnly is the resource version that keeps an apply from changing a claim that is there.
var newOnly = regexp.MustCompile(`,"resourceVersion":"1"`)

// With force, and not only for a claim that is to be made, two owners have one host: the check has
// to find it. Without, it finds nothing.
func TestForceIsFoundOut(t *testing.T) {
	for name, force := range map[string]bool{"as it is": false, "forced": true} {
		t.Run(name, func(t *testing.T) {
			const host = "forced.example.com"
			h, cfg := newHistory(), settings(t, "10.221.0.0/29")
			first := newClient(t, cfg)
			try := func(c *client, group int) {
				o, call := op{verb: reserve, group: group}, h.now()
				o.out, o.took = c.result(t, reserve, c.reserve(t.Context(), groupLease("force", group), "", host))
				h.add(host, call, o)
			}
			second := newClient(t, cfg, spoil(func(r *http.Request) {
				if force {
					r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "force=false", "force=true", 1)
					edit(t, r, func(body []byte) []byte { return newOnly.ReplaceAll(body, nil) })
				}
			}), behind(host, func() { try(first, 0) }))
			try(second, 2)
			if legal := h.check(t, paths); legal == force {
				t.Errorf("forced: %v; linearizable: %v", force, legal)
			}
			for _, group := range []int{0, 2} {
				if err := first.release(t.Context(), groupLease("force", group)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

var runMark = regexp.MustCompile(`,\\"run\\":\\"[^"\\]*\\"`)
