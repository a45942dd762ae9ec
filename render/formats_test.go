package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	netv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

func TestEncoderStream(t *testing.T) {
	for format, want := range map[string]string{
		emit.YAML:  "",
		emit.KYAML: "",
		emit.JSON:  "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n",
	} {
		if got := string(encode(t, format, nil)); got != want {
			t.Errorf("%s without objects: got %q, want %q", format, got, want)
		}
	}
	if _, err := emit.NewEncoder(io.Discard, "toml"); err == nil {
		t.Error("toml is a format")
	}
	objects := goldenCase{services: []lease.Service{web("shop.example.com")}}.objects(t)
	broken, _ := emit.NewEncoder(brokenWriter{}, emit.YAML)
	err := broken.Encode(objects[0].Config)
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
		if err := json.Unmarshal(encode(t, emit.JSON, objects), &list); err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{emit.YAML, emit.KYAML} {
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
		kinds.Ingress.Kind:   func() any { return new(netv1.Ingress) },
		kinds.HTTPRoute.Kind: func() any { return new(gwv1.HTTPRoute) },
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
