// Package files reads the inputs that -f names: files, folders and standard input. Reading ends when the context does. The
// package sends no requests to a cluster.
package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// extensions are the extensions of the files that -f reads from a folder, as in kubectl.
var extensions = []string{".json", ".yaml", ".yml"}

// Names are what -f names: files, folders, and - for standard input.
type Names struct {
	Files     []string
	Recursive bool
}

// Each opens the files in the given order, and those of a folder by name. Together they may have limit bytes; 0 means no
// limit, for a caller that holds only one document at a time.
func (f *Names) Each(ctx context.Context, stdin io.Reader, limit int64, read func(r io.Reader, name string) error) error {
	b := NewBudget(limit)
	for found, err := range f.Walk() {
		if err == nil {
			err = found.read(ctx, stdin, func(r io.Reader, name string) error { return read(b.Reader(r, name), name) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Found is a file that is to be read, or a folder whose files follow.
type Found struct {
	Path   string
	Folder bool
}

// read opens and reads a file, or standard input. Of a folder it reads nothing: its files follow.
func (f Found) read(ctx context.Context, stdin io.Reader, read func(r io.Reader, name string) error) error {
	switch {
	case f.Folder:
		return nil
	case f.Path == "-":
		return read(bufio.NewReaderSize(stdin, 1<<16), f.Path)
	}
	return Read(ctx, f.Path, read)
}

// Walk yields what is named in the order of Each, and each folder before its files are listed. An error is about one path;
// the others follow it.
func (f *Names) Walk() iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		for _, name := range f.Files {
			if !f.walk(name, yield) {
				return
			}
		}
	}
}

// walk yields what is found at one name, and returns the last answer.
func (f *Names) walk(name string, yield func(Found, error) bool) bool {
	if name == "-" {
		return yield(Found{Path: name}, nil)
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return yield(Found{}, lease.Problems{{Message: fmt.Sprintf("the path %q does not exist", name)}})
	case err != nil:
		return yield(Found{}, Refused(name, err))
	case !info.IsDir():
		return yield(Found{Path: name}, nil)
	}
	more, count := true, 0
	next := func(found Found, err error) error {
		if !found.Folder {
			count++
		}
		if more = yield(found, err); !more {
			return filepath.SkipAll
		}
		return nil
	}
	// The separator makes WalkDir follow a link to a folder.
	root := name + string(filepath.Separator)
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return next(Found{}, Refused(filepath.Clean(path), err))
		case path == root:
			return next(Found{name, true}, nil)
		case entry.IsDir() && (!f.Recursive || strings.HasPrefix(entry.Name(), "..")):
			return filepath.SkipDir // in a mounted ConfigMap .. begins the folders to which its files are links
		case entry.IsDir():
			return next(Found{path, true}, nil)
		case !Reads(path):
			return nil
		}
		// The entry may be a link, as in the folder of a mounted ConfigMap.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return next(Found{}, lease.Problems{{Message: fmt.Sprintf("the path %q is no file and is not opened; if it is to be read, name it itself", path)}})
		}
		return next(Found{Path: path}, nil)
	})
	if more && count == 0 {
		message := fmt.Sprintf("the folder %q has no %s files", name, strings.Join(extensions, ", "))
		return yield(Found{}, &emptyFolder{lease.Problems{{Message: message}}})
	}
	return more
}

// Reads reports whether a file of that name is read if its folder is named.
func Reads(name string) bool { return slices.Contains(extensions, filepath.Ext(name)) }

// Refused is the error for a path that cannot be read.
func Refused(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return lease.Problems{{Message: fmt.Sprintf("the path %q cannot be read: %v", path, err)}}
}

// IsEmptyFolder reports whether the error is that a folder has no files to read.
func IsEmptyFolder(err error) bool {
	_, empty := errors.AsType[*emptyFolder](err)
	return empty
}

// emptyFolder is the error for a folder without files to read.
type emptyFolder struct{ lease.Problems }

// Unwrap returns the problem for errors.As.
func (e *emptyFolder) Unwrap() error { return e.Problems }

// Open opens a file. The end of the context also ends the wait for the writer of a FIFO.
func Open(ctx context.Context, name string) (*os.File, error) {
	return parallel.Abandonable(ctx, func() (*os.File, error) { return os.Open(name) })
}

// Read opens and reads one file.
func Read(ctx context.Context, name string, read func(io.Reader, string) error) error {
	f, err := Open(ctx, name)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return Refused(name, err)
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	return read(Interruptible(ctx, f), name)
}

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
