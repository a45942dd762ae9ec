package findings

import (
	"fmt"
	"io"
	"strings"
)

// GitHub's rules for what a workflow command contains: actions/toolkit, packages/core/src/command.ts.
var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteGitHub writes the errors and warnings as workflow commands of GitHub Actions, a line for each, which become annotations of
// the files. Files are named relative to the root of the source code.
func (r Report) WriteGitHub(w io.Writer, root Root) error {
	for _, f := range r.forPipelines() {
		var properties []string
		add := func(name, value string) { properties = append(properties, name+"="+propertyEscapes.Replace(value)) }
		if f.File != "" && f.File != input {
			add("file", root.relative(f.File))
			if f.Line > 0 {
				add("line", fmt.Sprint(f.Line))
				add("col", fmt.Sprint(f.Column))
			}
		}
		add("title", titleOf(f.Rule))
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", f.Level, strings.Join(properties, ","), messageEscapes.Replace(f.text())); err != nil {
			return err
		}
	}
	return nil
}

func titleOf(r Rule) string {
	for _, one := range rules {
		if one.rule == r {
			return one.title
		}
	}
	return string(r)
}
