package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// World is what a reconciler knows, and what it can be told to do. It reads from what is watched: no request is sent.
type World struct {
	// Book reads the hosts, addresses, leases and pools, and what answers behind them.
	Book func(context.Context) (*view.Book, error)
	// Seen reads what the page shows.
	Seen func(context.Context) (*page.Seen, error)
	// Failing returns the leases that fail, in the order of their deployment groups.
	Failing func(context.Context) ([]reconcile.Failing, error)
	// Definition returns the definition that the ledger keeps of a deployment group, nil if there is none.
	Definition func(context.Context, lease.Group) (*lease.Definition, error)
	// Transfer moves hosts and IP endpoints to a lease of their owner: all that somebody holds, or none. It returns those that nobody
	// holds.
	Transfer func(ctx context.Context, to lease.ID, names []string) (unheld []string, err error)
}

// ErrNotReady says that what is watched has not been read yet, or that the watches have ended.
var ErrNotReady = errors.New("what is watched has not been read yet")

// fresh is how long a book answers before it is read again. It bounds what many requests cost.
const fresh = time.Second

// Shown is what is shown: the world of the reconciler that runs, if one does. The zero value shows none.
type Shown struct {
	world atomic.Pointer[World]

	reading singleflight.Group

	mu   sync.Mutex
	book *view.Book
	of   *World
	read time.Time
}

// Show shows a world until the context ends.
func (s *Shown) Show(ctx context.Context, w *World) {
	s.world.Store(w)
	<-ctx.Done()
	s.world.CompareAndSwap(w, nil)
}

// World returns the world, or ErrNotReady.
func (s *Shown) World() (*World, error) {
	if w := s.world.Load(); w != nil {
		return w, nil
	}
	return nil, ErrNotReady
}

// Book returns the hosts, addresses, leases and pools, as they were at most a second ago. Nobody may change it. One reading serves all who
// wait for it; who goes away does not wait for its end.
func (s *Shown) Book(ctx context.Context) (*view.Book, error) {
	w, err := s.World()
	if err != nil {
		return nil, err
	}
	if book := s.last(w); book != nil {
		return book, nil
	}
	select {
	case got := <-s.reading.DoChan(fmt.Sprintf("%p", w), func() (any, error) { return s.readBook(context.WithoutCancel(ctx), w) }):
		book, _ := got.Val.(*view.Book)
		return book, got.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// last returns the book of a world that was read last, nil if that is too old.
func (s *Shown) last(w *World) *view.Book {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != w || time.Since(s.read) >= fresh {
		return nil
	}
	return s.book
}

// readBook reads the book of a world, unless somebody else has read it meanwhile.
func (s *Shown) readBook(ctx context.Context, w *World) (book *view.Book, err error) {
	if book = s.last(w); book != nil {
		return book, nil
	}
	err = parallel.Guard(func() (err error) {
		book, err = w.Book(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book, s.of, s.read = book, w, time.Now()
	return book, nil
}

// Seen reads what the page shows.
func (s *Shown) Seen(ctx context.Context) (*page.Seen, error) {
	w, err := s.World()
	if err != nil {
		return nil, err
	}
	return w.Seen(ctx)
}

// Failing returns the leases that fail.
func (s *Shown) Failing(ctx context.Context) ([]reconcile.Failing, error) {
	w, err := s.World()
	if err != nil {
		return nil, err
	}
	return w.Failing(ctx)
}
