package manifests_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akash-net/kubectl-akash-net/lease/config"
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
	if diff := cmp.Diff(config.Default(), cfg, cmpopts.EquateEmpty()); diff != "" {
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
