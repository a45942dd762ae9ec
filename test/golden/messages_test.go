package golden_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/golden"
)

var (
	// sentence is what a text has that a person reads: two words.
	sentence = regexp.MustCompile(`[A-Za-z%'’]{2,}.* .*[a-z]{2,}`)
	// vague are words that do not say who did what to which object.
	vague = regexp.MustCompile(`(?i)\b(left|mend(s|ed)?)\b`)
	line  = strings.NewReplacer("\n", `\n`, "\t", "", "\x00", "", "\x1b", "")
)

// What the programs can print is in one file, but for the help, by package, to be read as a whole: each message says who did what to which object, and what to
// type next.
func TestMessages(t *testing.T) {
	var all strings.Builder
	folder := ""
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(filepath.Clean(path), filepath.Clean("../..")+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || name == "test" || name == "hack" || name == "bench"):
			return filepath.SkipDir
		case name == "plugin/help.md": // the help of the commands, which is read there
			text, err := os.ReadFile(path)
			if word := vague.Find(text); word != nil {
				t.Errorf("%s: say who did what: %q", name, word)
			}
			return err
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, text := range texts(file) {
			if at := filepath.ToSlash(filepath.Dir(name)); at != folder {
				folder = at
				all.WriteString("# " + folder + "\n")
			}
			all.WriteString(line.Replace(strings.TrimSpace(text)) + "\n")
			if vague.MatchString(text) {
				t.Errorf("%s: say who did what: %q", name, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/messages.txt", all.String())
}

// texts are the sentences in the literals of a file, in their order.
func texts(file *ast.File) (all []string) {
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && !tags[n] && sentence.MatchString(text) {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}
