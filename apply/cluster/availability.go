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

// outage is how long a command waits for an API server that has stopped answering: a restart takes a few seconds, a
// leader change behind a load balancer somewhat longer. A request timeout (--request-timeout) replaces it.
const outage = 30 * time.Second

// outageBackoff spaces the retries during an outage.
var outageBackoff = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 8, Cap: time.Second}

// AwayError reports that the API server stopped answering during a command and did not come back in time. What the
// command had written stays, with its marks, because the client can neither check nor undo it. Running the same command
// again continues from there.
type AwayError struct {
	Host  string
	After time.Duration
	Err   error
	// Unchanged is true if the command had not sent a write yet.
	Unchanged bool
	// Resource is set if only this resource is unavailable while the rest of the API answers; Behind describes the
	// server behind it.
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

// IsAway reports whether err is an AwayError.
func IsAway(err error) bool {
	_, ok := errors.AsType[*AwayError](err)
	return ok
}

// availability tracks whether the API server answers. All requests of a command share it, so that they wait for an
// outage together and not one after another.
type availability struct {
	patience time.Duration
	backoff  wait.Backoff
	// writes is how long a write may have no answer.
	writes atomic.Int64

	// answered is true after the first answer. A server that has never answered probably does not exist.
	answered atomic.Bool
	// wrote is true after the first write was sent.
	wrote atomic.Bool
	// conflicts counts the writes that were refused because the object had changed.
	conflicts atomic.Int64

	mu sync.Mutex
	// since is when the outage began; zero while the server answers.
	since time.Time
	// lost is the error that the command gave up with, and lostAt the time; nil while the server answers.
	lost   *AwayError
	lostAt time.Time
	// silent is when a write was ended first that had no answer; zero after a write that had one.
	silent time.Time
}

// wroteInVain records how a write has ended that began at a time, and reports whether it is the second one in a row without an answer.
func (r *availability) wroteInVain(began time.Time, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, silent := errors.AsType[*SilentError](err)
	switch {
	case !silent:
		r.silent = time.Time{}
	case r.silent.IsZero():
		r.silent = time.Now()
	default:
		return !began.Before(r.silent)
	}
	return false
}

// giveUp records that the command has waited long enough for the server, and returns err.
func (r *availability) giveUp(err *AwayError) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost, r.lostAt = err, time.Now()
	return err
}

// gaveUp returns the error for a request that begins right after the command gave up. Otherwise each request would wait for
// a server that accepts requests and does not answer them. Later requests are sent, because the server may be back.
func (r *availability) gaveUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil || time.Since(r.lostAt) >= r.backoff.Cap {
		return nil
	}
	return r.lost
}

// wrap records that the server answered, with whatever status.
func (r *availability) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil {
			r.answered.Store(true)
		}
		return response, err
	})
}

// recovered ends the outage.
func (r *availability) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since, r.lost = time.Time{}, nil
}

// missed returns how long the outage has lasted, for a request that got no answer since the time first.
func (r *availability) missed(first time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		r.since = first
	}
	if r.since.Before(first) {
		first = r.since
	}
	return time.Since(first)
}

// Read runs a read and repeats it while the API server does not answer.
func (c *Cluster) Read(ctx context.Context, do func() error) error {
	return c.ReadOf(ctx, schema.GroupVersionResource{}, do)
}

// ReadOf is Read for a resource that an aggregated API server may serve. If only that server is down, ReadOf does not
// wait for it.
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

// Write runs a write and repeats it as long as the request certainly had no effect. If the effect is unclear, the
// caller has to check it. Cancelling the context does not interrupt a write that has begun, so that the caller knows
// what to undo; a deadline does.
//
// Write first asks the gate of the context, and each attempt asks it again (see WithGate). An attempt without an answer ends after a time
// (see answering), and its effect is unclear. After a second one in a row the API server counts as away.
func (c *Cluster) Write(ctx context.Context, do func(context.Context) error) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	return c.persist(ctx, schema.GroupVersionResource{}, isUnsent, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.drafts == nil {
			c.availability.wrote.Store(true)
		}
		leave, err := c.enter(ctx)
		if err != nil {
			return err
		}
		defer leave()
		write, began := context.WithValue(context.WithoutCancel(ctx), interruptKey{}, ctx), time.Now()
		if end, bounded := ctx.Deadline(); bounded {
			var cancel context.CancelFunc
			write, cancel = context.WithDeadline(write, end)
			defer cancel()
		}
		err = do(write)
		if IsOwned(err) || IsOvertaken(err) {
			c.availability.conflicts.Add(1)
		}
		if c.availability.wroteInVain(began, err) {
			return c.availability.giveUp(&AwayError{Host: c.host, After: time.Since(began), Err: err})
		}
		return err
	})
}

// Conflicts returns how many writes were refused because the object had changed. Another command that wrote it may have
// declared this one crashed.
func (c *Cluster) Conflicts() int64 { return c.availability.conflicts.Load() }

// persist repeats a request while away reports that its error means an outage.
func (c *Cluster) persist(
	ctx context.Context, resource schema.GroupVersionResource, away func(error) bool, do func() error,
) error {
	backoff, first, alone := c.availability.backoff, time.Now(), 0
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
				c.availability.recovered()
			}
			return unknown(err)
		}
		if isBehind(resource, err) && c.answers(ctx) {
			if alone++; alone == aloneAtMost {
				unchanged := !c.availability.wrote.Load()
				return &AwayError{Host: c.host, Err: err, Unchanged: unchanged, Resource: resource, Behind: c.behind(ctx, resource)}
			}
		}
		gone := c.availability.missed(first)
		if !c.availability.answered.Load() {
			return err
		}
		if gone >= c.availability.patience {
			unchanged := !c.availability.wrote.Load()
			return c.availability.giveUp(&AwayError{Host: c.host, After: gone, Err: err, Unchanged: unchanged})
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(backoff.Step(), c.availability.patience-gone)):
		}
	}
}

// isSilent reports whether a read got no answer, or only the answer that the server is unavailable: that of a load
// balancer without a backend, or of a server that is starting.
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
	return isUnsent(err)
}

// notReady is why an API server that has just started refuses a Service: it cannot give it an address yet (ErrNotReady in
// pkg/registry/core/service/ipallocator). The answer looks like that to an invalid object, with status 422 or 500.
const notReady = "allocator not ready"

// isUnsent reports whether a write certainly had no effect and may be sent again: the connection failed, or the server
// rejected the request without processing it.
func isUnsent(err error) bool {
	if status, ok := statusOf(err); ok {
		return status.Code == http.StatusTooManyRequests || strings.Contains(status.Message, notReady)
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
