package document

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// utf8Text returns a text in UTF-8. One in UTF-16, as PowerShell writes files, begins with a byte order mark, or with a
// character of which one byte is zero.
func utf8Text(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case len(text) < 2 || len(text)%2 != 0:
		return text
	case bytes.HasPrefix(text, []byte("\xff\xfe")), text[0] != 0 && text[1] == 0:
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xfe\xff")), text[0] == 0 && text[1] != 0:
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
