// Package events carries out what an event bus says of leases: a lease was won, its manifest was received, it was closed. Each event is
// acknowledged with what was done, or why not. Nothing is remembered: who gets no acknowledgement sends the event again.
package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
)

const (
	// maxEvents is how many events are carried out or wait for that at a time, maxBatch for how many one command does the same, and
	// commandsAtOnce how many commands run at a time.
	maxEvents      = 256
	maxBatch       = 64
	commandsAtOnce = 4
	// finishing is how long the commands under way may go on when the program is stopped, and givingBack how long after that they may
	// give back what they have.
	finishing  = 5 * time.Second
	givingBack = 2 * time.Second
	// pause is how long a named pipe that cannot be opened is left alone, or waited for until it is looked at again.
	pause = 2 * time.Second
)

// Options configure a bus.
type Options struct {
	// Name is the file or the named pipe that events are read from; - is Stdin.
	Name  string
	Stdin io.Reader
	// Again opens a named pipe again when its writers have closed it.
	Again bool
	// Read says how manifests are read. A line may be as large as a document. Size limits what is held of all lines together.
	Read input.Options
	Size int64
	// Command has the options of the commands that are run. AllowEmpty lets a manifest define nothing.
	Command    command.Options
	AllowEmpty bool
	// Acknowledge writes an acknowledgement, Warn what a manifest warns of, Complain what belongs to no event, once while it stays so.
	Acknowledge func(Ack) error
	Warn        func(lease.Problems)
	Complain    func(error)
}

// Bus reads events, and carries them out. Run may be called again when it has ended: Stdin goes on where it was.
type Bus struct {
	opts  Options
	stdin func() *feed
	// look is after what time a named pipe to which nobody writes is looked at again.
	look time.Duration

	// running is held by Run.
	running sync.Mutex
}

// New returns a bus. It reads nothing yet.
func New(opts Options) (*Bus, error) {
	opts.Size = max(opts.Size, opts.Read.DocumentSize)
	if opts.Name != "-" {
		info, err := os.Stat(opts.Name)
		if err != nil {
			return nil, files.Refused(opts.Name, err)
		}
		if info.IsDir() {
			return nil, lease.Problems{{Message: fmt.Sprintf("the path %q is a folder; events are read from a file or a named pipe", opts.Name)}}
		}
		opts.Again = opts.Again && info.Mode().Type() == fs.ModeNamedPipe
	}
	b := &Bus{opts: opts, look: pause}
	b.stdin = sync.OnceValue(func() *feed { return b.feed(context.Background()) })
	return b, nil
}

// Counts are how many events were acknowledged, and how many of them had failed.
type Counts struct{ Events, Failed int }

// Run carries out events until the input ends, or the context does: then what is under way is finished within some seconds. defined returns
// the definition with which a source names a deployment group. An error means that there will be no more events.
func (b *Bus) Run(ctx context.Context, to *cluster.Cluster, defined func(lease.Group) *lease.Definition) (Counts, error) {
	return b.run(ctx, &carrier{cluster: to, options: commandsOf(b.opts.Command), allowEmpty: b.opts.AllowEmpty, defined: defined})
}

// doer does what events ask for.
type doer interface {
	// carry carries out events of one type and of several deployment groups, and returns what has become of each.
	carry(context.Context, []*event) map[lease.Group]*result
	// busy returns the deployment groups for which another command is at work.
	busy(context.Context) map[lease.Group]bool
}

func (b *Bus) run(ctx context.Context, does doer) (Counts, error) {
	b.running.Lock()
	defer b.running.Unlock()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishing, stop) })()
	reading, stopReading := context.WithCancelCause(ctx)
	defer stopReading(nil)
	r := &run{
		opts: &b.opts, does: does, stopReading: stopReading, room: semaphore.NewWeighted(b.opts.Size),
		queue: queue{busy: map[lease.Group]bool{}}, free: commandsAtOnce,
	}
	from := b.stdin
	if b.opts.Name != "-" {
		from = func() *feed { return b.feed(reading) }
	}
	ended := make(chan error, 1)
	go func() {
		err := parallel.Guard(func() error { return r.read(reading, working, from()) })
		r.flying.Wait()
		ended <- err
	}()
	err := r.await(working, ended)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts, err
}

// await waits for the end of a run, and some time for one that was stopped.
func (r *run) await(working context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-working.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(givingBack):
		return errors.New("some events were not finished, or nobody reads their acknowledgements")
	}
}

// commandsOf returns the options of commands that wait for nothing after their last write.
func commandsOf(opts command.Options) command.Options {
	opts.Prune, opts.Wait, opts.Reclaim = true, 0, true
	return opts
}
