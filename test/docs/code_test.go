package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

func TestExitCodesAreDocumented(t *testing.T) {
	text := read(t, "docs/commands.md")
	codes := constants(t, "plugin/console/errors.go", func(name string) bool { return strings.HasPrefix(name, "exit") })
	if len(codes) == 0 {
		t.Fatal("plugin/console/errors.go has no exit codes")
	}
	for name, code := range codes {
		if !strings.Contains(text, "\n| "+code+" | ") {
			t.Errorf("docs/commands.md has no row for exit code %s (%s)", code, name)
		}
	}
}

func TestAnnotationsAreDocumented(t *testing.T) {
	text := read(t, "docs/annotations.md")
	seen := 0
	for _, file := range []string{"lease/host.go", "state/claim.go", "state/announcement.go", "state/failing.go"} {
		for name, value := range constants(t, file, func(name string) bool {
			return strings.HasPrefix(name, "Label") || strings.HasPrefix(name, "Annotation") || strings.HasSuffix(name, "Prefix")
		}) {
			if strings.HasSuffix(name, "Prefix") && !strings.HasSuffix(value, "/") {
				continue // of the names of objects
			}
			seen++
			// A prefix stands before what its annotations name, the others alone.
			named := "`" + value
			if !strings.HasSuffix(value, "/") {
				named += "`"
			}
			if !strings.Contains(text, named) {
				t.Errorf("docs/annotations.md does not name %s (%s in %s)", value, name, file)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d labels and annotations were found in the code", seen)
	}
}

func TestActionsOfEventsAreDocumented(t *testing.T) {
	text := read(t, "docs/commands.md")
	actions := constants(t, "engine/report/event.go", func(name string) bool { return !strings.HasPrefix(name, "Kind") })
	if len(actions) == 0 {
		t.Fatal("engine/report/event.go has no actions")
	}
	for name, action := range actions {
		if !strings.Contains(text, "| `"+action+"` |") {
			t.Errorf("docs/commands.md has no row for the action %s (report.%s)", action, name)
		}
	}
}

// problemWords are words in backticks that look like the name of a problem.
var problemWords = regexp.MustCompile("`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`")

// problemRows are the first cells of rows that begin with code.
var problemRows = regexp.MustCompile("(?m)^[|] `[^|]+")

// The page on problems has a row for each kind that there is, and names no other.
func TestProblemsAreDocumented(t *testing.T) {
	text := read(t, "docs/problems.md")
	rows := strings.Join(problemRows.FindAllString(text, -1), "")
	for _, kind := range state.ProblemKinds {
		if !strings.Contains(rows, "`"+kind+"`") {
			t.Errorf("docs/problems.md has no row for %s", kind)
		}
	}
	for _, m := range problemWords.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(state.ProblemKinds, m[1]) {
			t.Errorf("docs/problems.md names %s, which is no problem", m[1])
		}
	}
}

var key = regexp.MustCompile("json:\"([a-zA-Z]+)")

func TestKeysOfEventsAreDocumented(t *testing.T) {
	text := read(t, "docs/commands.md")
	_, after, ok := strings.Cut(read(t, "plugin/console/events.go"), "type jsonEvent struct {")
	if !ok {
		t.Fatal("plugin/console/events.go has no type jsonEvent")
	}
	fields, _, _ := strings.Cut(after, "\n}")
	for _, m := range key.FindAllStringSubmatch(fields, -1) {
		if !strings.Contains(text, "| `"+m[1]+"` |") {
			t.Errorf("docs/commands.md has no row for the key %s of an event", m[1])
		}
	}
}

// providerKeys are the lists of the keys of Akash's provider.yaml that are read, and their keys.
var (
	providerKeys = regexp.MustCompile(`(?s)\nvar (?:provider|other)Keys = \S+\{(.*?)\n\}`)
	providerKey  = regexp.MustCompile(`"([a-zA-Z0-9-]+)"`)
)

func TestKeysOfAkashsConfigurationAreDocumented(t *testing.T) {
	text := read(t, "docs/configuration.md")
	lists := providerKeys.FindAllString(read(t, "lease/config/provider.go"), -1)
	if len(lists) != 2 {
		t.Fatalf("lease/config/provider.go has %d lists of keys", len(lists))
	}
	for _, key := range providerKey.FindAllStringSubmatch(strings.Join(lists, ""), -1) {
		if !strings.Contains(text, "`"+key[1]+"`") {
			t.Errorf("docs/configuration.md does not name %s of provider.yaml", key[1])
		}
	}
}

// constants are the constants of one file whose names are wanted, with their values as text.
func constants(t *testing.T, file string, wanted func(string) bool) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	values, out := map[string]string{}, map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if i >= len(spec.Values) {
				break
			}
			value, ok := evaluate(spec.Values[i], values)
			if values[name.Name] = value; ok && wanted(name.Name) {
				out[name.Name] = value
			}
		}
		return true
	})
	return out
}

// evaluate is the value of a literal, a constant seen before, lease.Domain, or a sum of them.
func evaluate(e ast.Expr, known map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}
		return e.Value, true
	case *ast.Ident:
		s, ok := known[e.Name]
		return s, ok
	case *ast.SelectorExpr:
		return lease.Domain, e.Sel.Name == "Domain"
	case *ast.BinaryExpr:
		left, ok := evaluate(e.X, known)
		right, too := evaluate(e.Y, known)
		return left + right, ok && too && e.Op == token.ADD
	}
	return "", false
}

// The way of a host through apply -f has at most 80 stops, each of which is a function of a folder that its row names.
func TestTheWayOfAHost(t *testing.T) {
	const most = 80
	row, quoted := regexp.MustCompile(`(?m)^\| \d+ \| ([^|]+) \| ([^|]+) \| [^|]+ \|$`), regexp.MustCompile("`([^`]+)`")
	stops := 0
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/development.md"), -1) {
		declared := map[string]bool{}
		for _, folder := range quoted.FindAllStringSubmatch(m[1], -1) {
			maps.Copy(declared, functions(t, folder[1]))
		}
		for _, stop := range quoted.FindAllStringSubmatch(m[2], -1) {
			if stops++; !declared[stop[1]] {
				t.Errorf("docs/development.md names %s, which no folder of %s declares", stop[1], m[1])
			}
		}
	}
	if stops < 50 || stops > most {
		t.Errorf("%d stops, at most %d are wanted", stops, most)
	}
}

// functions returns the names of the functions and methods of a folder.
func functions(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// A type with more than 45 methods is several subjects, but for the engine's view and the snapshot that it looks at: their methods are
// grouped by file.
func TestNoTypeHasManyMethods(t *testing.T) {
	const most, view, snapshot = 45, "engine.view", "engine/observed.Snapshot"
	methods, top := map[string]int{}, root(t)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(top, filepath.Dir(path))
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				name, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"), "[")
				methods[folder+"."+name]++
			}
		}
		return err
	})
	if err != nil || methods[view] <= most {
		t.Fatalf("%d types, %s has %d methods: %v", len(methods), view, methods[view], err)
	}
	for name, n := range methods {
		if n > most && name != view && name != snapshot {
			t.Errorf("%s has %d methods, at most %d are wanted", name, n, most)
		}
	}
}
