package cluster

import (
	"context"
	"errors"
)

// A gate is asked before each write that is sent with a context. It may hold the write up, or refuse it.
type gateKey struct{}

// WithGate is a context whose writes ask the gate first; nil takes the gate away. A dry run asks no gate.
func WithGate(ctx context.Context, gate func(context.Context) error) context.Context {
	return context.WithValue(ctx, gateKey{}, gate)
}

// ask asks the gate of the context, if it has one.
func (c *Cluster) ask(ctx context.Context) error {
	gate, _ := ctx.Value(gateKey{}).(func(context.Context) error)
	if gate == nil || c.drafts != nil {
		return nil
	}
	if err := gate(ctx); err != nil {
		return &ShutError{Err: err}
	}
	return nil
}

// ShutError says that a gate has refused a write. The write was not sent, and there is no use in sending it again.
type ShutError struct{ Err error }

func (e *ShutError) Error() string { return e.Err.Error() }

// Unwrap gives the gate's reason to errors.Is and errors.As.
func (e *ShutError) Unwrap() error { return e.Err }

// IsShut is true for what a gate has refused.
func IsShut(err error) bool {
	_, shut := errors.AsType[*ShutError](err)
	return shut
}
