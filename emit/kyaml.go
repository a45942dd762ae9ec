package emit

import (
	"bytes"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml/kyaml"
)

// What is looked for in the YAML that is written here, in which each quoted text is on one line.
var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// spacedLine begins a line of a text with a space that is neither a blank nor a tab.
	spacedLine = regexp.MustCompile(`(?:^"|\\n)\\u(?:000[bcd]|0085|00a0|1680|20[0-9a-f]{2}|3000)`)
	escape     = regexp.MustCompile(`\\.`)
)

// appendKYAML leaves the format to the library, which keeps the order of the keys that it reads. Of a text of several
// lines it writes each on a line of its own, but escapes a space at the beginning of one twice (sigs.k8s.io/yaml 1.6):
// such a text is handed over as one line, with a character in the place of each newline that the object does not have.
func (e *Encoder) appendKYAML(root node) error {
	text := e.tree.appendYAML(nil, root)
	stands := ""
	if bytes.Contains(text, []byte(`\u`)) {
		for r := 0xe000; stands == "" || bytes.Contains(text, []byte(stands[2:])); r++ {
			stands = fmt.Sprintf(`\u%04x`, r)
		}
		text = quoted.ReplaceAllFunc(text, func(s []byte) []byte {
			if !spacedLine.Match(s) {
				return s
			}
			return escape.ReplaceAllFunc(s, func(c []byte) []byte {
				if string(c) == `\n` {
					return []byte(stands)
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
	if stands != "" {
		written = bytes.ReplaceAll(written, []byte(stands), []byte(`\n`))
	}
	e.out = append(e.out, written...)
	return nil
}
