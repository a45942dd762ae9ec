package manifests_test

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/schema"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

var update = flag.Bool("update", false, "write config.yaml")

func schemas(t *testing.T) (settings, definition *schema.Schema) {
	t.Helper()
	all, err := manifests.Schemas()
	if err != nil {
		t.Fatal(err)
	}
	return all[0], all[1]
}

// Each key of each document is explained, and what its default is can be read.
func TestEachKeyIsExplained(t *testing.T) {
	settings, definition := schemas(t)
	for _, root := range []*schema.Schema{settings, definition} {
		count := 0
		var walk func(path string, s *schema.Schema)
		walk = func(path string, s *schema.Schema) {
			for _, p := range s.Keys() {
				at := path + "." + p.Name
				count++
				if d := p.Value.Description; !strings.HasSuffix(d, ".") || strings.Count(d, "`")%2 != 0 {
					t.Errorf("%s is described as %q", at, d)
				}
				walk(at, p.Value)
			}
		}
		walk(root.Title, root)
		if count < 50 {
			t.Errorf("%s has %d keys", root.Title, count)
		}
	}
}

// The schema has the keys that the program reads, and of each the type, the choices, the range and whether it must be there.
func TestSchemasAreOfTheTypes(t *testing.T) {
	for file, of := range map[string]any{"providerconfig": config.Document{}} {
		text, err := os.ReadFile(file + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		var root map[string]any
		if err := json.Unmarshal(text, &root); err != nil {
			t.Fatal(err)
		}
		compare(t, file, root, root, reflect.TypeOf(of), "")
	}
}

// compare compares the schema of a value with its type, and with the tags of document.Decode.
func compare(t *testing.T, at string, root, s map[string]any, of reflect.Type, tag reflect.StructTag) {
	t.Helper()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if ref, ok := s["$ref"].(string); ok {
		defs, _ := root["$defs"].(map[string]any)
		s, _ = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	var choices []string
	enum, _ := s["enum"].([]any)
	for _, word := range enum {
		if word != nil && word != "" {
			choices = append(choices, word.(string))
		}
	}
	say := func(what string, schema, program any) {
		if fmt.Sprint(schema) != fmt.Sprint(program) {
			t.Errorf("%s: %s is %v in the schema, and %v in the program", at, what, schema, program)
		}
	}
	isType := func(name string) bool {
		return s["type"] == nil || slices.Contains(strings.Fields(strings.Trim(fmt.Sprint(s["type"]), "[]")), name)
	}
	_, isText := reflect.New(of).Interface().(encoding.TextUnmarshaler)
	_, own := reflect.New(of).Interface().(interface{ Decode(c document.Cursor) })
	switch kind := of.Kind(); {
	case isText || own || kind == reflect.String:
		if !strings.HasPrefix(of.PkgPath(), "k8s.io/") { // Kubernetes' types have no such tags
			say("choices", strings.Join(choices, "|"), tag.Get("oneof"))
		}
		say("a text", isType("string") || own, true)
	case kind == reflect.Bool:
		say("a boolean", isType("boolean"), true)
	case kind == reflect.Float64:
		say("a number", isType("number"), true)
	case kind == reflect.Slice:
		say("a list", isType("array"), true)
		items, _ := s["items"].(map[string]any)
		compare(t, at+"[]", root, items, of.Elem(), tag)
	case kind == reflect.Map:
		values, _ := s["additionalProperties"].(map[string]any)
		compare(t, at+"{}", root, values, of.Elem(), "")
	case kind == reflect.Struct:
		keys, required := document.Keys(reflect.Zero(of).Interface()), []string{}
		properties, _ := s["properties"].(map[string]any)
		say("keys", slices.Sorted(maps.Keys(properties)), slices.Sorted(slices.Values(keys)))
		say("other keys", s["additionalProperties"], false)
		for _, f := range reflect.VisibleFields(of) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if value, ok := properties[key].(map[string]any); ok {
				compare(t, at+"."+key, root, value, f.Type, f.Tag)
				if strings.Contains(f.Tag.Get("read"), "required") {
					required = append(required, key)
				}
			}
		}
		if !strings.HasPrefix(of.PkgPath(), "k8s.io/") {
			all, _ := s["required"].([]any)
			say("what must be there", all, required)
		}
	default:
		say("an integer", isType("integer"), true)
		for bound, name := range map[string]string{"minimum": "min", "maximum": "max"} {
			n, _ := s[bound].(float64)
			of, _ := strconv.ParseFloat(tag.Get(name), 64)
			say(bound, n, of)
		}
	}
}

// The defaults of the schema are those of the program. What has no default in the schema has none in the program.
func TestDefaultsOfTheSchema(t *testing.T) {
	settings, _ := schemas(t)
	spec, err := settings.Find("spec")
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems, err := config.Read(strings.NewReader(ofDefaults(spec)), "")
	if cfg == nil {
		t.Fatal(problems, err)
	}
	if diff := cmp.Diff(config.Encode(config.Default()), config.Encode(cfg)); diff != "" {
		t.Errorf("(-program +schema):\n%s", diff)
	}
}

// config.yaml is the schema's defaults with its descriptions; with -update it is written.
func TestConfigIsOfTheSchema(t *testing.T) {
	settings, _ := schemas(t)
	spec, err := settings.Find("spec")
	if err != nil {
		t.Fatal(err)
	}
	const head = `# The configuration that all clients of the cluster share. Everything in it is a default: what is
# left out means the same as what stands here. This file is generated from providerconfig.schema.json.
apiVersion: v1
kind: ConfigMap
metadata:
  name: config
  namespace: akash-net
  labels:
    app.kubernetes.io/name: akash-net
    app.kubernetes.io/managed-by: kubectl-akash-net
data:
  config.yaml: |
`
	generated(t, "config.yaml", head+indented(ofDefaults(spec), "    "))
}

// ofDefaults is the ProviderConfig of the defaults, with a comment on each key.
func ofDefaults(spec *schema.Schema) string {
	return "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata:\n  name: provider\nspec:\n" + commented(spec, "  ")
}

func commented(s *schema.Schema, indent string) string {
	var out strings.Builder
	for _, p := range s.Properties {
		mark := indent + "# "
		out.WriteString(terminal.Paragraph(strings.ReplaceAll(p.Value.Description, "`", ""), mark, len(mark)+90))
		if choices := p.Value.Choices(); len(choices) > 0 && !mentions(p.Value.Description, choices) {
			out.WriteString(terminal.Paragraph(howMany(p.Value)+" of "+strings.Join(choices, ", ")+".", mark, len(mark)+90))
		}
		switch text := p.Value.DefaultText(); {
		case text != "":
			out.WriteString(indent + p.Name + ": " + text + "\n")
		case len(p.Value.Required) > 0: // all of it or nothing
			out.WriteString(indent + "# " + p.Name + ": {" + strings.Join(p.Value.Required, ": …, ") + ": …}\n")
		default:
			out.WriteString(indent + p.Name + ":\n" + commented(p.Value, indent+"  "))
		}
	}
	return out.String()
}

// howMany begins a sentence about the choices of a value.
func howMany(s *schema.Schema) string {
	if s.Items != nil {
		return "Any"
	}
	return "One"
}

// mentions reports whether a text names all the words.
func mentions(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func indented(text, indent string) string {
	return indent + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent) + "\n"
}

// What a key names as the page that says more is a page with that heading.
func TestPagesOfKeys(t *testing.T) {
	settings, _ := schemas(t)
	spec, err := settings.Find("spec")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for path, s := range spec.Leaves() {
		if s.Page == "" {
			continue
		}
		seen++
		page, anchor, _ := strings.Cut(s.Page, "#")
		text, err := os.ReadFile("../docs/" + page)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		found := anchor == ""
		for _, m := range headings.FindAllStringSubmatch(string(text), -1) {
			found = found || strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(m[1], "'", "")), " ", "-") == anchor
		}
		if !found {
			t.Errorf("%s: %s has no such heading", path, s.Page)
		}
	}
	if seen < 5 {
		t.Errorf("only %d keys name a page", seen)
	}
}

var headings = regexp.MustCompile(`(?m)^#+ (.*)$`)

// generated compares a file with what it is to be; with -update it writes it.
func generated(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is not of the schema; write it with: make generate\n(-file +schema):\n%s", file, diff)
	}
}
