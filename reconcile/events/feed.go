package events

import (
	"context"
	"io"
	"time"

	"github.com/akash-net/kubectl-akash-net/plugin/files"
)

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
