package document

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metadata is the metadata of a document of this program.
type Metadata struct {
	Name        string            `json:"name,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// Encode returns what Decode reads as JSON, with the keys of a struct in their order. A list without items is [], a duration is in whole
// seconds or milliseconds. What omitempty is said of is left out if it is empty or the default.
func Encode(value any) ([]byte, error) {
	v := reflect.Indirect(reflect.ValueOf(value))
	return appendValue(make([]byte, 0, 1<<10), v, planOf(v.Type()))
}

func appendValue(out []byte, v reflect.Value, f *field) ([]byte, error) {
	switch f.how {
	case asText:
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return out, err
		}
		return appendText(out, string(text))
	case asString:
		return appendText(out, v.String())
	case asDuration:
		return appendText(out, duration(time.Duration(v.Int())))
	case asBool:
		return strconv.AppendBool(out, v.Bool()), nil
	case asInt:
		return strconv.AppendInt(out, v.Int(), 10), nil
	case asUint:
		return strconv.AppendUint(out, v.Uint(), 10), nil
	case asPointer:
		return appendValue(out, v.Elem(), f.of)
	case asMapping:
		if f.text != nil {
			return appendValue(out, v.FieldByIndex(f.text.index), f.text)
		}
		return appendMapping(out, v, f)
	case asMap:
		return appendMap(out, v, f)
	case asList:
		return appendList(out, v, f, '[', ']')
	case asEntries:
		return appendList(out, v, f, '{', '}')
	}
	return appendJSON(out, v.Interface())
}

// appendText appends a text; most need no escapes.
func appendText(out []byte, text string) ([]byte, error) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || strings.IndexByte(`"\<>&`, c) >= 0 {
			return appendJSON(out, text)
		}
	}
	return append(append(append(out, '"'), text...), '"'), nil
}

func appendJSON(out []byte, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	return append(out, text...), err
}

// duration returns whole seconds or milliseconds.
func duration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d/time.Millisecond)
}

func appendMapping(out []byte, v reflect.Value, f *field) (_ []byte, err error) {
	out = append(out, '{')
	start := len(out)
	for _, of := range f.fields {
		value, err := v.FieldByIndexErr(of.index)
		if err != nil || of.omit && isEmpty(value, of) {
			continue
		}
		if len(out) > start {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), of.key...), `":`...)
		if out, err = appendValue(out, value, of); err != nil {
			return out, err
		}
	}
	return append(out, '}'), nil
}

// isEmpty reports whether there is nothing to write but a default.
func isEmpty(v reflect.Value, f *field) bool {
	switch f.how {
	case asList, asEntries, asMap:
		return v.Len() == 0
	case asMapping:
		for _, of := range f.fields {
			if value, err := v.FieldByIndexErr(of.index); err == nil && !isEmpty(value, of) {
				return false
			}
		}
		return true
	}
	return v.IsZero() || f.fallback.IsValid() && v.Equal(f.fallback)
}

func appendMap(out []byte, v reflect.Value, f *field) (_ []byte, err error) {
	out = append(out, '{')
	for i, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }) {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendText(out, key.String()); err != nil {
			return out, err
		}
		if out, err = appendValue(append(out, ':'), v.MapIndex(key), f.of); err != nil {
			return out, err
		}
	}
	return append(out, '}'), nil
}

func appendList(out []byte, v reflect.Value, f *field, open, end byte) (_ []byte, err error) {
	out = append(out, open)
	for i := range v.Len() {
		if i > 0 {
			out = append(out, ',')
		}
		item := v.Index(i)
		if f.how == asEntries {
			if out, err = appendText(out, item.FieldByIndex(f.of.entry.index).String()); err != nil {
				return out, err
			}
			out = append(out, ':')
		}
		if out, err = appendValue(out, item, f.of); err != nil {
			return out, err
		}
	}
	return append(out, end), nil
}
