package modules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var require = regexp.MustCompile(`(?m)^\t([a-z]\S+) (v\S+)`)

// required returns the versions of the modules that a module requires.
func required(t *testing.T, folder string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, m := range require.FindAllStringSubmatch(string(text), -1) {
		versions[m[1]] = m[2]
	}
	return versions
}

// What this module tests is made of the versions of a release. Who imports or scans the programs gets of what only tests need no
// more than this.
func TestApart(t *testing.T) {
	apart, released := required(t, "test/apart"), required(t, "")
	for module, version := range released {
		if other := apart[module]; other != "" && other != version {
			t.Errorf("go.mod has %s %s, test/apart/go.mod %s: run go mod tidy in test/apart", module, version, other)
		}
	}
	tests := modulesOf(t, "-test", "./...")
	for module := range modulesOf(t, "./cmd/...") {
		delete(tests, module)
	}
	want := map[string]bool{
		"github.com/cockroachdb/datadriven": true, "github.com/google/go-cmp": true, "github.com/rogpeppe/go-internal": true, "golang.org/x/tools": true, "pgregory.net/rapid": true,
	}
	if diff := cmp.Diff(want, tests); diff != "" {
		t.Errorf("modules that only tests need: a test that needs more belongs into test/apart (-want +got):\n%s", diff)
	}
}

// modulesOf returns the modules of packages of the programs' module, and of all that they import, without that itself.
func modulesOf(t *testing.T, packages ...string) map[string]bool {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"}, packages...)...)
	list.Dir, list.Stderr = root(t), os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]bool{}
	for module := range strings.FieldsSeq(string(out)) {
		modules[module] = true
	}
	return modules
}
