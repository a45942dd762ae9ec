package apply

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// A server that goes away for good ends the run, once and not for each claim; the error says what
// was done.
func TestServerGoesAway(t *testing.T) {
	s, _ := newServer(t, 1)
	c, err := cluster.Connect(&rest.Config{Host: s.url, Timeout: time.Second}, 1) // as --request-timeout says
	if err != nil {
		t.Fatal(err)
	}
	gone := false
	s.before = func(_ *server, _, path string) (int, bool) {
		gone = gone || path == claimPath+"b.example.com"
		return 0, gone
	}
	s.silent = func() bool { return gone }
	a, kept := applier(t, c)
	err = a.Apply(t.Context(), []*lease.Definition{withHosts(someLease(someOwner, 1), "a.example.com", "b.example.com")})
	ended, ok := errors.AsType[*report.LeaseError](err)
	if !ok || !cluster.IsAway(err) || !slices.Equal(ended.Done, []string{"host/a.example.com claimed"}) {
		t.Fatalf("error %v, events %q", err, kept.texts)
	}
	if _, ok := errors.AsType[*report.HalfError](err); ok {
		t.Errorf("it is tried to give back what cannot be: %v", err)
	}
	gone, s.before = false, nil
	fresh, err := cluster.Connect(&rest.Config{Host: s.url, Timeout: time.Second}, 1) // c has just given up
	if err != nil {
		t.Fatal(err)
	}
	a, _ = applier(t, fresh)
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
	s, c := newServer(t, 1)
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
	a, _ := applier(t, c)
	err := a.Apply(t.Context(), []*lease.Definition{withHosts(someLease(someOwner, 1), "a.example.com", "b.example.com")})
	half, ok := errors.AsType[*report.HalfError](err)
	if !ok || !strings.Contains(half.Left.Error(), "host a.example.com could not be given back") {
		t.Fatalf("error %v", err)
	}
	if _, ok := errors.AsType[*report.HeldError](half.Why); !ok {
		t.Errorf("the reason is %v", half.Why)
	}
}

// Each lease of which a server that went away has ended the work says what that had changed.
func TestServerGoesAwayFromSeveralLeases(t *testing.T) {
	s, _ := newServer(t, 1)
	c, err := cluster.Connect(&rest.Config{Host: s.url, Timeout: time.Second}, 1)
	if err != nil {
		t.Fatal(err)
	}
	first, second := someLease(someOwner, 1), someLease(someOwner, 2)
	gone := false
	s.before = func(_ *server, method, path string) (int, bool) {
		gone = gone || method == http.MethodDelete && strings.HasSuffix(path, "/ingresses/b.example.com")
		return 0, gone
	}
	s.silent = func() bool { return gone }
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(first, "a.example.com"), withHosts(second, "b.example.com")}); err != nil {
		t.Fatal(err)
	}
	err = a.Release(t.Context(), []lease.Group{first.Group(), second.Group()})
	failures := report.Failures{}
	if !errors.As(err, &failures) || len(failures) != 2 {
		t.Fatalf("error %v", err)
	}
	for i, want := range []report.LeaseError{{Lease: first.Group(), Done: []string{"ingress/a.example.com deleted", "providerhost/a.example.com deleted"}}, {Lease: second.Group()}} {
		ended, ok := errors.AsType[*report.LeaseError](failures[i])
		if !ok || ended.Lease != want.Lease || !cluster.IsAway(ended) || !slices.Equal(ended.Done, want.Done) {
			t.Errorf("of lease %s: %#v", want.Lease, failures[i])
		}
	}
}
