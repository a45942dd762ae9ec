package thing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// How names are understood, and what is said of those that are not: `go test ./lease/thing -rewrite` writes it. OWNER
// stands for an owner, PROVIDER for a provider.
func TestNames(t *testing.T) {
	short := strings.NewReplacer("OWNER", owner, "PROVIDER", id[strings.LastIndex(id, "/")+1:])
	long := strings.NewReplacer(owner, "OWNER", id[strings.LastIndex(id, "/")+1:], "PROVIDER")
	datadriven.RunTest(t, "testdata/names.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			said := ""
			switch text := short.Replace(line); d.Cmd {
			case "parse":
				understood, err := Parse(text)
				switch {
				case err != nil:
					said = "! " + err.Error()
				case understood.Kind == Host && understood.Endpoint != "":
					said = understood.String() + " or endpoint/" + understood.Endpoint
				default:
					said = understood.String()
				}
			case "print":
				kind, name, _ := strings.Cut(text, " ")
				said = Print(kind, name)
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, long.Replace(said))
		}
		return out.String()
	})
}
