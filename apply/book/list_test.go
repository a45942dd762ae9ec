package book

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// A continue token that has expired means that what was read is of a moment that is over: nothing
// of it is kept, and reading begins again.
func TestListBeginsAgainWhenItsTokenExpires(t *testing.T) {
	for name, read := range map[string]func(*cluster.Cluster) ([]string, error){
		"metadata": func(c *cluster.Cluster) (names []string, err error) {
			metas, err := c.Metas(t.Context(), cluster.Leases, "akash-net")
			for _, m := range metas {
				names = append(names, m.Name)
			}
			return names, err
		},
		"the book": func(c *cluster.Cluster) (names []string, err error) {
			book, err := Read(t.Context(), c, config.Default(), view.SubjectHosts)
			if err == nil {
				for _, h := range book.Hosts {
					names = append(names, h.Host)
				}
			}
			return names, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(forgetful())
			defer server.Close()
			c, err := cluster.Connect(&rest.Config{Host: server.URL}, 1)
			if err != nil {
				t.Fatal(err)
			}
			names, err := read(c)
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{"first", "new"}; !slices.Equal(names, want) {
				t.Errorf("the list is %q, want %q", names, want)
			}
		})
	}
}

// forgetful is a server with claims in two pages, which has forgotten the first when it is asked for
// the second, and nothing else.
func forgetful() http.Handler {
	pages := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		item := func(name string) string {
			return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"akash-net","labels":{%q:"host"},"annotations":{%q:"v1"}}}`, name, state.LabelKind, state.AnnotationLedger)
		}
		w.Header().Set("Content-Type", "application/json")
		next, items := "", ""
		if strings.HasSuffix(r.URL.Path, "/"+cluster.Leases.Resource) {
			items = item("new")
			switch pages++; {
			case pages == 1:
				next, items = "page-2", item("old")
			case pages == 2:
				w.WriteHeader(http.StatusGone)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
				return
			case r.URL.Query().Get("continue") == "":
				next, items = "page-2-again", item("first")
			}
		}
		fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":%q},"items":[%s]}`, next, items)
	})
}
