package emit

import (
	"bytes"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml/kyaml"
)

// These patterns match the output of appendYAML, which writes each quoted string on one line.
var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// spacedLine matches a line of a string that begins with Unicode white space other than a blank or a tab.
	spacedLine = regexp.MustCompile(`(?:^"|\\n)\\u(?:000[bcd]|0085|00a0|1680|20[0-9a-f]{2}|3000)`)
	escape     = regexp.MustCompile(`\\.`)
)

// appendKYAML appends a document that sigs.k8s.io/yaml formats; the library keeps the order of keys.
//
// The library writes each line of a multi-line string on a line of its own. Version 1.6 escapes Unicode white space at the
// start of such a line twice. appendKYAML avoids this: it passes the string as one line, with a private-use character that
// the document does not contain instead of each newline, and puts the newlines back afterwards.
func (e *Encoder) appendKYAML(root node) error {
	text := e.tree.appendYAML(nil, root)
	newline := ""
	if bytes.Contains(text, []byte(`\u`)) {
		for r := 0xe000; newline == "" || bytes.Contains(text, []byte(newline[2:])); r++ {
			newline = fmt.Sprintf(`\u%04x`, r)
		}
		text = quoted.ReplaceAllFunc(text, func(s []byte) []byte {
			if !spacedLine.Match(s) {
				return s
			}
			return escape.ReplaceAllFunc(s, func(c []byte) []byte {
				if string(c) == `\n` {
					return []byte(newline)
				}
				return c
			})
		})
	}
	var out bytes.Buffer
	if err := new(kyaml.Encoder).FromYAML(bytes.NewReader(text), &out); err != nil {
		return err
	}
	written := out.Bytes()
	if newline != "" {
		written = bytes.ReplaceAll(written, []byte(newline), []byte(`\n`))
	}
	e.out = append(e.out, written...)
	return nil
}
