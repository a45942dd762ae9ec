package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// What each reader makes of a value, and what it says of those that it does not take: testdata/scalars.txt has a
// reader a block and a value a line. `go test ./lease/document -rewrite` writes what is read now.
func TestReaders(t *testing.T) {
	datadriven.RunTest(t, "testdata/scalars.txt", func(t *testing.T, d *datadriven.TestData) string {
		var least, most uint64 = 1, 65535
		if d.HasArg("most") {
			d.ScanArgs(t, "least", &least)
			d.ScanArgs(t, "most", &most)
		}
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			doc := one(t, "k: 1\nv: "+line+"\n")
			doc.Strict = d.HasArg("strict")
			c := doc.Root().AnyMapping().Get("v")
			if c.IsNull() != (c.kind() == "nothing") {
				t.Errorf("%s is %s", line, c.kind())
			}
			fmt.Fprintf(&out, "%s  =>  ", line)
			if read := readers(c, least, most)[d.Cmd](); len(doc.Problems) == 0 {
				fmt.Fprintln(&out, read)
			}
			for _, p := range doc.Problems {
				fmt.Fprintln(&out, strings.TrimPrefix(p.Error(), "f:2:4: v: "))
			}
		}
		return out.String()
	})
}

// readers are the ways in which a value is read, by their names in the file.
func readers(c Cursor, least, most uint64) map[string]func() string {
	maybe := func(value any, ok bool) string {
		if !ok {
			return fmt.Sprint("missing, ", value)
		}
		return fmt.Sprint(value)
	}
	return map[string]func() string{
		"uint":     func() string { return maybe(c.Uint(least, most, "a port")) },
		"sequence": func() string { return fmt.Sprint(c.Sequence(most, "a number")) },
		"float":    func() string { return maybe(c.Float()) },
		"bool":     func() string { return fmt.Sprint(c.Bool()) },
		"text":     func() string { return fmt.Sprintf("%q", c.Text()) },
		"word":     func() string { return fmt.Sprintf("%q", c.Word()) },
		"duration": func() string { return fmt.Sprint(c.Duration()) },
		"raw":      func() string { return fmt.Sprintf("%q", c.Raw()) },
		"len":      func() string { return fmt.Sprint(c.Len()) },
		"value":    func() string { return fmt.Sprintf("%#v", c.Value()) },
	}
}
