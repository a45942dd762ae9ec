// Package events carries out what an event bus says of leases: a lease was won, its manifest was received, it was closed. Each event is
// acknowledged with what was done, or why not. Nothing is remembered: who gets no acknowledgement sends the event again.
package events

import (
	"bufio"
	"bytes"
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
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
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

// feed is an input that is being read: line by line, each when the one before was taken.
type feed struct {
	lines chan line
	// err is why the lines have ended; nil for the end of the input. It is set before lines is closed.
	err error
}

// feed begins to read the input, until the context ends.
func (b *Bus) feed(ctx context.Context) *feed {
	f := &feed{lines: make(chan line)}
	send := func(l line) bool {
		select {
		case f.lines <- l:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(f.lines)
		switch {
		case b.opts.Name == "-":
			_, f.err = scan(b.opts.Stdin, b.opts.Read.DocumentSize, 0, send)
		case b.opts.Again:
			b.follow(ctx, send)
		default:
			f.err = files.Read(ctx, b.opts.Name, func(r io.Reader, _ string) error {
				_, err := scan(r, b.opts.Read.DocumentSize, 0, send)
				return err
			})
		}
	}()
	return f
}

// follow reads what the writers of a named pipe write, until the context ends.
func (b *Bus) follow(ctx context.Context, send func(line) bool) {
	p := &pipe{name: b.opts.Name, look: b.look}
	defer p.close()
	number, said := 0, ""
	for ctx.Err() == nil {
		in, err := p.next(ctx)
		if err == nil {
			said = ""
			number, err = scan(in, b.opts.Read.DocumentSize, number, send)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if said != err.Error() {
			b.opts.Complain(err)
		}
		said = err.Error()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// line is a line of an input.
type line struct {
	number int
	text   []byte
	// long is true if the line has more bytes than it may have: then it has no text.
	long bool
}

// scan sends the lines of an input that are not blank, until the input ends or send returns false. A line that is too long is sent before
// its end has come, as that may never come. number is that of the last line so far.
func scan(r io.Reader, limit int64, number int, send func(line) bool) (last int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		number++
		text, long, none := []byte(nil), false, true
		part, err := []byte(nil), bufio.ErrBufferFull
		for errors.Is(err, bufio.ErrBufferFull) {
			part, err = in.ReadSlice('\n')
			if none = none && len(part) == 0; long {
				continue
			}
			text = append(text, part...)
			if long = int64(len(bytes.TrimRight(text, "\r\n"))) > limit; long {
				if text = nil; !send(line{number: number, long: true}) {
					return number, nil
				}
			}
		}
		if text = bytes.TrimSpace(text); len(text) > 0 && (err == nil || errors.Is(err, io.EOF)) && !send(line{number: number, text: text}) {
			return number, nil
		}
		switch {
		case errors.Is(err, io.EOF) && none: // there is no such line
			return number - 1, nil
		case errors.Is(err, io.EOF):
			return number, nil
		case err != nil:
			return number, err
		}
	}
}

// pipe is a named pipe whose writers come and go.
type pipe struct {
	name string
	file *os.File
	// stop ends what reads it.
	stop context.CancelFunc
	// look is after what time without a byte it looks whether it is still the pipe of that name.
	look time.Duration
}

// next waits until somebody writes, and returns what is written until nobody has the pipe open for writing any more. While nobody does,
// the pipe is held open for writing here: so a read waits for a writer instead of telling the end again and again, and what a writer
// leaves behind is not lost. If another pipe gets the name meanwhile, that one is waited for.
func (p *pipe) next(ctx context.Context) (in io.Reader, err error) {
	for err = io.EOF; errors.Is(err, io.EOF); {
		in, err = p.await(ctx)
	}
	return in, err
}

// await waits until somebody writes. The error is io.EOF if the pipe is not there any more.
func (p *pipe) await(ctx context.Context) (io.Reader, error) {
	hold, err := os.OpenFile(p.name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer hold.Close() //nolint:errcheck // nothing is written
	if err := p.open(hold); err != nil {
		return nil, err
	}
	in, first := p.reader(ctx), make([]byte, 1)
	if _, err := io.ReadFull(in, first); err != nil {
		return nil, err
	}
	return io.MultiReader(bytes.NewReader(first), in), nil
}

// isThere reports whether the pipe that is open is the one of its name.
func (p *pipe) isThere() bool {
	is, err := os.Stat(p.name)
	was, unopened := p.file.Stat()
	return err == nil && unopened == nil && os.SameFile(was, is)
}

// reading is what is read from a pipe: until its writers have closed it, or another pipe has its name and nothing comes any more, or the
// context ends.
type reading struct {
	ctx   context.Context //nolint:containedctx // io.Reader has no parameter for it
	pipe  *pipe
	parts chan part
	rest  part
}

// part is what one read has returned.
type part struct {
	data []byte
	err  error
}

// reader begins to read the pipe. A read that waits ends with the pipe.
func (p *pipe) reader(ctx context.Context) io.Reader {
	p.end()
	ctx, p.stop = context.WithCancel(ctx)
	r, file := &reading{ctx: ctx, pipe: p, parts: make(chan part)}, p.file
	go func() {
		for {
			data := make([]byte, 1<<16)
			n, err := file.Read(data)
			select {
			case r.parts <- part{data[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return r
}

// Read returns the next bytes (io.Reader).
func (r *reading) Read(b []byte) (int, error) {
	for len(r.rest.data) == 0 {
		if r.rest.err != nil {
			return 0, r.rest.err
		}
		select {
		case r.rest = <-r.parts:
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		case <-time.After(r.pipe.look):
			if r.pipe.isThere() {
				continue
			}
			select {
			case r.rest = <-r.parts:
			default:
				r.rest.err = io.EOF
			}
		}
	}
	n := copy(b, r.rest.data)
	r.rest.data = r.rest.data[n:]
	return n, nil
}

// open opens the pipe for reading, unless that is the one which is open.
func (p *pipe) open(hold *os.File) error {
	is, err := hold.Stat()
	switch {
	case err != nil:
		return err
	case is.Mode().Type() != fs.ModeNamedPipe:
		return fmt.Errorf("%s is not a named pipe any more", p.name)
	case p.file != nil:
		if was, err := p.file.Stat(); err == nil && os.SameFile(was, is) {
			return nil
		}
		p.close()
	}
	if p.file, err = os.Open(p.name); err != nil {
		return err
	}
	if opened, err := p.file.Stat(); err != nil || !os.SameFile(opened, is) {
		p.close()
		return errors.Join(err, fmt.Errorf("%s was replaced while it was opened", p.name))
	}
	return nil
}

func (p *pipe) close() {
	p.end()
	if p.file != nil {
		_ = p.file.Close() // only read
		p.file = nil
	}
}

func (p *pipe) end() {
	if p.stop != nil {
		p.stop()
	}
}

// queue says which events are carried out next: those of one deployment group in the order in which they came, those of others beside
// them.
type queue struct {
	// waiting are the events that have not begun, in the order in which they came. busy are the groups with one that has.
	waiting []*event
	busy    map[lease.Group]bool
}

// add adds an event behind all others.
func (q *queue) add(e *event) { q.waiting = append(q.waiting, e) }

// next begins events of one type, at most so many, for which one command does the same: the first that no other one of its group is
// before, and those that follow.
func (q *queue) next(most int) (begun []*event) {
	blocked, rest := map[lease.Group]bool{}, q.waiting[:0:0]
	for _, e := range q.waiting {
		g := e.Lease.Group()
		if q.busy[g] || blocked[g] || len(begun) == most || len(begun) > 0 && begun[0].Type != e.Type {
			blocked[g] = true
			rest = append(rest, e)
			continue
		}
		blocked[g] = true
		begun = append(begun, e)
	}
	for _, e := range begun {
		q.busy[e.Lease.Group()] = true
	}
	q.waiting = rest
	return begun
}

// done ends an event.
func (q *queue) done(e *event) { delete(q.busy, e.Lease.Group()) }
