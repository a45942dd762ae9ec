package cluster

import (
	"net/http"
	"sync"
	"time"
)

// clock is the API server's clock, taken from the Date header of its answers (RFC 9110). The client's own clock only
// measures the time since the last answer: it may be hours off.
type clock struct {
	mu     sync.Mutex
	server time.Time
	seen   time.Time
}

// Now returns the API server's time, or the client's before the first answer.
func (c *Cluster) Now() time.Time {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	if c.clock.server.IsZero() {
		return time.Now()
	}
	return c.clock.server.Add(time.Since(c.clock.seen))
}

func (c *clock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return response, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.mu.Lock()
			// The header is rounded down to seconds, so the later of two estimates is closer.
			if now := time.Now(); date.After(c.server.Add(now.Sub(c.seen))) || c.server.IsZero() {
				c.server, c.seen = date, now
			}
			c.mu.Unlock()
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
