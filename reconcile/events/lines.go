package events

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is a line of an input.
type line struct {
	number int
	text   []byte
	// long is true if the line has more bytes than it may have: then it has no text.
	long bool
}

// scan sends the lines of an input that are not blank, until the input ends or send returns false. A line that is too long is sent before
// its end has come, as that may never come. number is that of the last line so far.
func scan(r io.Reader, limit int64, number int, send func(line) bool) (last int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		number++
		text, long, none := []byte(nil), false, true
		part, err := []byte(nil), bufio.ErrBufferFull
		for errors.Is(err, bufio.ErrBufferFull) {
			part, err = in.ReadSlice('\n')
			if none = none && len(part) == 0; long {
				continue
			}
			text = append(text, part...)
			if long = int64(len(bytes.TrimRight(text, "\r\n"))) > limit; long {
				if text = nil; !send(line{number: number, long: true}) {
					return number, nil
				}
			}
		}
		if text = bytes.TrimSpace(text); len(text) > 0 && (err == nil || errors.Is(err, io.EOF)) && !send(line{number: number, text: text}) {
			return number, nil
		}
		switch {
		case errors.Is(err, io.EOF) && none: // there is no such line
			return number - 1, nil
		case errors.Is(err, io.EOF):
			return number, nil
		case err != nil:
			return number, err
		}
	}
}
