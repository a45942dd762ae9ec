package emit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/emit"
)

// drawText draws strings that some YAML reader takes for another value, and concatenations of their parts.
func drawText(t *rapid.T) string {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "a", "y", "no", "null", "~", "true", "0", "1", "-", ".", "e", "E", "x", "o", "_", ":", " ", "  ", "#", "\n", "\t", "\r", "\\", "\"", "'", "|", ">", "&", "*", "!", "%", "@", "`", "?", ",",
			"[", "]", "{", "}", "<<", "=", "---", "...", "0x", "1e5", ".inf", "2026-01-01", "12:30", "\x00", "\x7f", "\u0085", "\u00a0", "\u2028", "\ufeff", "\ufffd", "é", "\U0001F600",
		}), rapid.String(),
	)
	return strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "text"), "")
}

// drawValue draws a JSON value.
func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.Int32().Draw(t, "int"))
	case 3:
		return rapid.SampledFrom([]float64{0, -0.5, 1.5, 1e21, 1e-7, 1.7976931348623157e308, 5e-324, 123456789.125}).Draw(t, "float")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	case 6, 7:
		fields := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "fields") {
			fields[drawText(t)] = drawValue(t, depth-1)
		}
		return fields
	}
	return drawText(t)
}

// A value that is written in any format and read again is equal, and is written as the same bytes.
func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []any
		for range rapid.IntRange(1, 3).Draw(t, "objects") {
			objects = append(objects, map[string]any{"value": drawValue(t, 3)})
		}
		for _, format := range []string{emit.YAML, emit.JSON, emit.KYAML} {
			text := encodeAll(t, format, objects)
			got := decodeAll(t, format, text)
			if !reflect.DeepEqual(got, objects) {
				t.Fatalf("%s: %#v is read, want %#v\n%s", format, got, objects, text)
			}
			if again := encodeAll(t, format, got); again != text {
				t.Fatalf("%s: written again it is\n%s\nand was\n%s", format, again, text)
			}
			if strings.Contains(text, "\x1b") || strings.Contains(text, "\x00") {
				t.Fatalf("%s: a character that a terminal obeys is written: %q", format, text)
			}
		}
	})
}

// KYAML writes a multi-line string on several lines, unless the library would change it.
func TestLinesOfKYAML(t *testing.T) {
	for text, want := range map[string]string{
		"a":                    `"a"`,
		"a\nb":                 "\"\\\n     a\\n\\\n     b\\\n    \"",
		"a\n b":                "\"\\\n     a\\n\\\n    \\ b\\\n    \"",
		"a\r\nb":               "\"\\\n     a\\r\\n\\\n     b\\\n    \"",
		"a\r\n\r\nb":           `"a\r\n\r\nb"`,
		"\r\nb":                `"\r\nb"`,
		"\u00a0\nb":            `"\_\nb"`,
		"a\n\u2028":            `"a\n\L"`,
		"a\n\u2028\\n":         `"a\n\L\\n"`,
		"a\n\u2028\ue000":      `"a\n\L\ue000"`,
		"a\n\u2028 ue000 e001": `"a\n\L ue000 e001"`,
	} {
		var out bytes.Buffer
		e, _ := emit.NewEncoder(&out, emit.KYAML)
		if err := errors.Join(e.Encode(map[string]string{"k": text}), e.Close()); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(strings.TrimPrefix(out.String(), "---\n{\n  k: "), ",\n}\n"); got != want {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}

func encodeAll(t *rapid.T, format string, objects []any) string {
	var out bytes.Buffer
	e, err := emit.NewEncoder(&out, format)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := e.Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func decodeAll(t *rapid.T, format, text string) []any {
	if format == emit.JSON {
		var list struct{ Items []any }
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return list.Items
	}
	var all []any
	for doc := range strings.SplitSeq(strings.TrimPrefix(text, "---\n"), "\n---\n") {
		var object any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatalf("%s: %v\n%s", format, err, doc)
		}
		all = append(all, object)
	}
	return all
}
