package emit

import (
	"encoding/json"
	"io"
)

// WriteJSON writes one value as indented JSON, with its fields in their order, and characters of HTML as they are.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
