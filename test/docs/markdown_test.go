package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a document.
type block struct {
	// info is what stands behind the opening fence: the language, and a word for the tests.
	info string
	text string
	// line is that of the first line of text.
	line int
}

// documents are the paths of all Markdown files, from the root: README.md first.
func documents(t *testing.T) []string {
	t.Helper()
	dir := root(t)
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			path, err := filepath.Rel(dir, f)
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	if i := slices.Index(paths, "README.md"); i > 0 {
		paths = append([]string{"README.md"}, slices.Delete(paths, i, i+1)...)
	}
	return paths
}

// blocks are the fenced blocks of a document. A fence that is not closed fails the test.
func blocks(t *testing.T, path string) []block {
	t.Helper()
	var out []block
	var open *block
	for i, line := range strings.Split(read(t, path), "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{info: info, line: i + 2}
		case fence:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block is not closed", path, open.line-1)
	}
	return out
}

// outside is a document without its fenced blocks.
func outside(text string) string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		fence := strings.HasPrefix(line, "```")
		if !inside && !fence {
			out.WriteString(line)
		}
		inside = inside != fence
	}
	return out.String()
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(root(t), path))
	return err == nil
}
