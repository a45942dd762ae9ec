package document

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// splitter splits a stream of YAML documents at its "---" lines. It holds only one document in memory, and a syntax
// error in one document does not affect the others.
type splitter struct {
	r *bufio.Reader
	// line is the number of lines read so far.
	line int
	// held is a marker line that was read ahead.
	held []byte
	eof  bool
	buf  []byte
	// size is the limit for a document in bytes; file is the name of the stream for the error about a larger one.
	size int64
	file string
}

// next returns the text of the next document, with its marker line, and the number of lines before it. The text is
// valid until the next call; it is nil at the end.
func (s *splitter) next() (text []byte, before int, err error) {
	s.buf = append(s.buf[:0], s.held...)
	before = s.line
	content := false
	if s.held != nil {
		content = len(bytes.TrimSpace(s.held[3:])) > 0
		before--
		s.held = nil
	}
	for !s.eof {
		start := len(s.buf)
		if err := s.readLine(before); err != nil {
			return nil, 0, err
		}
		if mark := []byte("\ufeff"); !content && bytes.HasPrefix(s.buf[start:], mark) { // of a file that was appended to another
			s.buf = slices.Delete(s.buf, start, start+len(mark))
		}
		line := s.buf[start:]
		if isMarker(line) && content {
			s.held = bytes.Clone(line)
			s.buf = s.buf[:start]
			return s.buf, before, nil
		}
		content = content || isContent(line)
	}
	if len(s.buf) == 0 {
		return nil, 0, nil
	}
	return s.buf, before, nil
}

// readLine appends a line to buf. before is the number of lines before the document.
func (s *splitter) readLine(before int) error {
	for {
		part, err := s.r.ReadSlice('\n')
		if int64(len(s.buf)+len(part)) > s.size {
			return tooLarge(lease.Place{File: s.file, Line: before + 1, Column: 1}, s.size)
		}
		s.buf = append(s.buf, part...)
		switch {
		case err == nil:
			s.line++
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			s.eof = true
			return nil
		default:
			return err
		}
	}
}

func isMarker(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0)
}

// isContent is false for lines that may precede a document's marker: comments, directives and empty lines.
func isContent(line []byte) bool {
	if isMarker(line) {
		line = line[3:]
	}
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '#' && line[0] != '%'
}

func tooLarge(at lease.Place, size int64) error {
	var problems lease.Problems
	problems.Add(at, "the document is larger than %s: split it, or raise limits.documentSize in the provider's configuration",
		resource.NewQuantity(size, resource.BinarySI))
	return problems
}
