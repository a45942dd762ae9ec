// Package document reads YAML and JSON documents. Each problem has its file, line, column and path, and all problems of
// a document are found in one pass.
package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// maxProblems is the number of problems of one document that are kept.
const maxProblems = 10_000

// DefaultSize is the default limit for the size of a document, in bytes.
const DefaultSize = 16 << 20

// Document is one document of a stream, with the problems found in it so far.
type Document struct {
	// Strict turns unknown keys from warnings into errors, and rejects texts where a number or a boolean is expected.
	Strict bool
	// Integers rejects whole numbers with a fraction or an exponent (8080.0, 8.08e3), as encoding/json does for an integer.
	Integers bool
	// Problems are in the order in which they were found.
	Problems lease.Problems

	file string
	// before is the number of lines of the stream before the document; negative if line numbers mean nothing to the
	// user.
	before int
	root   *yaml.Node
	// visits is the number of nodes that may still be visited. Aliases can expand a small document without end.
	visits int
	// repeats is the number of items of lists that may still be visited again, listed are the lists that were visited; nil
	// for a document without aliases. An alias of a list makes each of its items anew.
	repeats   int
	listed    map[*yaml.Node]bool
	exhausted bool
}

// Text is the unparsed text of one document of a stream.
type Text struct {
	data   string
	file   string
	before int
}

// at returns the place of what is below the marker line of the text, if it has one.
func (t Text) at(marked bool) lease.Place {
	at := lease.Place{File: t.file, Line: t.before + 1, Column: 1}
	if marked {
		at.Line++
	}
	return at
}

// Size returns the length of the text in bytes.
func (t Text) Size() int { return len(t.data) }

// Texts yields the texts of the documents of a stream, one at a time. It holds one document of at most size bytes
// (default: DefaultSize) in memory. The stream ends with an error of the reader, or with lease.Problems if a document
// is too large.
func Texts(r io.Reader, file string, size int64) iter.Seq2[Text, error] {
	return func(yield func(Text, error) bool) {
		if size <= 0 {
			size = DefaultSize
		}
		s := splitter{r: bufio.NewReaderSize(r, 64<<10), file: file, size: size}
		for {
			text, before, err := s.next()
			if err != nil {
				yield(Text{}, err)
				return
			}
			if text == nil || !yield(Text{data: string(text), file: file, before: before}, nil) {
				return
			}
		}
	}
}

// Documents yields the documents of the text. It is one document, or several if only comments are between markers.
// Documents without content are skipped; one that is not valid YAML has a problem and no root.
func (t Text) Documents() iter.Seq[*Document] {
	return func(yield func(*Document) bool) {
		parse([]byte(t.data), t.file, t.before, yield)
	}
}

// Read yields the documents of a stream; see Texts and Documents.
func Read(r io.Reader, file string) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		for text, err := range Texts(r, file, 0) {
			if err != nil {
				yield(nil, err)
				return
			}
			for d := range text.Documents() {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// Parse reads one object whose line numbers mean nothing to the user, such as JSON from the API server. The name is the
// position of its problems.
func Parse(data []byte, name string) *Document {
	var first *Document
	parse(data, name, -1, func(d *Document) bool {
		first = d
		return false
	})
	if first == nil {
		first = &Document{file: name, before: -1}
	}
	return first
}

// Line reads one line of JSON Lines, which must not be YAML. The name and the number of the line are the position of its problems.
func Line(data []byte, name string, number int) *Document {
	line := &Document{file: name, before: number - 1}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		mistake, column := &json.SyntaxError{}, 1
		if errors.As(err, &mistake) {
			_, column = position(data, int(mistake.Offset)-1)
		}
		line.add(line.place(1, column, nil), false, "not valid JSON: %v", err)
		return line
	}
	parse(data, name, number-1, func(d *Document) bool {
		line = d
		return false
	})
	return line
}

// parse yields the documents of a text. Markers without content between them separate further documents.
func parse(text []byte, file string, before int, yield func(*Document) bool) {
	text = utf8Text(text)
	next := nodes(text)
	hasTags, hasAliases := bytes.IndexByte(text, '!') >= 0, bytes.IndexByte(text, '*') >= 0 // once: a text may be a million markers
	for {
		d := &Document{file: file, before: before, visits: 10_000 + 10*len(text), repeats: 10_000 + len(text)}
		if hasAliases {
			d.listed = map[*yaml.Node]bool{}
		}
		node, err := next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			d.syntaxError(text, err)
			yield(d)
			return
		}
		d.root = node
		if hasTags {
			d.checkTags(node, "")
		}
		if d.Root().IsNull() {
			continue
		}
		if !yield(d) {
			return
		}
	}
}

// Root returns the document's content.
func (d *Document) Root() Cursor {
	if d.root == nil {
		return Cursor{doc: d}
	}
	n := d.root
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return Cursor{doc: d}
		}
		n = n.Content[0]
	}
	return Cursor{doc: d, node: d.resolve(n)}
}

// resolve follows an alias, and counts visits.
func (d *Document) resolve(n *yaml.Node) *yaml.Node {
	d.visits--
	if d.visits < 0 || d.repeats < 0 {
		if !d.exhausted {
			d.add(d.place(n.Line, n.Column, nil), false, "the document's aliases expand to too much")
			d.exhausted = true
		}
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias // never an alias itself
	}
	return n
}

func (d *Document) place(line, column int, field *lease.Step) lease.Place {
	if d.before < 0 {
		return lease.Place{File: d.file, Field: field}
	}
	return lease.Place{File: d.file, Line: d.before + line, Column: column, Field: field}
}

func (d *Document) add(at lease.Place, warning bool, format string, args ...any) {
	if d.exhausted || len(d.Problems) > maxProblems {
		return
	}
	if len(d.Problems) == maxProblems {
		d.Problems.Add(at, "the document has more than %d problems; further problems are not listed", maxProblems)
		return
	}
	d.Problems = append(d.Problems, lease.Problem{At: at, Message: lease.Message(format, args...), Warning: warning})
}

// Check validates the definitions that were read from the document: the groups of one deployment, or a single
// definition.
func (d *Document) Check(groups ...*lease.Definition) {
	check := lease.Check
	if d.Problems.Failed() {
		check = lease.CheckPartial
	}
	d.Problems = append(d.Problems, check(groups...)...)
	for _, group := range groups {
		d.Problems = append(d.Problems, workload.Check(group)...)
	}
}

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
