package page

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// visible returns HTML in which the characters are shown that nobody would see: controls, and those that change the order of other
// characters. The whole page goes through it.
func visible(html []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(html); {
		r, size := utf8.DecodeRune(html[i:])
		if hidden(r, size) {
			out = append(out, html[from:i]...)
			if size == 1 {
				out = fmt.Appendf(out, `\x%02x`, html[i])
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return html
	}
	return append(out, html[from:]...)
}

func hidden(r rune, size int) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}
	return r == utf8.RuneError && size == 1 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
