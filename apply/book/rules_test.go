package book

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// Each kind is listed once, whatever subjects need it, and only what has the labels of leases is selected by them; orders and routes need no more than
// is listed for them apart: testdata/kinds.txt.
func TestBookKinds(t *testing.T) {
	golden.Rules{"kinds": func(line string) string {
		var subjects []view.Subject
		for _, word := range strings.Fields(line) {
			subjects = append(subjects, view.Subject(word))
		}
		var said []string
		for _, k := range bookKinds(subjects) {
			text := k.Kind
			if selector := bookSelector(k); selector != "" {
				text += " of " + selector
			}
			if slices.Contains(said, text) {
				t.Errorf("%s: %s is listed twice", line, k.Kind)
			}
			said = append(said, text)
		}
		return strings.Join(said, "\n")
	}}.Check(t, "testdata/kinds.txt")
}

// isAllowed fails the test where a watch is refused.
func isAllowed(t *testing.T) func(error) {
	t.Helper()
	return func(err error) { t.Errorf("refused: %v", err) }
}

// A watch whose version the server no longer has (410) is begun anew. Something may have been
// missed, so it counts as a change; later changes are told as before.
func TestWatchBeginsAnew(t *testing.T) {
	change := make(chan struct{})
	watches := make(chan int, 1)
	watches <- 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"10"},"items":[]}`)
			return
		}
		n := <-watches
		watches <- n + 1
		if n == 0 {
			fmt.Fprint(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`)
			return
		}
		select {
		case <-change:
			fmt.Fprint(w, `{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop.example.com","resourceVersion":"11"}}}`)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := cluster.Connect(&rest.Config{Host: server.URL}, 1)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := watchAll(ctx, c, config.Default(), nil, wait.Backoff{Duration: time.Millisecond, Steps: 1}, isAllowed(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"the watch that ended", "the claim that was added"} {
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("not told of %s", what)
		}
		if what == "the watch that ended" {
			close(change)
		}
	}
}
