package history

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// How Events are written.
const (
	// settle is how long nothing more is reported of a lease before its Events are written, unless the work on it ends before.
	settle = 2 * time.Second
	// burst is how many Events of a lease are written at once at most, and every how long it may be one more. The others wait, and say
	// what is reported meanwhile as well.
	burst = 25
	every = time.Minute
	// writers is how many Events are written at a time.
	writers = 2
	// patience limits a request, and closing how long a command waits for its Events when it ends.
	patience = 5 * time.Second
	closing  = time.Second
	// silence is how long nothing is written after the API server has refused the right to it.
	silence = time.Minute
)

// Recorder writes what commands report of leases as Events. It delays no command: it writes beside it, and what cannot be written is
// left out. A nil Recorder writes nothing.
type Recorder struct {
	now    func() time.Time
	writer writer
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{}
	// send writes an Event.
	send func(context.Context, *eventsv1.Event) error
	// leases returns the leases of a deployment group that have a namespace.
	leases func(context.Context, lease.Group) ([]lease.ID, error)

	mu      sync.Mutex
	stories map[lease.ID]*story
	closed  bool
	under   sync.WaitGroup
	// silent is until when nothing is written.
	silent time.Time
}

// story is what is still to be written of a lease.
type story struct {
	notes   notes
	limit   *rate.Limiter
	wake    *time.Timer
	writing bool
}

// New returns a Recorder, which writes until the context ends. ledger is the ledger's namespace.
func New(ctx context.Context, to *cluster.Cluster, ledger string) *Recorder {
	host, _ := os.Hostname() // without a name it is unknown
	r := &Recorder{
		now: to.Now, writer: writer{ledger, cmp.Or(host, "unknown")}, places: make(chan struct{}, writers), stories: map[lease.ID]*story{},
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.send = func(ctx context.Context, e *eventsv1.Event) error { return write(ctx, to, e) }
	r.leases = func(ctx context.Context, g lease.Group) ([]lease.ID, error) { return leasestatus.Find(ctx, to, g) }
	return r
}

// Report notes what a command reports.
func (r *Recorder) Report(e report.Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, l := range linesOf(e) {
		s := r.story(l.of)
		s.notes.add(l, now)
		r.wakeAfter(s, settle)
	}
	s := r.stories[e.Lease]
	switch {
	case s == nil:
	case e.Action == report.Failed:
		r.wakeAfter(s, 0)
	case e.Action == report.Done:
		if e.Summary != nil && !e.Summary.Changed { // it is as it was, and so is what is withheld
			s.notes = slices.DeleteFunc(s.notes, func(n *note) bool { return n.reason == reasons[report.Withheld] })
		}
		r.wakeAfter(s, 0)
	}
}

// story returns the story of a lease.
func (r *Recorder) story(of lease.ID) *story {
	s := r.stories[of]
	if s == nil {
		s = &story{limit: rate.NewLimiter(rate.Every(every), burst)}
		s.wake = time.AfterFunc(settle, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !r.closed {
				r.under.Go(func() { r.tell(of, s) })
			}
		})
		r.stories[of] = s
	}
	return s
}

// wakeAfter lets the Events of a lease be written after a time.
func (r *Recorder) wakeAfter(s *story, after time.Duration) {
	if !s.writing && !r.closed {
		s.wake.Reset(after)
	}
}

// tell writes the Events of a lease, and forgets the lease once it may have all its Events at once again.
func (r *Recorder) tell(of lease.ID, s *story) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.writing {
		return
	}
	if len(s.notes) == 0 && s.limit.Tokens() >= burst {
		delete(r.stories, of)
		return
	}
	s.writing = true
	for due := r.due(s); len(due) > 0; due = r.due(s) {
		r.mu.Unlock()
		r.writeAll(of, due)
		r.mu.Lock()
	}
	s.writing = false
	if len(s.notes) > 0 {
		r.wakeAfter(s, every)
	} else {
		r.wakeAfter(s, burst*every)
	}
}

// due takes the notes that may be written now.
func (r *Recorder) due(s *story) (due notes) {
	if time.Now().Before(r.silent) {
		s.notes = nil
	}
	s.notes = s.notes.essential()
	for len(s.notes) > 0 && s.limit.Allow() {
		due, s.notes = append(due, s.notes[0]), s.notes[1:]
	}
	return due
}

// writeAll writes notes of a lease, or of all leases of a deployment group.
func (r *Recorder) writeAll(of lease.ID, due notes) {
	select {
	case r.places <- struct{}{}:
	case <-r.ctx.Done():
		return
	}
	defer func() { <-r.places }()
	ids := []lease.ID{of}
	if of.Provider == "" {
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		defer cancel()
		ids, _ = r.leases(ctx, of.Group()) // whose namespaces are unknown have no story
	}
	for _, id := range ids {
		for _, n := range due {
			ctx, cancel := context.WithTimeout(r.ctx, patience)
			err := r.send(ctx, r.writer.event(n, id))
			cancel()
			if apierrors.IsForbidden(err) && !cluster.IsTerminating(err) {
				r.mu.Lock()
				r.silent = time.Now().Add(silence)
				r.mu.Unlock()
				return
			}
		}
	}
}

// Close writes what is left, for a second at most, and not at all if the context has ended.
func (r *Recorder) Close(ctx context.Context) {
	if r == nil {
		return
	}
	defer r.cancel()
	r.mu.Lock()
	r.closed = true
	for of, s := range r.stories {
		if s.wake.Stop(); len(s.notes) > 0 {
			r.under.Go(func() { r.tell(of, s) })
		}
	}
	r.mu.Unlock()
	written := make(chan struct{})
	go func() {
		r.under.Wait()
		close(written)
	}()
	select {
	case <-written:
	case <-ctx.Done():
	case <-time.After(closing):
	}
}
