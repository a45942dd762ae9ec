package document

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Plain decodes a text in the small part of YAML in which kubectl and this program print objects: maps and lists in blocks, each key and
// each item on a line of its own, and texts that can be nothing else or are quoted. It takes a tenth of the time. If ok is false, read the
// text with Documents.
func (t Text) Plain() (value map[string]any, at lease.Place, ok bool) {
	rest, marked := strings.CutPrefix(t.data, "---\n")
	r := plainReader{rest: rest}
	if !r.next() || r.line == "" || r.indent != 0 || isItem(r.line) {
		return nil, at, false
	}
	value, ok = r.mapping(0, 0)
	return value, t.at(marked), ok && r.line == "" && r.rest == ""
}

// plainReader reads lines. line is the present one without its indent; it is empty at the end.
type plainReader struct {
	rest, line string
	indent     int
}

// next goes to the next line. It returns false for one that is not plain: an empty one, a comment, a marker.
func (r *plainReader) next() bool {
	if r.rest == "" {
		r.line, r.indent = "", 0
		return true
	}
	line, rest, _ := strings.Cut(r.rest, "\n")
	text := strings.TrimLeft(line, " ")
	r.line, r.indent, r.rest = text, len(line)-len(text), rest
	return text != "" && text[0] != '#' && text[0] != '%' && text[len(text)-1] != ' ' &&
		(r.indent > 0 || !strings.HasPrefix(text, "---") && !strings.HasPrefix(text, "..."))
}

func isItem(line string) bool { return line == "-" || strings.HasPrefix(line, "- ") }

// mapping reads the keys at an indent, from the present line on.
func (r *plainReader) mapping(indent, depth int) (map[string]any, bool) {
	fields := map[string]any{}
	for r.line != "" && r.indent == indent && !isItem(r.line) {
		key, text, ok := cutKey(r.line)
		if _, repeated := fields[key]; !ok || repeated || depth > plainDepth || len(key) > plainKey {
			return nil, false
		}
		value, ok := r.value(text, indent, depth+1)
		if !ok {
			return nil, false
		}
		fields[key] = value
	}
	return fields, r.line == "" || r.indent <= indent
}

// plainDepth is the depth of what is read, plainKey the length of a key: YAML knows longer ones, but none beyond 1024.
const plainDepth, plainKey = 64, 512

// list reads the items at an indent.
func (r *plainReader) list(indent, depth int) ([]any, bool) {
	items := []any{}
	for r.line != "" && r.indent == indent && isItem(r.line) {
		if depth > plainDepth || r.line == "-" {
			return nil, false
		}
		text := r.line[2:]
		if text == "" || text[0] == ' ' || isItem(text) {
			return nil, false
		}
		var value any
		ok := false
		if _, _, isMapping := cutKey(text); isMapping {
			r.line, r.indent = text, indent+2
			value, ok = r.mapping(indent+2, depth+1)
		} else if value, ok = plainScalar(text); ok {
			ok = r.next() && r.indent <= indent
		}
		if !ok {
			return nil, false
		}
		items = append(items, value)
	}
	return items, r.line == "" || r.indent <= indent
}

// value reads what follows a key at an indent: text on its line, or what is below it.
func (r *plainReader) value(text string, indent, depth int) (any, bool) {
	if !r.next() {
		return nil, false
	}
	if text != "" {
		value, ok := plainScalar(text)
		return value, ok && (r.line == "" || r.indent <= indent)
	}
	switch {
	case r.line != "" && isItem(r.line) && r.indent >= indent:
		return r.list(r.indent, depth)
	case r.line != "" && r.indent > indent:
		return r.mapping(r.indent, depth)
	}
	return nil, true // a key without a value
}

// cutKey cuts a line at its key. ok is false unless the key can be nothing but a text.
func cutKey(line string) (key, text string, ok bool) {
	if line[0] == '"' {
		end := strings.IndexByte(line[1:], '"') + 2
		if end < 2 || end == len(line) || line[end] != ':' || strings.ContainsRune(line[:end], '\\') {
			return "", "", false
		}
		key, text = line[1:end-1], line[end+1:]
	} else {
		end := strings.Index(line, ": ")
		switch {
		case end >= 0:
			key, text = line[:end], line[end+1:]
		case strings.HasSuffix(line, ":"):
			key = line[:len(line)-1]
		default:
			return "", "", false
		}
		if !isPlainWord(key) {
			return "", "", false
		}
	}
	if text != "" {
		if len(text) < 2 || text[0] != ' ' || text[1] == ' ' {
			return "", "", false
		}
		text = text[1:]
	}
	return key, text, true
}

// plainScalar reads a scalar that stands for itself on a line.
func plainScalar(text string) (any, bool) {
	switch {
	case text == "true":
		return true, true
	case text == "false":
		return false, true
	case text == "null":
		return nil, true
	case text == "{}":
		return map[string]any{}, true
	case text == "[]":
		return []any{}, true
	case text[0] == '"':
		return plainQuoted(text)
	case text[0] >= '0' && text[0] <= '9':
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, text[0] != '0' || text == "0"
		}
		isAddress := strings.Count(text, ".") == 3 && strings.Trim(text, "0123456789.") == ""
		isName := strings.ContainsAny(text, "ghijklmnpqrstuvwyz") && strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyz") == "" // no number has these
		return text, isAddress || isName
	}
	return text, isPlainWord(text)
}

// plainQuoted reads a quoted text of ASCII without the escapes that YAML does not have as JSON has them.
func plainQuoted(text string) (any, bool) {
	other := func(r rune) bool { return r < ' ' || r >= 0x7f }
	if strings.ContainsFunc(text, other) || strings.Contains(text, `\/`) || strings.Contains(text, `\ud`) || strings.Contains(text, `\uD`) {
		return nil, false
	}
	if !strings.Contains(text, `\`) {
		inner := text[1:max(len(text)-1, 1)]
		return inner, len(text) > 1 && text[len(text)-1] == '"' && !strings.Contains(inner, `"`)
	}
	var out string
	err := json.Unmarshal([]byte(text), &out)
	return out, err == nil
}

// isPlainWord reports whether a text without quotes is a text in every version of YAML: it begins with a letter, has no sign that means
// something, and is no word that stands for something else.
func isPlainWord(text string) bool {
	if text == "" || !isLetter(text[0]) && text[0] != '/' || text[len(text)-1] == ' ' || len(text) <= len("false") && words[strings.ToLower(text)] {
		return false
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '#' && text[i-1] == ' ' || c == ':' && (i+1 == len(text) || text[i+1] == ' ') {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// words stand for something else in a version of YAML.
var words = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}
