package leaselogs

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// mixer writes the lines of several sources to one stream. It writes a line that does not fit the buffer in pieces, so
// that it never holds a whole line. If another source writes between two pieces, the line is broken there.
type mixer struct {
	out io.Writer
	// prefix reports whether lines begin with their source.
	prefix func() bool

	mu sync.Mutex
	// open is the source with an unfinished line; empty if there is none.
	open string
	// failed is the error after which nothing more can be written.
	failed error
}

// maxPiece is the size of the buffer for a line, in bytes.
const maxPiece = 32 << 10

// errOut reports that the output cannot be written: its reader is gone, or the disk is full.
type errOut struct{ err error }

func (e *errOut) Error() string { return "the output cannot be written: " + e.err.Error() }
func (e *errOut) Unwrap() error { return e.err }

// copy writes what a source returns until its end.
func (m *mixer) copy(source string, in io.Reader) error {
	r := bufio.NewReaderSize(in, maxPiece)
	for {
		piece, err := r.ReadSlice('\n')
		if len(piece) > 0 {
			if err := m.write(source, piece); err != nil {
				return err
			}
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// write writes a line of a source, or a piece of one.
func (m *mixer) write(source string, piece []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	var text []byte
	if m.open != "" && m.open != source {
		text = append(text, '\n')
		m.open = ""
	}
	if m.open == "" && m.prefix() {
		text = append(append(append(text, '['), source...), "] "...)
	}
	if len(text) > 0 {
		piece = append(text, piece...)
	}
	if _, err := m.out.Write(piece); err != nil {
		m.failed = &errOut{err}
		return m.failed
	}
	m.open = source
	if piece[len(piece)-1] == '\n' {
		m.open = ""
	}
	return nil
}
