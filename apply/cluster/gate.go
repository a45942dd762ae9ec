package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// gateKey is the context key of a Gate, anewKey that of a write that rests on something read after an earlier attempt.
type (
	gateKey struct{}
	anewKey struct{}
)

// Gate delays or refuses a write, and returns until when the write may take; the zero time sets no end. anew is true for
// a write that rests on something that was read after an earlier attempt (see Anew).
type Gate func(ctx context.Context, anew bool) (until time.Time, err error)

// WithGate returns a context whose writes call the gate first, and again before each further attempt, also those that
// the client library makes by itself; nil removes the gate. A dry run calls no gate.
func WithGate(ctx context.Context, gate Gate) context.Context {
	return context.WithValue(ctx, gateKey{}, gate)
}

// Anew returns a context for writes that rest on something that was read after an earlier attempt. Its version does not
// tell the command's writes from those of a successor, so the gate has to ask whether there is one.
func Anew(ctx context.Context) context.Context { return context.WithValue(ctx, anewKey{}, true) }

func gateOf(ctx context.Context) Gate {
	gate, _ := ctx.Value(gateKey{}).(Gate)
	return gate
}

// ask calls the gate of the context, if it has one, before the request takes a place among the concurrent ones: the
// gate may wait for other commands.
func (c *Cluster) ask(ctx context.Context) error {
	gate := gateOf(ctx)
	if gate == nil || c.drafts != nil {
		return nil
	}
	_, err := gate(ctx, false)
	return shut(ctx, err)
}

// shut returns the error of a gate as a ShutError. An interrupt says nothing about the gate, and stays what it is.
func shut(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return &ShutError{Err: err}
}

// gated asks the gate before each attempt of a write, and ends the attempt at the time that the gate says.
func gated(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		gate := gateOf(r.Context())
		if gate == nil || r.Method == http.MethodGet || r.URL.Query().Has("dryRun") {
			return next.RoundTrip(r)
		}
		anew, _ := r.Context().Value(anewKey{}).(bool)
		until, err := gate(r.Context(), anew)
		if err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // nothing of it is sent
			}
			return nil, shut(r.Context(), err)
		}
		if until.IsZero() {
			return next.RoundTrip(r)
		}
		ctx, cancel := context.WithDeadline(r.Context(), until)
		response, err := next.RoundTrip(r.WithContext(ctx))
		if err != nil {
			over := ctx.Err() != nil
			if cancel(); over && r.Context().Err() == nil {
				err = &SilentError{"while the command's announcement was valid"}
			}
			return nil, err
		}
		response.Body = &endedBody{response.Body, cancel}
		return response, nil
	})
}

// endedBody ends the context of its request when it is closed.
type endedBody struct {
	io.ReadCloser
	end context.CancelFunc
}

func (b *endedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// ShutError reports that a gate refused a write. The write was not sent, and sending it again would not help.
type ShutError struct{ Err error }

func (e *ShutError) Error() string { return e.Err.Error() }

// Unwrap returns the gate's error.
func (e *ShutError) Unwrap() error { return e.Err }

// IsShut reports whether a gate refused the write.
func IsShut(err error) bool {
	_, shut := errors.AsType[*ShutError](err)
	return shut
}
