// Package parallel runs functions concurrently. A panic in one of them becomes an error instead of ending the process,
// so the caller can still release what it has claimed.
package parallel

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// FaultError is a panic, which is a bug in the program whatever its input.
type FaultError struct {
	// Value is the value of the panic, Trace the stack.
	Value any
	Trace []byte
}

func (e *FaultError) Error() string { return fmt.Sprintf("a fault of the program: %v", e.Value) }

// Guard calls the function. It returns a panic as a *FaultError.
func Guard(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &FaultError{r, debug.Stack()}
		}
	}()
	return work()
}

// Group is an errgroup.Group that guards its functions.
type Group struct{ group *errgroup.Group }

// New returns a group that runs at most limit functions at a time; a limit below 1 means 1.
func New(limit int) *Group {
	g := &Group{&errgroup.Group{}}
	g.group.SetLimit(max(limit, 1))
	return g
}

// WithContext returns a group without a limit, and a context that is cancelled by the first error or panic, or when
// Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &Group{group}, ctx
}

// SetLimit limits how many functions run at a time; a limit below 1 means 1. Call it before Go.
func (g *Group) SetLimit(n int) { g.group.SetLimit(max(n, 1)) }

// Go runs the function in a goroutine, once fewer functions than the limit are running.
func (g *Group) Go(work func() error) {
	g.group.Go(func() error { return Guard(work) })
}

// Wait waits for all functions and returns the first error. A panic is a *FaultError.
func (g *Group) Wait() error { return g.group.Wait() }
