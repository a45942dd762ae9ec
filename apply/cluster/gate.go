package cluster

import (
	"context"
	"errors"
)

// gateKey is the context key of a gate, a function that may delay or refuse a write.
type gateKey struct{}

// WithGate returns a context whose writes call the gate first; nil removes the gate. A dry run calls no gate.
func WithGate(ctx context.Context, gate func(context.Context) error) context.Context {
	return context.WithValue(ctx, gateKey{}, gate)
}

// ask calls the gate of the context, if it has one.
func (c *Cluster) ask(ctx context.Context) error {
	gate, _ := ctx.Value(gateKey{}).(func(context.Context) error)
	if gate == nil || c.drafts != nil {
		return nil
	}
	err := gate(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) { // an interrupt says nothing about the turn
		return err
	}
	return &ShutError{Err: err}
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
