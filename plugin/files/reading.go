package files

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// Interruptible returns a reader that stops waiting when the context ends, because a terminal, a pipe or a FIFO may never
// answer. It abandons the read in progress and drops what that returns.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return &interruptibleReader{ctx: ctx, r: r}
}

type interruptibleReader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no parameter for it
	r   io.Reader
	buf []byte
	// rest is the part of buf that has been read from r and not returned yet, err the error that follows it.
	rest []byte
	err  error
}

func (i *interruptibleReader) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	if len(i.rest) == 0 && i.err == nil {
		i.fill()
	}
	n := copy(p, i.rest)
	if i.rest = i.rest[n:]; len(i.rest) == 0 && i.err != nil {
		return n, i.err
	}
	return n, nil
}

// fill reads into a buffer of its own, because an abandoned read may still write to it. A panic of the reader is an error.
func (i *interruptibleReader) fill() {
	if i.buf == nil {
		i.buf = make([]byte, 1<<16)
	}
	n, err := parallel.Abandonable(i.ctx, func() (n int, _ error) {
		err := parallel.Guard(func() (err error) {
			n, err = i.r.Read(i.buf)
			return err
		})
		return n, err
	})
	i.rest, i.err = i.buf[:n], err
}

// Budget limits the number of bytes that are read from several inputs together.
type Budget struct {
	limit, left int64
}

// NewBudget returns a budget of limit bytes; 0 means no limit.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit, left: limit} }

// Spent reports whether a reader has failed because more than the limit was to be read.
func (b *Budget) Spent() bool { return b.left < 0 }

// Take takes bytes that need not be read again off the budget. It takes none, and returns false, if that has fewer left.
func (b *Budget) Take(n int64) bool {
	if b.limit <= 0 {
		return true
	}
	enough := n <= b.left
	if enough {
		b.left -= n
	}
	return enough
}

// Reader returns a reader that fails, with a lease.Problems, when the readers of the budget have read more than its limit.
func (b *Budget) Reader(r io.Reader, name string) io.Reader {
	if b.limit <= 0 {
		return r
	}
	return readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if b.left -= int64(n); b.left >= 0 {
			return n, err
		}
		var problems lease.Problems
		problems.Add(lease.Place{File: name},
			"the input is larger than %s, and all of it has to be held: read it in parts, or raise limits.inputSize in the "+
				"provider's configuration",
			resource.NewQuantity(b.limit, resource.BinarySI))
		return 0, problems
	})
}

// Bound returns a reader that fails after limit bytes; 0 means no limit.
func Bound(r io.Reader, name string, limit int64) io.Reader { return NewBudget(limit).Reader(r, name) }

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
