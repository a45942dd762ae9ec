package apply

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
)

// direct answers a client's requests without a connection: with it a test can run in a bubble of its own time.
type direct struct{ *server }

func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		request.Body = http.NoBody
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, request)
	return w.Result(), nil
}

// newDirect is newServer for a test in a bubble of its own time.
func newDirect(t *testing.T) (*server, *cluster.Cluster) {
	t.Helper()
	s := &server{objects: map[string]*unstructured.Unstructured{}}
	c, err := cluster.Connect(&rest.Config{Host: "http://server", Transport: direct{s}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// The time to wait is that of the whole run, however many routes nobody says anything of.
func TestTimeoutBoundsTheRun(t *testing.T) {
	hosts := []string{"a.example.com", "b.example.com", "c.example.com", "d.example.com"}
	definitions := []*lease.Definition{withHosts(someLease(someOwner, 1), hosts...)}
	synctest.Test(t, func(t *testing.T) {
		_, c := newDirect(t)
		a, _ := applier(t, c)
		if err := a.Apply(t.Context(), definitions); err != nil {
			t.Fatal(err)
		}
		a, kept := applier(t, c)
		a.Command.Options.Config.Target, a.Command.Options.Wait = config.TargetHTTPRoute, 30*time.Second
		start := time.Now()
		err := a.Apply(t.Context(), definitions)
		timeout, ok := errors.AsType[*report.TimeoutError](err)
		if !ok || len(timeout.Waiting) != len(hosts) {
			t.Errorf("want an error that names what %d routes lack, not: %v", len(hosts), err)
		}
		if took := time.Since(start); took > a.Command.Options.Wait+time.Second {
			t.Errorf("it took %s", took)
		}
		for _, host := range hosts {
			if !slices.Contains(kept.texts, "ingress/"+host+" left") {
				t.Errorf("it is not told that the Ingress of %s stays: %q", host, kept.texts)
			}
		}
	})
}
