package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/akash-net/kubectl-akash-net/plugin/files"
)

// pipe is a named pipe whose writers come and go.
type pipe struct {
	name string
	file *os.File
}

// next waits until somebody writes, and returns what is written until nobody has the pipe open for writing any more. While nobody does,
// the pipe is held open for writing here: so a read waits for a writer instead of telling the end again and again, and what a writer
// leaves behind is not lost.
func (p *pipe) next(ctx context.Context) (io.Reader, error) {
	hold, err := os.OpenFile(p.name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer hold.Close() //nolint:errcheck // nothing is written
	if err := p.open(hold); err != nil {
		return nil, err
	}
	in := files.Interruptible(ctx, p.file)
	first := make([]byte, 1)
	if _, err := io.ReadFull(in, first); err != nil {
		return nil, err
	}
	return io.MultiReader(bytes.NewReader(first), in), nil
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
	if p.file != nil {
		_ = p.file.Close() // only read
		p.file = nil
	}
}
