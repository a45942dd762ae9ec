package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	netv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
)

func writeYAML(t *testing.T, value any) string {
	t.Helper()
	var out bytes.Buffer
	if err := render.WriteYAML(&out, value); err != nil {
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

func TestWriteYAML(t *testing.T) {
	long := strings.Repeat("k", 2000)
	for _, c := range []struct{ json, want string }{
		{`{"b":1,"a":"x"}`, "a: x\nb: 1\n"},
		{`{"a":{},"b":[],"c":null,"d":true,"e":1.5}`, "a: {}\nb: []\nc: null\nd: true\ne: 1.5\n"},
		{`{"a":[1,[2,[]],{"c":1,"b":[{"d":{}}]}]}`, "a:\n- 1\n- - 2\n  - []\n- b:\n  - d: {}\n  c: 1\n"},
		{`{"a":{"b":{"c":1}}}`, "a:\n  b:\n    c: 1\n"},
		{`{"yes":"yes","1":1," ":"\ud83d\ude00\/"}`, "\" \": \"\U0001F600/\"\n\"1\": 1\n\"yes\": \"yes\"\n"},
		{`[]`, "[]\n"},
		{`{}`, "{}\n"},
		{`[{"a":1e21},2E-7,3e5]`, "- a: 1.0e+21\n- 2.0e-7\n- 3.0e+5\n"},
		{`{"` + long + `":{"a":1},"z":2}`, "? " + long + "\n:\n  a: 1\nz: 2\n"},
	} {
		if d := cmp.Diff(c.want, writeYAML(t, json.RawMessage(c.json))); d != "" {
			t.Errorf("%.40s (-want +got):\n%s", c.json, d)
		}
	}
	if err := render.WriteYAML(io.Discard, func() {}); err == nil {
		t.Error("a function has been written")
	}
}

func TestEncoderStream(t *testing.T) {
	for format, want := range map[string]string{
		render.FormatYAML:  "",
		render.FormatKYAML: "",
		render.FormatJSON:  "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n",
	} {
		if got := string(encode(t, format, nil)); got != want {
			t.Errorf("%s without objects: got %q, want %q", format, got, want)
		}
	}
	if _, err := render.NewEncoder(io.Discard, "toml"); err == nil {
		t.Error("toml is a format")
	}
	objects := goldenCase{services: []lease.Service{web("shop.example.com")}}.objects(t)
	broken, _ := render.NewEncoder(brokenWriter{}, render.FormatYAML)
	err := broken.Encode(objects[0])
	if err = errors.Join(err, broken.Close()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a writer that fails gives %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The formats say the same, and nothing of it is empty.
func TestFormatsAgree(t *testing.T) {
	for _, c := range goldenCases {
		objects := c.objects(t)
		var list struct{ Items []any }
		if err := json.Unmarshal(encode(t, render.FormatJSON, objects), &list); err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{render.FormatYAML, render.FormatKYAML} {
			var items []any
			text := strings.TrimPrefix(string(encode(t, format, objects)), "---\n")
			for doc := range strings.SplitSeq(text, "---\n") {
				var item any
				if err := yaml.UnmarshalStrict([]byte(doc), &item); err != nil {
					t.Fatal(err)
				}
				items = append(items, item)
			}
			if d := cmp.Diff(list.Items, items); d != "" {
				t.Errorf("%s: %s (-json +%[2]s):\n%[3]s", c.name, format, d)
			}
		}
		for i, item := range list.Items {
			if path := empty(item); path != "" {
				t.Errorf("%s: %s: %s is empty", c.name, objects[i], path)
			}
		}
	}
}

// empty is the path of a null, an empty string, list or map within a JSON value, or "".
func empty(value any) string {
	switch v := value.(type) {
	case nil:
		return "."
	case string:
		if v == "" {
			return "."
		}
	case []any:
		for _, e := range v {
			if p := empty(e); p != "" {
				return "[]" + p
			}
		}
		if len(v) == 0 {
			return "."
		}
	case map[string]any:
		for k, e := range v {
			if k == "group" && e == "" {
				continue // the core API's group has this name
			}
			if p := empty(e); p != "" {
				return "." + k + p
			}
		}
		if len(v) == 0 {
			return "."
		}
	}
	return ""
}

// What the apply configurations say is what the API's own types understand.
func TestStrictTypes(t *testing.T) {
	types := map[string]func() any{
		render.Ingress.Kind:   func() any { return new(netv1.Ingress) },
		render.HTTPRoute.Kind: func() any { return new(gwv1.HTTPRoute) },
	}
	seen := map[string]bool{}
	for _, c := range goldenCases {
		for _, o := range c.objects(t) {
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			var head struct {
				APIVersion, Kind string
				Metadata         struct{ Name, Namespace string }
			}
			if err := json.Unmarshal(text, &head); err != nil {
				t.Fatal(err)
			}
			if head.APIVersion != o.Kind.GroupVersion().String() || head.Kind != o.Kind.Kind ||
				head.Metadata.Name != o.Name || head.Metadata.Namespace != o.Namespace {
				t.Errorf("%s: %s says it is %+v", c.name, o, head)
			}
			if newType, ok := types[o.Kind.Kind]; ok {
				seen[o.Kind.Kind] = true
				d := json.NewDecoder(bytes.NewReader(text))
				d.DisallowUnknownFields()
				if err := d.Decode(newType()); err != nil {
					t.Errorf("%s: %s: %v", c.name, o, err)
				}
			}
		}
	}
	if len(seen) != len(types) {
		t.Errorf("only %v were seen", seen)
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
		// The text as it stands has escapes and numbers that Go does not write. A key that comes
		// twice is not YAML.
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
	// The reader gives whole numbers as integers.
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
