package terminal

import (
	"io"
	"os"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// cells measures texts. It does not depend on the locale: a terminal shows "…" and "■" in one cell.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// Cells returns the number of cells that a text takes on a terminal: two for a wide character, none for a combining one.
func Cells(text string) int { return cells.StringWidth(text) }

// file returns the file that a stream writes to, nil if it is none.
func file(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case *Output:
		return file(s.Out)
	case *SafeWriter:
		return file(s.Out)
	case *Screen:
		return file(s.out)
	case *clearingWriter:
		return file(s.out)
	}
	return nil
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f := file(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Width returns the function that returns the current number of columns of a stream: 80 if the terminal does not tell, and 0 if the
// stream is no terminal, so that its text is not folded.
func Width(out io.Writer) func() int {
	if !IsTerminal(out) {
		return func() int { return 0 }
	}
	f := file(out)
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
}

// Fold breaks a text between words into lines of at most width cells; 0 breaks nothing. A longer word stays whole, so that it can be
// copied. So does a command, which is everything from "kubectl" on: a shell would run the half of it that a line has.
func Fold(text string, width int) []string {
	if width <= 0 || Cells(text) <= width {
		return []string{text}
	}
	command := ""
	if i := strings.Index(text, "kubectl "); i >= 0 {
		i = strings.LastIndex(text[:i], " ") + 1
		text, command = text[:i], text[i:]
	}
	words := strings.Fields(text)
	if command != "" {
		words = append(words, command)
	}
	lines := []string{""}
	for _, word := range words {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case Cells(*last)+1+Cells(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Hang folds one line of a text. The lines that follow are indented by two more than the first.
func Hang(line string, width int) string {
	if width <= 0 || Cells(line) <= width {
		return line
	}
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)]
	return indent + strings.Join(Fold(rest, max(width-len(indent)-2, 1)), "\n"+indent+"  ")
}

// FoldLines folds each line of a text. What follows a line has its indent.
func FoldLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		rest := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(rest)]
		lines[i] = indent + strings.Join(Fold(rest, max(width-len(indent), 1)), "\n"+indent)
	}
	return strings.Join(lines, "\n")
}
