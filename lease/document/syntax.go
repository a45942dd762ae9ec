package document

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

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
	yamlParser = grammar(`^(did not find expected (<|node content|key|'-' indicator|',' or )|` +
		`found (undefined tag handle|duplicate %|incompatible YAML document))`)
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
