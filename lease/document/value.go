package document

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"
)

// JSON decodes a text that is a JSON object, which is faster than YAML. If ok is false, read the text with Documents,
// which reports what is wrong with it.
func (t Text) JSON() (value any, ok bool) {
	data := bytes.TrimSpace(t.data)
	if len(data) == 0 || data[0] != '{' || !utf8.Valid(data) {
		return nil, false
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, false
	}
	return fields, true
}

// Value returns the value as Kubernetes represents JSON: maps with string keys, slices, strings, booleans, int64 and
// float64. A timestamp is a string.
func (c Cursor) Value() any {
	switch {
	case c.IsNull():
		return nil
	case c.IsMapping():
		m := c.AnyMapping()
		fields := make(map[string]any, c.Len())
		for key, value := range m.Entries() {
			fields[key.node.Value] = value.Value()
		}
		return fields
	case c.IsList():
		items := make([]any, 0, c.Len())
		for item := range c.List() {
			items = append(items, item.Value())
		}
		return items
	}
	return c.scalar()
}

func (c Cursor) scalar() any {
	text := c.node.Value
	switch c.node.Tag {
	case "!!bool":
		return strings.EqualFold(text, "true")
	case "!!int":
		if n, err := strconv.ParseInt(strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+"), 0, 64); err == nil {
			return n
		}
		fallthrough
	case "!!float":
		if f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
	return text
}
