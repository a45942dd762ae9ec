package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

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
