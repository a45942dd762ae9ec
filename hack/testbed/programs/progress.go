package programs

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// progress counts the packages that `go build -v` names, a line each, and says from time to time how many
// there were; other lines it passes on.
type progress struct {
	out      io.Writer
	each     time.Duration
	last     time.Time
	rest     []byte
	packages int
}

// Write takes what go build prints.
func (p *progress) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		p.rest = bytes.Clone(rest)
		if err := p.line(string(line)); err != nil {
			return len(text), err
		}
	}
}

func (p *progress) line(line string) error {
	if strings.ContainsAny(line, " \t#") {
		_, err := fmt.Fprintln(p.out, line)
		return err
	}
	p.packages++
	if time.Since(p.last) < p.each {
		return nil
	}
	p.last = time.Now()
	_, err := fmt.Fprintf(p.out, "  %d packages compiled\n", p.packages)
	return err
}
