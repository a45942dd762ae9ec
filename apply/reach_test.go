package apply

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// hurried makes the wait for a server short for the test.
func hurried(t *testing.T) {
	k := knocking
	t.Cleanup(func() { knocking = k })
	knocking = wait.Backoff{Duration: time.Microsecond}
}

// A list whose line is cut in the middle is read again, and so is one that a gateway or a busy server
// did not answer; none of it is taken for an empty list.
func TestListIsReadAgain(t *testing.T) {
	hurried(t)
	page := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[{"metadata":{"name":"a"}}]}`
	for name, fail := range map[string]func(http.ResponseWriter){
		"cut": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(page)))
			_, _ = io.WriteString(w, page[:40])
			panic(http.ErrAbortHandler)
		},
		"no answer": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"a gateway": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"busy": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"starting": func(w http.ResponseWriter) { http.Error(w, "server is starting", http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if requests++; requests == 2 {
					fail(w)
					return
				}
				_, _ = io.WriteString(w, page)
			}))
			defer server.Close()
			cluster, err := Connect(&rest.Config{Host: server.URL}, 1)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				metas, err := cluster.metas(t.Context(), leases, "akash-net")
				if err != nil || len(metas) != 1 {
					t.Fatalf("%d claims, error %v, after %d requests", len(metas), err, requests)
				}
			}
			if requests < 3 {
				t.Errorf("%d requests: nothing went wrong", requests)
			}
		})
	}
}

// A server that has never answered is not waited for: a wrong address fails at once.
func TestNoServerIsNotWaitedFor(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	cluster, err := Connect(&rest.Config{Host: server.URL}, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cluster.metas(t.Context(), leases, "akash-net")
	if err == nil || isAway(err) || !strings.Contains(err.Error(), "no answer from the cluster") {
		t.Errorf("error %v", err)
	}
}

// A server that goes away for good ends the run, once and not for each claim; the error says what
// was done.
func TestServerGoesAway(t *testing.T) {
	hasty(t)
	hurried(t)
	s, cluster := newServer(t, 1)
	cluster.reach.patience = 20 * time.Millisecond
	gone := false
	s.before = func(_ *server, _, path string) (int, bool) {
		gone = gone || path == claimPath+"b.example.com"
		return 0, gone
	}
	s.silent = func() bool { return gone }
	a, kept := applier(t, cluster)
	err := a.Apply(t.Context(), []*lease.Definition{withHosts(someLease(someOwner, 1), "a.example.com", "b.example.com")})
	away := (*AwayError)(nil)
	if !errors.As(err, &away) || !slices.Equal(away.Done, []string{"host/a.example.com claimed"}) {
		t.Fatalf("error %v, events %q", err, kept.texts)
	}
	if half := (*HalfError)(nil); errors.As(err, &half) {
		t.Errorf("it is tried to give back what cannot be: %v", err)
	}
	gone, s.before = false, nil
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(someLease(someOwner, 1), "a.example.com", "b.example.com")}); err != nil {
		t.Errorf("one more run: %v", err)
	}
	if names := s.names(); !slices.Contains(names, "ingresses/b.example.com") {
		t.Errorf("after one more run: %q", names)
	}
}

// What cannot be given back is said with the reason for which the run failed: nobody may believe that
// nothing was changed.
func TestHalfAClaimIsSaid(t *testing.T) {
	hasty(t)
	s, cluster := newServer(t, 1)
	s.before = func(s *server, method, path string) (int, bool) {
		switch {
		case method == http.MethodPatch && path == claimPath+"b.example.com":
			s.claimed(t, someLease(somebodyElses, 1), "b.example.com", "")
			return http.StatusConflict, true
		case method == http.MethodDelete:
			return http.StatusForbidden, true
		}
		return 0, false
	}
	a, _ := applier(t, cluster)
	err := a.Apply(t.Context(), []*lease.Definition{withHosts(someLease(someOwner, 1), "a.example.com", "b.example.com")})
	half := (*HalfError)(nil)
	if !errors.As(err, &half) || !strings.Contains(half.Left.Error(), "host a.example.com could not be given back") {
		t.Fatalf("error %v", err)
	}
	if held := (*HeldError)(nil); !errors.As(half.Why, &held) {
		t.Errorf("the reason is %v", half.Why)
	}
}
