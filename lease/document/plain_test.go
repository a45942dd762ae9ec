package document

import (
	"reflect"
	"strings"
	"testing"
)

// whole reads the one object of a text as Documents does; ok is false if it has a problem.
func whole(text string) (value any, ok bool) {
	for t, err := range Texts(strings.NewReader(text), "f", 0) {
		if err != nil || ok {
			return nil, false
		}
		for d := range t.Documents() {
			if ok {
				return nil, false
			}
			value = d.Root().Value()
			ok = !d.Problems.Failed() && len(d.Problems) == 0
		}
	}
	return value, ok
}

func plainOf(text string) (value map[string]any, ok bool) {
	for t, err := range Texts(strings.NewReader(text), "f", 0) {
		value, _, ok = t.Plain()
		return value, ok && err == nil
	}
	return nil, false
}

// What is printed is read as plain, and as the whole reader reads it; anything else is not plain.
func TestPlain(t *testing.T) {
	for _, text := range []string{
		"a: b\n", "---\na: b\n", "a:\n  b: c\n  d:\n  - e\n  - f: g\n    h: 1\n  - i\nj: true\n", "a:\n- b\n", "a:\n  - b\n", "a: {}\nb: []\n", "a: 0\nb: 80\n",
		"a: \"8\"\nb: \"x\\n\\\"\\u00e4\"\n", "\"a b\": c\n", "a:\nb: null\n", "a: x: y\n"[:3] + "x\n", "a: /x\n", "a/b.c: d e f\n", "a: b#c\n", "a: b:c\n", "a:\n  b:\n    c: d\n  e: f\n",
		"a: TRUE1\n", "a:\n- b: 1\n  c:\n  - d\n- b: 2\n", "a: b", "a: 10.0.0.1\n", "a: 7j23m\n", "a: 0g\n", "a:\n- b: c\n  d: e\nf: g",
	} {
		plain, ok := plainOf(text)
		want, valid := whole(text)
		if !ok || !valid || !reflect.DeepEqual(any(plain), want) {
			t.Errorf("%q: plain %v %#v, whole %v %#v", text, ok, plain, valid, want)
		}
	}
	for _, text := range []string{
		"", "a\n", "- a\n", "a: b # c\n", "# a\na: b\n", "a: 'b'\n", "a: |\n  b\n", "a: >-\n  b\n", "a: &b c\n", "a: *b\n", "a: !!str b\n", "a: {b: c}\n", "a: [b]\n", "a: yes\n",
		"a: ~\n", "a: 1.5\n", "a: 1.5.2\n", "a: 0x1\n", "a: 1e5\n", "a: 0b1\n", "a: 1f\n", strings.Repeat("a", 2000) + ": b\n", "a: 0x10\n", "a: 010\n", "a: 1_000\n", "a: -1\n", "a: .inf\n", "a: 2001-01-01\n", "a: b\na: c\n", "a: b\n...\n", "a: b\n  c\n",
		"a: \"b\n  c\"\n", "a:\n  b: c\n d: e\n", "a:\n- b\n c\n", "a:\n-\n  b: c\n", "a:\n- - b\n", "a:  b\n", "a: b \n", "a:\tb\n", "a: b\r\n", "? a\n: b\n", "a: b: c\n", "<<: a\n",
		"a: \"\\x41\"\n", "on: a\n", "1: a\n", "a: Ünicode\n", "a: \"\\ud83d\\ude00\"\n", "a: \"\u007f\"\n", "a: b\n\nc: d\n", "a: \"b\" c\n",
	} {
		if plain, ok := plainOf(text); ok {
			t.Errorf("%q is read as plain: %#v", text, plain)
		}
	}
}

// Whatever is read as plain is what the whole reader reads.
func FuzzPlain(f *testing.F) {
	f.Add("a:\n  b: c\n  d:\n  - e\n  - f: g\n    h: 1\nj: true\n")
	f.Add("a: \"x\\n\"\nb:\n- c: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if plain, ok := plainOf(text); ok {
			if want, valid := whole(text); !valid || !reflect.DeepEqual(any(plain), want) {
				t.Errorf("%q: plain %#v, whole %v %#v", text, plain, valid, want)
			}
		}
	})
}
