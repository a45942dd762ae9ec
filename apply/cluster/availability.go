package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// outage is how long a run waits for an API server that has answered before and does not any more: a
// restart takes a few seconds, a change of leaders behind a load balancer some more. Where requests
// have a time limit of their own (--request-timeout), that is it.
const outage = 30 * time.Second

// outageBackoff is the backoff of a connection.
var outageBackoff = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 8, Cap: time.Second}

// AwayError says that the API server stopped answering while a run was under way, and did not come
// back in time. What the run had written stays, with its marks: nothing more can be known, and
// nothing taken back. The same command goes on from there.
type AwayError struct {
	Host  string
	After time.Duration
	Err   error
	// Unchanged is true where no write had been sent to the server before.
	Unchanged bool
	// Resource is set where the rest of the API answers, and only this resource does not; Behind says what
	// stands behind it.
	Resource schema.GroupVersionResource
	Behind   string
}

func (e *AwayError) Error() string {
	if e.Resource.Resource != "" {
		return fmt.Sprintf("%s is not served at the moment, while the rest of the API is: %s: %v", e.Resource.GroupResource(), e.Behind, e.Err)
	}
	return fmt.Sprintf("the API server at %s has stopped answering, for %s now: %v", e.Host, e.After.Round(100*time.Millisecond), e.Err)
}

func (e *AwayError) Unwrap() error { return e.Err }

// IsAway is true for what an AwayError has ended.
func IsAway(err error) bool {
	_, ok := errors.AsType[*AwayError](err)
	return ok
}

// availability says whether the API server answers. The requests of a run share it, so that they wait
// for an outage once and not each of them anew.
type availability struct {
	patience time.Duration
	// backoff says how often a server that does not answer is asked again.
	backoff wait.Backoff

	mu sync.Mutex
	// known is true once there was an answer: a server that never gave one is more likely not there.
	known bool
	// since is when it was first missed; zero while it answers.
	since time.Time
	// lost is what the run gave up with, and lostAt when; nil while it answers.
	lost   *AwayError
	lostAt time.Time
	// wrote is true once a write was sent.
	wrote bool

	// conflicts counts the writes that were refused because what they rest on has changed.
	conflicts atomic.Int64
}

func (r *availability) writes() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote = true
}

func (r *availability) unchanged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.wrote
}

func (r *availability) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since, r.lost = time.Time{}, nil
}

// giveUp notes that the server was waited for long enough.
func (r *availability) giveUp(err *AwayError) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost, r.lostAt = err, time.Now()
	return err
}

// gaveUp is the error for a request that begins right after the run gave up: each would wait for a server that accepts
// requests and answers none. Later ones are sent, in case it is back.
func (r *availability) gaveUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil || time.Since(r.lostAt) >= r.backoff.Cap {
		return nil
	}
	return r.lost
}

// wrap notes that something answers, whatever it says.
func (r *availability) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil {
			r.mu.Lock()
			r.known = true
			r.mu.Unlock()
		}
		return response, err
	})
}

// missed says for how long there has been no answer, at least since the moment first, and whether
// that is worth waiting for.
func (r *availability) missed(first time.Time) (gone time.Duration, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		r.since = first
	}
	if r.since.Before(first) {
		first = r.since
	}
	return time.Since(first), r.known
}

// Read does one read, and again as long as no answer comes.
func (c *Cluster) Read(ctx context.Context, do func() error) error {
	return c.ReadOf(ctx, schema.GroupVersionResource{}, do)
}

// ReadOf is Read of a resource that another server than the API server may stand behind: where that one is
// down, and the API server is not, it is not waited for.
func (c *Cluster) ReadOf(ctx context.Context, resource schema.GroupVersionResource, do func() error) error {
	return c.persist(ctx, resource, isSilent, func() error {
		leave, err := c.enter(ctx)
		if err != nil {
			return err
		}
		defer leave()
		return do()
	})
}

// Write does one write, and again as long as it does not get through: what may have taken effect is
// for the caller to look at. A write that has begun is carried to its end, also when the run is
// interrupted meanwhile: only then is it known what there is to take back. A deadline stays.
//
// The gate of the context, if it has one, is asked first.
func (c *Cluster) Write(ctx context.Context, do func(context.Context) error) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	return c.persist(ctx, schema.GroupVersionResource{}, isUnsent, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.drafts == nil {
			c.availability.writes()
		}
		leave, err := c.enter(ctx)
		if err != nil {
			return err
		}
		defer leave()
		write := context.WithoutCancel(ctx)
		if end, bounded := ctx.Deadline(); bounded {
			var cancel context.CancelFunc
			write, cancel = context.WithDeadline(write, end)
			defer cancel()
		}
		err = do(write)
		if IsOwned(err) || IsOvertaken(err) {
			c.availability.conflicts.Add(1)
		}
		return err
	})
}

// Conflicts counts the writes that were refused because what they rest on has changed. Who has written meanwhile may have
// taken the command for dead.
func (c *Cluster) Conflicts() int64 { return c.availability.conflicts.Load() }

// persist repeats a request as long as its error says that the server is away.
func (c *Cluster) persist(ctx context.Context, resource schema.GroupVersionResource, away func(error) bool, do func() error) error {
	backoff, first, alone := c.availability.backoff, time.Time{}, 0
	if err := c.availability.gaveUp(); err != nil {
		return err
	}
	for {
		err := do()
		switch {
		case ctx.Err() != nil:
			return err
		case !away(err):
			if err == nil || isAnswer(err) {
				c.availability.answered()
			}
			return err
		}
		if isBehind(resource, err) && c.answers(ctx) {
			if alone++; alone == aloneAtMost {
				return &AwayError{Host: c.host, Err: err, Unchanged: c.availability.unchanged(), Resource: resource, Behind: c.behind(ctx, resource)}
			}
		}
		if first.IsZero() {
			first = time.Now()
		}
		gone, known := c.availability.missed(first)
		if !known {
			return err
		}
		if gone >= c.availability.patience {
			return c.availability.giveUp(&AwayError{Host: c.host, After: gone, Err: err, Unchanged: c.availability.unchanged()})
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(backoff.Step(), c.availability.patience-gone)):
		}
	}
}

// isSilent is true where a read got no answer, or one that says only that the server cannot answer
// now: a load balancer's without a server behind it, or a server's that is starting.
func isSilent(err error) bool {
	status, ok := statusOf(err)
	if !ok {
		return err != nil
	}
	switch status.Code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return strings.Contains(status.Message, "server is starting")
	}
	return false
}

// isUnsent is true where a write certainly took no effect, and may be sent again: no connection was
// made, or the server has turned it away unread.
func isUnsent(err error) bool {
	if status, ok := statusOf(err); ok {
		return status.Code == http.StatusTooManyRequests
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
