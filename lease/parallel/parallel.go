// Package parallel runs functions side by side. A panic in one of them is an error of the work, and does
// not end the process: the caller still gives back what it has taken.
package parallel

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// FaultError is a panic: a fault of the program, whatever its input was.
type FaultError struct {
	// Value is what the function panicked with, Trace the stack at that moment.
	Value any
	Trace []byte
}

func (e *FaultError) Error() string { return fmt.Sprintf("a fault of the program: %v", e.Value) }

// Guard calls the function. A panic in it is returned as a *FaultError.
func Guard(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &FaultError{r, debug.Stack()}
		}
	}()
	return work()
}

// Group is an errgroup.Group whose functions are guarded.
type Group struct{ group *errgroup.Group }

// New returns a group that runs at most limit functions at a time, and at least one.
func New(limit int) *Group {
	g := &Group{&errgroup.Group{}}
	g.group.SetLimit(max(limit, 1))
	return g
}

// WithContext returns a group without a limit, and a context that ends with the first error or panic, or
// when Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &Group{group}, ctx
}

// SetLimit bounds how many functions run at a time, at least one; call it before Go.
func (g *Group) SetLimit(n int) { g.group.SetLimit(max(n, 1)) }

// Go runs the function in a goroutine, once fewer than the limit are running.
func (g *Group) Go(work func() error) {
	g.group.Go(func() error { return Guard(work) })
}

// Wait waits for all functions and returns the first error; a panic is a *FaultError.
func (g *Group) Wait() error { return g.group.Wait() }
