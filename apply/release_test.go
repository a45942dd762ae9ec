package apply

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// A delete that was done and answered with an error is done.
func TestDeleteWithALostAnswer(t *testing.T) {
	const host = "a.example.com"
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, kept := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)}); err != nil {
		t.Fatal(err)
	}
	s.after = func(_ *server, method, _ string) (int, bool) {
		return http.StatusServiceUnavailable, method == http.MethodDelete
	}
	kept.texts = nil
	if err := a.Release(t.Context(), []lease.Group{id.Group()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"namespaces/" + id.Namespace()}, s.names()); diff != "" {
		t.Errorf("left after the release:\n%s", diff)
	}
	if !slices.Contains(kept.texts, "host/"+host+" released") {
		t.Errorf("the release is not told: %q", kept.texts)
	}
}

// So is the delete of a kept definition, also if nothing else was left of the lease.
func TestForgetWithALostAnswer(t *testing.T) {
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, kept := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, "a.example.com")}); err != nil {
		t.Fatal(err)
	}
	for path := range s.objects {
		if strings.HasSuffix(path, ".example.com") {
			delete(s.objects, path)
		}
	}
	lost := false
	s.after = func(_ *server, method, path string) (int, bool) {
		now := method == http.MethodDelete && strings.Contains(path, "/leases/df--")
		lost = lost || now
		return http.StatusInternalServerError, now
	}
	kept.texts = nil
	if err := a.Release(t.Context(), []lease.Group{id.Group()}); err != nil {
		t.Fatal(err)
	}
	if !lost || len(kept.texts) > 0 {
		t.Errorf("no answer to the delete: %t; told: %q", lost, kept.texts)
	}
}

// What another command has written before it is the release's turn goes too: here a kept definition.
func TestReleaseReadsInItsTurn(t *testing.T) {
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, "a.example.com")}); err != nil {
		t.Fatal(err)
	}
	written := map[string]*unstructured.Unstructured{}
	for path, o := range s.objects {
		if strings.Contains(path, "/leases/df--") {
			written[path] = o
			delete(s.objects, path)
		}
	}
	s.before = func(s *server, _, path string) (int, bool) {
		if strings.Contains(path, "/leases/run--") {
			maps.Copy(s.objects, written)
			clear(written)
		}
		return 0, false
	}
	if err := a.Release(t.Context(), []lease.Group{id.Group()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"namespaces/" + id.Namespace()}, s.names()); diff != "" {
		t.Errorf("left after the release:\n%s", diff)
	}
}

// A claim that the user may not delete is named.
func TestReleaseOfAForbiddenClaim(t *testing.T) {
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, "a.example.com")}); err != nil {
		t.Fatal(err)
	}
	s.before = func(_ *server, method, path string) (int, bool) {
		return http.StatusForbidden, method == http.MethodDelete && strings.HasSuffix(path, "/leases/a.example.com")
	}
	err := a.Release(t.Context(), []lease.Group{id.Group()})
	if err == nil || !strings.Contains(err.Error(), "host a.example.com could not be released: not allowed to delete leases") {
		t.Errorf("error %v", err)
	}
}

// Objects that a finalizer holds back may still serve: their claims are kept until they are gone.
func TestClaimStaysWhileAFinalizerHolds(t *testing.T) {
	const host = "a.example.com"
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)}); err != nil {
		t.Fatal(err)
	}
	for path, o := range s.objects {
		if strings.Contains(path, "/ingresses/") {
			o.SetFinalizers([]string{"example.com/balancer"})
		}
	}
	s.before = func(_ *server, method, path string) (int, bool) {
		return http.StatusOK, method == http.MethodDelete && strings.Contains(path, "/ingresses/")
	}
	a.Command.Options.Wait = time.Millisecond
	err := a.Release(t.Context(), []lease.Group{id.Group()})
	if _, ok := errors.AsType[*report.TimeoutError](err); !ok {
		t.Fatalf("error %v", err)
	}
	if !slices.Contains(s.names(), "leases/"+host) {
		t.Errorf("the claim is gone while its route is there: %q", s.names())
	}
}

// A ProviderHost that a transfer has given to another lease of the owner since it was read is that
// lease's: it stays, and so does the claim of what it declares.
func TestReleaseLeavesWhatHasChangedHands(t *testing.T) {
	const host = "a.example.com"
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, host)}); err != nil {
		t.Fatal(err)
	}
	moved := false
	s.before = func(s *server, method, path string) (int, bool) {
		if method == http.MethodDelete && short(path) == "providerhosts/"+host && !moved {
			moved = true
			o := s.objects[path]
			labels := o.GetLabels()
			labels["akash.network/lease.id.dseq"] = "2"
			o.SetLabels(labels)
			o.SetResourceVersion("99999")
		}
		return 0, false
	}
	err := a.Release(t.Context(), []lease.Group{id.Group()})
	if _, kept := errors.AsType[*report.KeptError](err); !kept {
		t.Errorf("error %v", err)
	}
	if !moved || !slices.Contains(s.names(), "providerhosts/"+host) {
		t.Errorf("changed hands: %v; left: %q", moved, s.names())
	}
}
