package modules

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
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

// What this module tests is made of the versions of a release. Who imports or scans the programs gets none of what only tests that lie
// apart need.
func TestApart(t *testing.T) {
	apart, released := required(t, "test/apart"), required(t, "")
	for module, version := range released {
		if other := apart[module]; other != "" && other != version {
			t.Errorf("go.mod has %s %s, test/apart/go.mod %s: run go mod tidy in test/apart", module, version, other)
		}
	}
	for _, module := range []string{
		"github.com/anishathalye/porcupine", "github.com/chromedp/chromedp", "github.com/google/licensecheck", "github.com/moby/buildkit",
		"github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring", "github.com/prometheus/prometheus",
	} {
		if released[module] != "" {
			t.Errorf("go.mod requires %s, which only tests need: the test belongs into test/apart", module)
		}
	}
}
