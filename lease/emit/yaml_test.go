package emit_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/emit"
)

func writeYAML(t *testing.T, value any) string {
	t.Helper()
	var out bytes.Buffer
	if err := emit.WriteYAML(&out, value); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestScalars(t *testing.T) {
	plain := []string{
		"a", "web", "shop.example.com", "akash-ingress-class", "/", "/api/v1", "16k", "30s", "error timeout",
		"5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4", "metallb.universe.tf/allow-shared-ip", "a:b", "yesterday", "e5",
	}
	for _, s := range plain {
		if got := writeYAML(t, s); got != s+"\n" {
			t.Errorf("%q is written as %s", s, got)
		}
	}
	quoted := []string{
		"", "y", "N", "yes", "No", "on", "OFF", "true", "False", "null", "Null", "~", "nan", "Inf", ".inf", "-.INF", ".nan",
		"0", "80", "-1", "+1", "1.5", ".5", "1e5", "1E+5", "1_000", "0x1f", "0o17", "017", "0b101", "203.0.113.7",
		"2026-01-01", "2026-01-01T00:00:00Z", "2001-12-14t21:59:43.10-05:00", "1:30", "190:20:30.15", "2001:db8::1",
		"- a", "-", "?", "? a", ":", "a: b", "a:", "a #b", "#a", " a", "a ", "a  b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
		"'a'", "\"a\"", "{a}", "[a]", "a,b", "a]", "---", "...", "=", "<<", "a\nb", "a\tb", "a\\b", "\x00", "\x7f", "\u0085",
		"\u2028", "\ufeff", "é", "\U0001F600", "\ufffd", "\uffff",
	}
	for _, s := range quoted {
		got := writeYAML(t, s)
		if !strings.HasPrefix(got, `"`) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q is written as %s", s, got)
		}
		var back any
		if err := yaml.Unmarshal([]byte(got), &back); err != nil || back != s {
			t.Errorf("%q is written as %sand read as %#v, %v", s, got, back, err)
		}
	}
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		`{"a":"yes","b":[1,-2.5e-7,1e21,null,{"c":{}}],"":" "}`, `"1:30"`, `["2026-01-01","0x1f","- ","a #b","é\u2028\ufeff\ud83d\ude00\/"]`,
		`[[["a"],[]],{"<<":{"=":"~"}}]`, `123456789012345678901234567890`, `{"a\nb":"\u0000\u007f\u0085","?":":"}`, `-0`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value any
		if json.Unmarshal(data, &value) != nil || bytes.Count(data, []byte("[")) > 500 || bytes.Count(data, []byte("{")) > 500 {
			t.Skip()
		}
		checkRoundTrip(t, value, value)
		// The original text may have escapes and numbers that Go does not write. YAML has no duplicate keys.
		if again, err := json.Marshal(value); err == nil && tokens(again) == tokens(data) {
			checkRoundTrip(t, json.RawMessage(data), value)
		}
	})
}

func checkRoundTrip(t *testing.T, input, want any) {
	t.Helper()
	text := writeYAML(t, input)
	var got any
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("sigs.k8s.io/yaml: %v\n%s", err, text)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("sigs.k8s.io/yaml reads %#v, want %#v\n%s", got, want, text)
	}
	got = nil
	if err := kyaml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("kyaml: %v\n%s", err, text)
	}
	// The reader returns whole numbers as integers.
	back, err := json.Marshal(got)
	if err != nil {
		t.Fatalf("kyaml: %v\n%s", err, text)
	}
	got = nil
	if err := json.Unmarshal(back, &got); err != nil || !reflect.DeepEqual(want, got) {
		t.Fatalf("kyaml reads %#v, want %#v\n%s", got, want, text)
	}
}

func tokens(data []byte) int {
	d := json.NewDecoder(bytes.NewReader(data))
	for n := 0; ; n++ {
		if _, err := d.Token(); err != nil {
			return n
		}
	}
}

// WriteJSON keeps the order of fields, and does not escape HTML.
func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	value := struct {
		B string `json:"b"`
		A []int  `json:"a"`
	}{"<a&b>", []int{1}}
	const want = "{\n  \"b\": \"<a&b>\",\n  \"a\": [\n    1\n  ]\n}\n"
	if err := emit.WriteJSON(&out, value); err != nil || out.String() != want {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := emit.WriteJSON(&out, make(chan int)); err == nil {
		t.Error("a channel was written")
	}
}
