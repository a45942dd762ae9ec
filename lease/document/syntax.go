package document

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// decode converts panics of the YAML library into errors: no document may crash the program.
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

// Patterns of the YAML library's messages, compiled on first use.
var (
	yamlLine = lazy.Pattern(`^yaml: (?:line (\d+): )?(.*)`)
	// yamlParser matches messages of the library's parser. It counts lines from 0 and omits 0; the library's scanner
	// counts from 1.
	yamlParser = lazy.Pattern(`^(did not find expected (<|node content|key|'-' indicator|',' or )|` +
		`found (undefined tag handle|duplicate %|incompatible YAML document))`)
	unknownAnchor = lazy.Pattern(`^unknown anchor '(.*)' referenced`)
)

// syntaxError adds an error of the JSON decoder or of the YAML library. Its position is the line in the message; without a line it is the
// unknown alias, or the first character that is not allowed in YAML.
func (d *Document) syntaxError(text []byte, err error) {
	message := err.Error()
	if mistake, ok := errors.AsType[*jsonError](err); ok {
		line, column := position(text, mistake.offset)
		d.add(d.place(line, column, nil), false, "not valid JSON: %s", message)
		return
	}
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
			message = "an alias without an anchor; quote a text that begins with *" // not repeated: it may be a password
		}
	} else {
		lines := bytes.Split(bytes.TrimRight(text, " \t\r\n"), []byte("\n"))
		line = min(line, len(lines)) // the parser reports a premature end after the last line
		l := lines[line-1]
		column += len(l) - len(bytes.TrimLeft(l, " \t"))
	}
	d.add(d.place(line, column, nil), false, "not valid YAML: %s", strings.TrimSpace(message))
}

// position returns the line and the column of the byte at an offset.
func position(text []byte, at int) (line, column int) {
	before := text[:max(at, 0)]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// badCharacter returns the position of the first character that is not allowed in YAML, or 1, 1.
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

// tagged maps YAML's scalar tags to a description of their values.
var tagged = map[string]string{
	"!!int": "a whole number", "!!float": "a number", "!!bool": "true or false", "!!null": "null",
	"!!timestamp": "a time", "!!binary": "base64",
}

// checkTags reports values that contradict their explicit tag, such as !!int "x", because readers trust the tag. secret
// is the key of an enclosing value that messages must not repeat, or "".
func (d *Document) checkTags(n *yaml.Node, secret string) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && isSecret(n.Content[i-1].Value) {
			d.checkTags(child, n.Content[i-1].Value)
		} else {
			d.checkTags(child, secret)
		}
	}
	what := tagged[n.ShortTag()]
	if n.Style&yaml.TaggedStyle == 0 || what == "" {
		return
	}
	at := d.place(n.Line, n.Column, nil)
	var value any
	switch {
	case n.Kind != yaml.ScalarNode:
		d.add(at, false, "the tag %s is for %s", n.ShortTag(), what)
	case parallel.Guard(func() error { return n.Decode(&value) }) == nil:
	case secret != "":
		d.add(at, false, "a value of %q is not what its tag %s says", secret, n.ShortTag())
	default:
		d.add(at, false, "%s is tagged %s and is not %s", quote(n.Value), n.ShortTag(), what)
	}
}

// isSecret reports whether messages must not repeat the values of the key.
func isSecret(key string) bool { return key == "password" || key == "credentials" || key == "env" }
