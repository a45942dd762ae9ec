package cases_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
)

// The answers as they are printed, a public format: testdata/answers has cases, each written over several lines, and
// `go test ./state/inventory/cases -rewrite` writes what is answered; "whole" is for all of it as one object. Those in akash.txt are Akash's own inventory's answers.
func TestAnswers(t *testing.T) {
	datadriven.Walk(t, "testdata/answers", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out bytes.Buffer
			for c, err := range cases.Read(strings.NewReader(strings.ReplaceAll(d.Input, "\n", " ")), "case", 1<<20) {
				if err != nil {
					return "error: " + err.Error()
				}
				a := c.Answer()
				if d.Cmd == "whole" {
					write(t, &out, a)
					continue
				}
				for _, part := range []any{a.Existing, a.Results, a.After} {
					if list, ok := part.([]cases.Result); ok {
						for _, r := range list {
							write(t, &out, r)
						}
						continue
					}
					write(t, &out, part)
				}
				out.WriteString(strings.Join(a.Lines(c), "\n"))
			}
			return out.String()
		})
	})
}

func write(t *testing.T, out *bytes.Buffer, part any) {
	t.Helper()
	if err := json.NewEncoder(out).Encode(part); err != nil {
		t.Fatal(err)
	}
}
