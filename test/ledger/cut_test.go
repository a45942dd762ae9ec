package ledger_test

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// cutter ends a process at one of its requests: from there on none of them reaches the server, and
// none is answered, so that the run stands still for good, as a killed one does.
type cutter struct {
	mu   sync.Mutex
	seen int
	// at is the request that is the last, counted from 1; 0 cuts nothing. With after, it still
	// reaches the server, and only its answer is lost.
	at    int
	after bool
	// claim is the only one whose writes count; empty is for all requests.
	claim string
	last  string
	dead  chan struct{}
}

func newCutter(at int, after bool) *cutter {
	return &cutter{at: at, after: after, dead: make(chan struct{})}
}

func (c *cutter) through(connection *rest.Config) {
	connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return c.roundTrip(next, r) })
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// afterWriteOf ends a process once its first write of a claim has reached the server.
func afterWriteOf(claim string) *cutter {
	c := newCutter(1, true)
	c.claim = claim
	return c
}

func (c *cutter) counts(r *http.Request) bool {
	if c.claim != "" {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/leases/"+c.claim)
	}
	return counts(r)
}

// counts is true for the requests that are cut: the writes, the reads of one object, and the list
// of the claims, or of announcements. The other lists come before any write, or between two of these.
func counts(r *http.Request) bool {
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	return r.Method != http.MethodGet || last == "leases" || strings.Contains(r.URL.Path, "/leases/")
}

func (c *cutter) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	over := c.at > 0 && c.seen >= c.at
	if c.counts(r) && !over {
		c.seen++
	}
	last := c.at > 0 && c.seen >= c.at && !over
	if last {
		c.last = r.Method + " " + r.URL.Path
	}
	c.mu.Unlock()
	if over {
		select {} // the process is dead
	}
	if !last {
		return next.RoundTrip(r)
	}
	if c.after {
		if response, err := next.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
	}
	close(c.dead)
	select {}
}
