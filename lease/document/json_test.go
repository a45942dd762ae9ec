package document

import (
	"fmt"
	"strings"
	"testing"
)

// readAll returns the values and the problems of a stream, a document a line.
func readAll(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for doc, err := range Read(strings.NewReader(text), "f") {
		if err != nil {
			t.Fatal(err)
		}
		value := doc.Root().Value()
		fmt.Fprintf(&out, "%d: %#v", doc.Root().At().Line, value)
		for _, p := range doc.Problems {
			fmt.Fprintf(&out, " %s", p.Error())
		}
		fmt.Fprintln(&out)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// x is what a document {"a": …} is as a value.
func x(a string) string { return `map[string]interface {}{"a":` + a + `}` }

// JSON has the escapes, the characters and the numbers of RFC 8259, and not those of YAML.
func TestJSONIsReadAsJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "ghcr.io\/team\/web"}`:               "1: " + x(`"ghcr.io/team/web"`),
		"{\"a\": \"x\u0085y\"}":                     "1: " + x(`"x\u0085y"`),
		"{\"a\": \"x\u2028y\u2029\"}":               "1: " + x(`"x\u2028y\u2029"`),
		"{\"a\": \"x\x7fy\"}":                       "1: " + x(`"x\x7fy"`),
		"{\"a\": \"x\u0080\u009f\ufeff\ufffe\"}":    "1: " + x(`"x\u0080\u009f\ufeff\ufffe"`),
		`{"a": "\ud83d\ude00 \u00e9 \u0000"}`:       "1: " + x(`"😀 é \x00"`),
		`{"a": "\ud83d"}`:                           "1: " + x(`"�"`),
		"{\"a\": \"x\\\\\\\"\\b\\f\\n\\r\\t\"}":     "1: " + x(`"x\\\"\b\f\n\r\t"`),
		"\ufeff{\"a\": \"\\/\"}":                    "1: " + x(`"/"`),
		"\t{\n\t\"a\":\t\"\\/\"\n\t}\n":             "1: " + x(`"/"`),
		`{"a": 9007199254740993}`:                   "1: " + x(`9007199254740993`),
		`{"a": -1}`:                                 "1: " + x(`-1`),
		`{"a": 1.5E+2}`:                             "1: " + x(`150`),
		`{"a": true}`:                               "1: " + x(`true`),
		`{"a": null}`:                               "1: " + x(`interface {}(nil)`),
		`{"a": "true"}`:                             "1: " + x(`"true"`),
		`{"<<": {"b": "\/"}}`:                       `1: map[string]interface {}{"<<":map[string]interface {}{"b":"/"}}`,
		`[]`:                                        `1: []interface {}{}`,
		`[["\/"]]`:                                  `1: []interface {}{[]interface {}{"/"}}`,
		"{\"a\": \"\\/\"}{\"a\": 2}":                "1: " + x(`"/"`) + "\n1: " + x("2"),
		"{\"a\": \"\\/\"}\n{\"a\": 2}\n":            "1: " + x(`"/"`) + "\n2: " + x("2"),
		"{\"a\": \"\\/\"}\n---\na: 2\n":             "1: " + x(`"/"`) + "\n3: " + x("2"),
		"a: 1\n---\n{\"a\": \"\\/\"}\n":             "1: " + x("1") + "\n3: " + x(`"/"`),
		"# c\n---\n# d\n{\"a\": \"\\/\"} # e\n":     "4: " + x(`"/"`),
		"--- {\"a\": \"\\/\"}\n--- {\"a\": 2}\n":    "1: " + x(`"/"`) + "\n2: " + x("2"),
		"---\n---\n\n{\"a\": \"\\/\"}\r\n---\r\n":   "4: " + x(`"/"`),
		"{\"a\": \"\\/\"}\n...\n{\"a\": 2}\n...\n":  "1: " + x(`"/"`) + "\n3: " + x("2"),
		"{\"a\": 1} # c\n{\"a\": \"é\"} {\"a\": 3}": "1: " + x("1") + "\n2: " + x(`"é"`) + "\n2: " + x("3"),
		"\xff\xfe{\x00\"\x00a\x00\"\x00:\x00\"\x00\\\x00/\x00\"\x00}\x00": "1: " + x(`"/"`),
		"\xfe\xff\x00{\x00\"\x00a\x00\"\x00:\x00\"\x00\\\x00/\x00\"\x00}": "1: " + x(`"/"`),
		"{\x00\"\x00a\x00\"\x00:\x00\"\x00\x3d\xd8\x00\xde\"\x00}\x00":    "1: " + x(`"😀"`),
		"\xff\xfea\x00:\x00 \x001\x00":                                    "1: " + x("1"),
		"\x00a\x00:\x00 \x001":                                            "1: " + x("1"),
		// What is YAML, but not JSON, is YAML.
		"{a: 1}":            "1: " + x("1"),
		"{\"a\": 1,}":       "1: " + x("1"),
		"{\"a\": b}":        "1: " + x(`"b"`),
		"{\"a\": 1 # c\n}":  "1: " + x("1"),
		"{\"a\": \"\\x41\"": "1: <nil> f:1:9: not valid JSON: invalid character 'x' in string escape code",
		"{a: \"\\/\"}":      "1: <nil> f:1:1: not valid YAML: found unknown escape character",
	} {
		if got := readAll(t, text); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestMistakesInJSONHaveTheirPlaces(t *testing.T) {
	haveMistakes(t, map[string]string{
		"{\n \"a\": \"é\", \"b\" 1}":        "f:2:16: not valid JSON: invalid character '1' after object key",
		"{\n \"a\": 1\n \"b\": \"\\/\"}":    "f:3:2: not valid JSON: invalid character '\"' after object key:value pair",
		"[":                                 "f:1:1: not valid JSON: unexpected end of JSON input",
		"# c\n{ [\n":                        "f:2:3: not valid JSON: invalid character '[' looking for beginning of object key string",
		"{\x00\n\x00\"\x00":                 "f:2:1: not valid JSON: unexpected end of JSON input",
		"{\"a\": [1, \"\\/\"":               "f:1:14: not valid JSON: unexpected end of JSON input",
		"{\"a\": [1, \"\\/\"}\n":            "f:1:15: not valid JSON: invalid character '}' after array element",
		"{\"a\": \"\\/":                     "f:1:9: not valid JSON: unexpected end of JSON input",
		"{\"a\": \"\\/\n\"}":                "f:1:10: not valid JSON: invalid character '\\n' in string literal",
		"{\"a\": 01}{":                      "f:1:8: not valid JSON: invalid character '1' after object key:value pair",
		"x: 1\n---\n{\"a\": \"\\/\", b: 1}": "f:3:13: not valid JSON: invalid character 'b'",
		"{\"a\": \"é\xff\"}":                "f:1:9: not valid JSON: a character is not UTF-8",
		"{\"a\": 1}\n{\"b\": \"\\/\"":       "f:2:10: not valid JSON: unexpected end of JSON input",
		"{\"a\": 1}\n\"\\/\" x":             "f:2:6: not valid JSON: invalid character 'x'",
		"{\"a\": 1, \"\\/\": 2}]":           "f:1:18: not valid JSON: invalid character ']'",
	})
}

// Problems of values have the place of the value, and a key that is given twice is an error.
func TestProblemsInJSONHaveTheirPlaces(t *testing.T) {
	doc := one(t, "\n{\"é\": {\"n\": \"\\/\",\n\t\"n\" : 70000}, \"big\": 18446744073709551615, \"bigger\": 18446744073709551616}")
	root := doc.Root().AnyMapping()
	root.Get("é").AnyMapping()
	if n, ok := root.Get("big").Uint(1, 1<<64-1, "a number"); n != 1<<64-1 || !ok {
		t.Errorf("big is %d, %v", n, ok)
	}
	root.Get("bigger").Uint(1, 1<<64-1, "a number")
	for item := range root.Get("é").List() {
		t.Error(item)
	}
	want := `f:3:2: é.n: key "n" is given twice (also in line 2)
f:3:55: bigger: 18446744073709551616 is not a number (1 to 18446744073709551615)
f:2:7: é: expected a list, found a mapping`
	if got := doc.Problems.Error(); got != want {
		t.Errorf("problems\n%s\nwant\n%s", got, want)
	}
}

func TestJSONIsNestedOnlySoDeep(t *testing.T) {
	for _, open := range []string{`[`, `{"a":`, `[{"a":`} {
		deep := strings.Repeat(open, 200_000) + `"\/"`
		doc := one(t, deep)
		if !doc.Problems.Failed() || doc.root != nil {
			t.Errorf("%s: problems %v", open, doc.Problems)
		}
	}
	doc := one(t, strings.Repeat("[", 9_000)+`"\/"`+strings.Repeat("]", 9_000))
	if doc.Problems.Failed() {
		t.Errorf("9,000 lists: %v", doc.Problems)
	}
}
