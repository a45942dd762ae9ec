package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The hosts and paths that an object stands for: testdata/objects.txt, "GROUP KIND SPEC" a line, or "annotated ANNOTATIONS
// Ingress SPEC"; `go test ./state/admission -rewrite` writes them.
func TestPartsOfObjects(t *testing.T) {
	datadriven.RunTest(t, "testdata/objects.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			var annotations map[string]string
			from := line
			if rest, annotated := strings.CutPrefix(line, "annotated "); annotated {
				said, spec, _ := strings.Cut(rest, "} ")
				if err := json.Unmarshal([]byte(said+"}"), &annotations); err != nil {
					t.Fatal(line, err)
				}
				from = "networking.k8s.io " + spec
			}
			words := strings.SplitN(from, " ", 3)
			var spec any
			if err := json.Unmarshal([]byte(words[2]), &spec); err != nil {
				t.Fatal(line, err)
			}
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": words[0] + "/v1", "kind": words[1], "spec": spec}}
			o.SetAnnotations(annotations)
			fmt.Fprintln(&out, line)
			for _, r := range RoutesOf(o) {
				said := []string{fmt.Sprintf("%q %q", r.Host, r.Path)}
				if r.Wildcard != WildcardNone {
					said = append(said, "wildcard "+string(r.Wildcard))
				}
				for word, is := range map[string]bool{"redirect": r.Redirect, "tls": r.TLS, "passthrough": r.Passthrough, "leased": r.HasLease, "alias": r.Alias} {
					if is {
						said = append(said, word)
					}
				}
				if len(r.Matches) > 0 {
					said = append(said, fmt.Sprintf("matches %q", r.Matches))
				}
				slices.Sort(said[1:])
				fmt.Fprintln(&out, "    "+strings.Join(said, " "))
			}
		}
		return out.String()
	})
}

// Verdicts are sorted by host, path and age, in whatever order the routes were read.
func TestOrderOfVerdicts(t *testing.T) {
	route := func(host, path, name string, age int) Route {
		return Route{Kind: KindRoute, Namespace: "ns", Name: name, Host: host, Path: path, Created: time.Unix(int64(100-age), 0)}
	}
	routes := []Route{route("b", "/", "1", 9), route("a", "/x", "2", 1), route("a", "/", "3", 2), route("a", "/x", "4", 5), route("", "", "5", 3)}
	want := "5 3 4 2 1"
	for range len(routes) {
		routes = append(routes[1:], routes[0])
		var got []string
		for _, a := range Decide(Rules{}, nil, slices.Clone(routes), nil) {
			got = append(got, a.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the order is %s, want %s", got, want)
		}
	}
}
