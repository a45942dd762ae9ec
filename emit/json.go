package emit

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a value as indented JSON. It keeps the order of fields and does not escape HTML.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
