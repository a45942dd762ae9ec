package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// unanswered is how long a request may have no answer, or nothing more of one: an API server ends its own requests after 60 seconds at
// most, and nearly all after a part of one. A write of a command that was interrupted, or that has less time, gets no less than shortest.
const (
	unanswered = 30 * time.Second
	shortest   = 5 * time.Second
)

// SilentError reports that a request had no answer in time. Whether it took effect is unclear.
type SilentError struct{ Why string }

func (e *SilentError) Error() string { return "the API server has not answered " + e.Why }

// interruptKey is the context key of the context whose end shortens the wait for the answer to a write.
type interruptKey struct{}

// Within bounds how long a write may have no answer by the time that a command has. Call it before the first request.
func (c *Cluster) Within(d time.Duration) {
	if d > 0 {
		c.availability.writes.Store(int64(min(unanswered, max(d, shortest))))
	}
}

// answering ends a request that has no answer in time, or whose answer stops; but not a watch, nor a log that is followed.
func (r *availability) answering(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if query := request.URL.Query(); query.Has("watch") || query.Has("follow") {
			return next.RoundTrip(request)
		}
		after := unanswered
		if request.Method != http.MethodGet {
			after = time.Duration(r.writes.Load())
		}
		ctx, cancel := context.WithCancelCause(request.Context())
		silent := time.AfterFunc(after, func() { cancel(&SilentError{fmt.Sprintf("within %s", after)}) })
		stop := func() bool { return true }
		if interrupt, ok := ctx.Value(interruptKey{}).(context.Context); ok {
			stop = context.AfterFunc(interrupt, func() {
				if silent.Stop() {
					silent.Reset(min(after, shortest))
				}
			})
		}
		end := func() {
			stop()
			silent.Stop()
			cancel(nil)
		}
		response, err := next.RoundTrip(request.WithContext(ctx))
		if err != nil {
			err = because(ctx, err)
			end()
			return nil, err
		}
		response.Body = &answerBody{ReadCloser: response.Body, ctx: ctx, silent: silent, after: after, end: end}
		return response, nil
	})
}

// because returns the error of a request, which was ended because it had no answer in time if ctx says so.
func because(ctx context.Context, err error) error {
	if silent, ok := errors.AsType[*SilentError](context.Cause(ctx)); ok && err != nil {
		return silent
	}
	return err
}

// answerBody is the body of an answer. It has to go on within a time.
type answerBody struct {
	io.ReadCloser
	ctx    context.Context
	silent *time.Timer
	after  time.Duration
	end    func()
}

func (a *answerBody) Read(p []byte) (n int, err error) {
	n, err = a.ReadCloser.Read(p)
	if n > 0 && a.silent.Stop() {
		a.silent.Reset(a.after)
	}
	if err != nil && err != io.EOF { //nolint:errorlint // a reader's end is io.EOF itself
		err = because(a.ctx, err)
	}
	return n, err
}

func (a *answerBody) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}
