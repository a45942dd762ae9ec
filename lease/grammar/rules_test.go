package grammar_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// What is said of headers and settings in full: testdata/rules.txt, a value a line, as it stands between Go's quotes;
// `go test ./lease/grammar -rewrite` writes what is said now.
func TestMessages(t *testing.T) {
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			value, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
			if err != nil {
				t.Fatal(line, err)
			}
			if text, times, ok := strings.Cut(value, "×"); ok {
				n, err := strconv.Atoi(times)
				if err != nil {
					t.Fatal(line, err)
				}
				value = strings.Repeat(text, n)
			}
			switch d.Cmd {
			case "name":
				err = grammar.HeaderName(value)
			case "request":
				err = grammar.HeaderValue(value, false)
			case "response":
				err = grammar.HeaderValue(value, true)
			default:
				setting, ok := grammar.Find("haproxy.router.openshift.io/" + d.Cmd)
				if !ok {
					setting, ok = grammar.Find("router.openshift.io/" + d.Cmd)
				}
				if !ok {
					t.Fatalf("%s is no setting", d.Cmd)
				}
				err = setting.Check(value)
			}
			said := "good"
			if err != nil {
				said = err.Error()
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, said)
		}
		return out.String()
	})
}
