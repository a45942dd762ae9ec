package report_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// What an error waits for is what it names as a thing or an object, and nothing whose name is a word of its text.
func TestWaitsFor(t *testing.T) {
	held := func(thing, object string) error {
		return &report.HeldError{Held: []report.HeldThing{{Kind: state.Host, Thing: thing, By: state.Holder{Object: object}}}}
	}
	kept := &report.KeptError{Kept: []report.KeptThing{{Kind: state.Host, Thing: "a.example.com", Objects: []string{"ingress apps/web"}}}, Running: []string{"providerhost lease/b.example.com"}}
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "c.example.com", errors.New("it is another one"))
	for _, tt := range []struct {
		err  error
		name string
		want bool
	}{
		{nil, "a", false},
		{errors.New("host a of lease web is held by lease akash1b/7/1, use another one"), "a", false},
		{held("a.example.com", ""), "a.example.com", true},
		{held("a.example.com", ""), "held", false},
		{held("a.example.com", ""), "b.a.example.com", false},
		{held("a.example.com", ""), "*.example.com", true},
		{held("*.example.com", ""), "a.example.com", true},
		{held("*.example.com", ""), "a.b.example.com", false},
		{held("a.example.com", "ingress apps/a"), "a", true},
		{held("a.example.com", "ingress apps/a"), "apps", false},
		{held("a.example.com", "node 1"), "1", true},
		{&report.ExhaustedError{Endpoint: "a", Ranges: []string{"203.0.113.0/28"}}, "203.0.113.7", true},
		{&report.ExhaustedError{Endpoint: "a", Ranges: []string{"203.0.113.0/28"}}, "a", false},
		{&report.TimeoutError{Waiting: []string{"ingress apps/a to be gone"}, Gone: []string{"ingress apps/a"}}, "a", true},
		{&report.TimeoutError{Waiting: []string{"the record of a"}}, "a", false},
		{&report.ConflictError{Object: "ingress/a.example.com", Managers: []string{"helm"}, Err: errors.New("refused")}, "a.example.com", true},
		{&report.ConflictError{Object: "ingress/a.example.com", Managers: []string{"helm"}, Err: errors.New("refused")}, "helm", false},
		{&report.DeletingError{Object: render.Object{Name: "a"}}, "a", true},
		{kept, "a.example.com", true},
		{kept, "web", true},
		{kept, "b.example.com", true},
		{kept, "lease", false},
		{&report.PoolOverlapError{Pool: "old", Wanted: "new"}, "old", true},
		{&report.PoolOverlapError{Pool: "old", Wanted: "new"}, "new", false},
		{&report.OvertakenError{Kind: state.Host, Thing: "a.example.com"}, "a.example.com", true},
		{&report.MovingError{Done: "written", Kind: "ingress", Namespace: "apps", Name: "a", Why: "b"}, "a", true},
		{fmt.Errorf("host c.example.com could not be claimed: %w", stale), "c.example.com", true},
		{fmt.Errorf("host c.example.com could not be claimed: %w", stale), "leases", false},
		{report.Failures{errors.New("b"), &report.LeaseError{Lease: statetest.Shop.Group(), Err: &report.HalfError{Why: held("a.example.com", ""), Left: errors.New("b")}}}, "a.example.com", true},
		{errors.Join(errors.New("b"), held("a.example.com", "")), "b", false},
	} {
		if got := report.WaitsFor(tt.err, tt.name); got != tt.want {
			t.Errorf("%v waits for %q: %t", tt.err, tt.name, got)
		}
	}
}
