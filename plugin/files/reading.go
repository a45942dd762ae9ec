package files

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// Interruptible is a reader that stops waiting when the context ends: a terminal, a pipe or a FIFO may
// never answer. A read that is under way then is left to itself, and what it brings is lost.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return &interruptibleReader{ctx: ctx, r: r}
}

type interruptibleReader struct {
	ctx  context.Context //nolint:containedctx // io.Reader has no parameter for it
	r    io.Reader
	buf  []byte
	rest []byte
	err  error
}

type chunk struct {
	n   int
	err error
}

func (i *interruptibleReader) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	if len(i.rest) == 0 && i.err == nil {
		if err := i.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, i.rest)
	if i.rest = i.rest[n:]; len(i.rest) == 0 && i.err != nil {
		return n, i.err
	}
	return n, nil
}

func (i *interruptibleReader) fill() error {
	if i.buf == nil {
		i.buf = make([]byte, 1<<16)
	}
	c, err := parallel.Abandonable(i.ctx, func() (c chunk, _ error) {
		c.err = parallel.Guard(func() (err error) {
			c.n, err = i.r.Read(i.buf)
			return err
		})
		return c, nil
	})
	if err == nil {
		i.rest, i.err = i.buf[:c.n], c.err
	}
	return err
}

// bounded counts what is read of all inputs of a command that holds them, and refuses more than it has
// room for.
type bounded struct {
	limit, left int64
}

// newBounded bounds what is held in memory; 0 sets no bound.
func newBounded(limit int64) *bounded { return &bounded{limit: limit, left: limit} }

func (b *bounded) reader(r io.Reader, name string) io.Reader {
	if b.limit <= 0 {
		return r
	}
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if b.left -= int64(n); b.left < 0 {
			return 0, tooMuch(name, b.limit)
		}
		return n, err
	})
}

// Bound is a reader that refuses more than limit bytes; 0 sets no bound.
func Bound(r io.Reader, name string, limit int64) io.Reader { return newBounded(limit).reader(r, name) }

func tooMuch(name string, limit int64) error {
	var problems lease.Problems
	problems.Add(lease.Place{File: name}, "the input is larger than %s, and all of it has to be held: read it in parts, or raise limits.inputSize in the provider's configuration",
		resource.NewQuantity(limit, resource.BinarySI))
	return problems
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
