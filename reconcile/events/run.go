package events

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// event is an event that was read.
type event struct {
	input.Event
	number int
	// takes is what it takes of the room for events.
	takes int64
}

// run is one call of Run.
type run struct {
	opts        *Options
	does        doer
	stopReading context.CancelCauseFunc
	// room bounds the events that are held.
	room   *semaphore.Weighted
	flying sync.WaitGroup

	// acknowledging is held while an acknowledgement is written: who reads them may be slow.
	acknowledging sync.Mutex

	mu    sync.Mutex
	queue queue
	// free is how many more commands may begin.
	free   int
	counts Counts
}

// read takes lines until they end, or the context does.
func (r *run) read(ctx, working context.Context, from *feed) error {
	for {
		select {
		case <-ctx.Done():
			return r.stopped(ctx)
		case l, more := <-from.lines:
			switch {
			case ctx.Err() != nil && !more:
				return r.stopped(ctx)
			case !more:
				return from.err
			}
			r.take(ctx, working, l)
		}
	}
}

// stopped returns why no more is read; nil if the program is stopped.
func (r *run) stopped(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && errors.Is(err, errUnread) {
		return err
	}
	return nil
}

// errUnread is the error of an input whose acknowledgements cannot be written.
var errUnread = errors.New("no more events are read, as their acknowledgements cannot be written")

// take reads an event, and has it carried out.
func (r *run) take(ctx, working context.Context, l line) {
	opts := r.opts
	if l.long {
		r.acknowledge(failed(l.number, input.Event{}, lease.Problems{{
			At: lease.Place{File: opts.Name, Line: l.number}, Message: fmt.Sprintf("the line is larger than %d bytes, and is skipped", opts.Read.DocumentSize),
		}}))
		return
	}
	of, problems := input.Event{}, lease.Problems(nil)
	err := parallel.Guard(func() error {
		of, problems = input.ReadEvent(l.text, opts.Name, l.number, opts.Read)
		return nil
	})
	if wrong := problems.Errors(); err == nil && len(wrong) > 0 {
		err = wrong
	}
	opts.Warn(problems.Warnings())
	takes := min(max(int64(len(l.text)), opts.Size/maxEvents), opts.Size)
	if err == nil {
		err = r.room.Acquire(ctx, takes)
	}
	if err != nil {
		r.acknowledge(failed(l.number, of, err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flying.Add(1)
	r.queue.add(&event{Event: of, number: l.number, takes: takes})
	r.dispatch(working)
}

// dispatch begins what may begin. The caller holds the mutex.
func (r *run) dispatch(ctx context.Context) {
	for r.free > 0 {
		batch := r.queue.next(maxBatch)
		if len(batch) == 0 {
			return
		}
		r.free--
		go func() {
			r.work(ctx, batch)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.free++
			r.dispatch(ctx)
		}()
	}
}

// work carries out events by one command, but those for whose leases another command is at work, each by one of its own, for which nobody
// waits.
func (r *run) work(ctx context.Context, batch []*event) {
	var together []*event
	busy := map[lease.Group]bool{}
	if len(batch) > 1 && batch[0].Type != input.LeaseWon {
		busy = r.does.busy(ctx)
	}
	for _, e := range batch {
		if busy[e.Lease.Group()] {
			go r.carry(ctx, []*event{e})
		} else {
			together = append(together, e)
		}
	}
	if len(together) > 0 {
		r.carry(ctx, together)
	}
}

// carry carries out events by one command, and acknowledges them.
func (r *run) carry(ctx context.Context, events []*event) {
	results := r.does.carry(ctx, events)
	for _, e := range events {
		r.acknowledge(results[e.Lease.Group()].ack(e))
		r.room.Release(e.takes)
		r.mu.Lock()
		r.queue.done(e)
		r.dispatch(ctx)
		r.mu.Unlock()
		r.flying.Done()
	}
}

// acknowledge writes an acknowledgement. If that fails no more is read.
func (r *run) acknowledge(a Ack) {
	r.acknowledging.Lock()
	defer r.acknowledging.Unlock()
	if err := r.opts.Acknowledge(a); err != nil {
		r.stopReading(fmt.Errorf("%w: %w", errUnread, err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts.Events++; a.Result.Err != nil {
		r.counts.Failed++
	}
}
