// Package document reads YAML and JSON documents so that every problem can name its file, line,
// column and path, and so that all problems of a document are found in one reading.
package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// maxProblems is how many problems of one document are kept.
const maxProblems = 10_000

// DefaultSize is the largest document that is read where nothing else is said, in bytes.
const DefaultSize = 16 << 20

// Document is one document of a stream, and the problems found in it so far.
type Document struct {
	// Strict makes an unknown key an error instead of a warning, and a text that stands for a
	// number or a truth value an error instead of being taken for it.
	Strict bool
	// Problems are what was found, in the order in which it was found.
	Problems lease.Problems

	file string
	// before is the number of lines of the stream before the document's text; less than 0 where
	// lines say nothing to the user.
	before int
	root   *yaml.Node
	// visits is how many more nodes may be looked at: aliases can make a small document
	// endless.
	visits    int
	exhausted bool
}

// Text is the text of one document of a stream, before it is parsed.
type Text struct {
	data   []byte
	file   string
	before int
}

// Size is the length of the text in bytes.
func (t Text) Size() int { return len(t.data) }

// Texts yields the texts of the documents of a stream, one at a time, in memory that depends on
// the largest of them: at most size bytes, or DefaultSize where that is 0. The error is that of the
// reader, or lease.Problems for a document that is larger, and ends the stream.
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
			if text == nil || !yield(Text{data: bytes.Clone(text), file: file, before: before}, nil) {
				return
			}
		}
	}
}

// Documents yields the documents of the text: one, or more where markers stand without content
// between them. A document without content is left out; one that is not YAML has a problem and an
// empty root.
func (t Text) Documents() iter.Seq[*Document] {
	return func(yield func(*Document) bool) {
		parse(t.data, t.file, t.before, yield)
	}
}

// Read yields the documents of a stream, one after the other; see Texts and Documents.
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

// Parse reads the one document of an object whose lines say nothing to the user, such as JSON
// that came from the API server. The place of its problems is the name.
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

// parse yields the documents of a text: markers without content between them make more than one.
func parse(text []byte, file string, before int, yield func(*Document) bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	hasTags := bytes.IndexByte(text, '!') >= 0 // once: a text may be a million markers
	for {
		d := &Document{file: file, before: before, visits: 10_000 + 10*len(text)}
		node, err := decode(decoder)
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

// decode guards against panics of the YAML library: a document must never end the program.
func decode(decoder *yaml.Decoder) (node *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	node = &yaml.Node{}
	if err := decoder.Decode(node); err != nil {
		return nil, err
	}
	return node, nil
}

// What the YAML library's messages look like; compiled when the first has to be understood.
var (
	yamlLine = grammar(`^yaml: (?:line (\d+): )?(.*)`)
	// yamlParser are the messages of the YAML library's parser. It counts lines from 0, where its scanner
	// counts from 1, and names none for the first one.
	yamlParser    = grammar(`^(did not find expected (<|node content|key|'-' indicator|',' or )|found (undefined tag handle|duplicate %|incompatible YAML document))`)
	unknownAnchor = grammar(`^unknown anchor '(.*)' referenced`)
)

func grammar(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// syntaxError notes what the YAML library says, at the line it names or, where it names none, at
// the alias that it means, or the first character that cannot stand in YAML.
func (d *Document) syntaxError(text []byte, err error) {
	message := err.Error()
	line := 0
	if m := yamlLine().FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	if line > 0 && yamlParser().MatchString(message) {
		line++
	}
	column := 1
	if line == 0 {
		line, column = badCharacter(text)
		if m := unknownAnchor().FindStringSubmatch(message); m != nil {
			line, column = position(text, bytes.Index(text, []byte("*"+m[1])))
			message = "an alias without an anchor; quote a text that begins with *" // it may be a password
		}
	} else {
		lines := bytes.Split(bytes.TrimRight(text, " \t\r\n"), []byte("\n"))
		line = min(line, len(lines)) // what ends too early is missed behind the end
		l := lines[line-1]
		column += len(l) - len(bytes.TrimLeft(l, " \t"))
	}
	d.add(d.place(line, column, nil), false, "not valid YAML: %s", strings.TrimSpace(message))
}

// position is the line and the column of a byte.
func position(text []byte, at int) (line, column int) {
	before := text[:max(at, 0)]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

func badCharacter(text []byte) (line, column int) {
	line, column = 1, 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return line, column
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		text = text[size:]
	}
	return 1, 1
}

// Root is the document's content.
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

// resolve follows an alias and counts what is looked at.
func (d *Document) resolve(n *yaml.Node) *yaml.Node {
	d.visits--
	if d.visits < 0 {
		if !d.exhausted {
			d.add(d.place(n.Line, n.Column, nil), false, "the document's aliases expand to too much")
			d.exhausted = true
		}
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias // what has an anchor is no alias
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
		d.Problems.Add(at, "the document has more than %d problems; those after this one are not told", maxProblems)
		return
	}
	d.Problems = append(d.Problems, lease.Problem{At: at, Message: lease.Message(format, args...), Warning: warning})
}

// Check judges what was read from the document: the groups of one deployment, or one definition.
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
