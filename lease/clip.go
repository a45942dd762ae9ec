package lease

import (
	"fmt"
	"strings"
)

// maxShown is how much of a value messages repeat, in bytes: more than a host name has.
const maxShown = 512

// Clip shortens a value of an input that a message repeats.
func Clip(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// maxMessage is the longest message about one problem, in bytes.
const maxMessage = 2048

// Message is fmt.Sprintf for what is said of an input: the texts among its arguments are shortened, and
// so is what is still too long to be read.
func Message(format string, args ...any) string {
	for i, arg := range args {
		if s, ok := arg.(string); ok && len(s) > maxShown {
			args[i] = Clip(s)
		}
	}
	s := fmt.Sprintf(format, args...)
	if len(s) > maxMessage {
		return strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}
