package report_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

var update = flag.Bool("update", false, "write the golden file")

// Each error says what is the matter, with whom, and what to do next: testdata/errors.txt; `go test ./engine/report -update` writes it.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	group, conflict := statetest.Shop.Group(), errors.New("conflict on .spec.rules")
	since := time.Date(2026, 11, 18, 10, 0, 0, 0, time.FixedZone("", 3600))
	held := func(by ...state.Holder) error {
		e := &report.HeldError{Lease: statetest.Shop}
		for i, holder := range by {
			e.Held = append(e.Held, report.HeldThing{Kind: state.Host, Thing: fmt.Sprintf("h%d.example.com", i), By: holder})
		}
		return e
	}
	var got strings.Builder
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"held by a lease, by an owner, by an object of an owner, by an object", held(
			state.Holder{Owner: statetest.Bob, Lease: statetest.Blog, Namespace: "ns", Since: since}, state.Holder{Owner: statetest.Bob},
			state.Holder{Owner: statetest.Bob, Object: "ingress ns/web"}, state.Holder{Object: "ingress ns/web", Namespace: "ns"})},
		{"held by nobody who is known, with a reason, and by the same input for another owner", held(
			state.Holder{}, state.Holder{Reason: "the claim cannot be read"}, state.Holder{Owner: statetest.Bob, Input: "b.yaml:1:1", Since: since})},
		{"somebody changes an object all the time", &report.MovingError{Done: "deleted", Kind: "ingress", Namespace: "ns", Name: "web", By: "argocd", Why: "it was modified"}},
		{"it is not known who does", &report.MovingError{Done: "written", Kind: "namespace", Name: "ns", Why: "no try was first"}},
		{"what failed could not be taken back", &report.HalfError{Lease: statetest.Shop, Why: errors.New("no answer"), Left: errors.New("host a.example.com is still claimed")}},
		{"no address is free", &report.ExhaustedError{Endpoint: "public", Ranges: []string{"203.0.113.0/31", "198.51.100.1/32"}}},
		{"the time to wait was over", &report.TimeoutError{After: 90 * time.Second, Waiting: []string{"route a", "route b"}}},
		{"the time to wait was over before a look", &report.TimeoutError{After: time.Second, Waiting: []string{""}}},
		{"it was not waited for", &report.TimeoutError{Waiting: []string{"route a"}}},
		{"an uninstall is under way", &report.ClosingError{Namespace: "akash-net"}},
		{"an object is being deleted", &report.DeletingError{Object: render.Object{Kind: kinds.Ingress, Namespace: "ns", Name: "web"}, Finalizers: []string{"example.com/slow"}}},
		{"Akash's provider keeps things", &report.KeptError{Group: group, Kept: []report.KeptThing{
			{Kind: state.Host, Thing: "a.example.com", Declared: true, Objects: []string{"providerhost lease/a.example.com", "ingress ns/a.example.com"}},
			{Kind: state.Host, Thing: "*.example.com", Declared: true, Of: statetest.Shop, Objects: []string{"providerhost lease/x"}},
			{Kind: state.Address, Thing: "203.0.113.1", Of: statetest.Shop, Objects: []string{"service ns/web"}},
		}, Running: []string{"providerhost lease/b.example.com"}}},
		{"a source would bring it back", &report.SourceError{Lease: group, Source: "prod"}},
		{"Akash's provider would", &report.SourceError{Lease: group, Source: kept.OfManifests}},
		{"no source has it any more", &report.SourceError{Lease: group}},
		{"an operator would choke", &report.OperatorError{Lease: statetest.Shop, Why: "it has no Manifest"}},
		{"an operator would choke on a line", &report.OperatorError{At: lease.Place{File: "deploy.yaml", Line: 2, Column: 7}, Why: "it has no Manifest"}},
		{"a plan of a file is out of date", &report.MovedError{Moved: []string{"host/a", "ingress/b"}}},
		{"a plan of a kept definition is out of date", &report.MovedError{Moved: []string{"host/a"}, Kept: true}},
		{"two pools overlap", &report.PoolOverlapError{Pool: "administrators", Wanted: "akash-ip", Addresses: "203.0.113.0/24"}},
		{"another run has taken a host", &report.OvertakenError{Kind: state.Host, Thing: "a.example.com"}},
		{"somebody manages fields with other values", &report.ConflictError{Object: "ingress/web", Managers: []string{"helm", "kubectl"}, Differs: true, Err: conflict}},
		{"somebody has set fields by hand", &report.ConflictError{Object: "ingress/web", Managers: []string{"kubectl-edit"}, Differs: true, ByHand: true, Err: conflict, Fields: []plan.Field{
			{Path: plan.Path{"spec", "ingressClassName"}, Before: "traefik", After: "akash-ingress-class", Owners: []plan.Owner{{Manager: "kubectl-edit", Since: time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)}}},
			{Path: plan.Path{"metadata", "annotations", "a/b"}, Before: "1", After: "2", Owners: []plan.Owner{{Manager: "kubectl-edit"}, {Manager: "kubectl-patch"}}},
		}}},
		{"somebody manages fields with more in them", &report.ConflictError{Object: "ingress/web", Managers: []string{"helm"}, Err: conflict}},
		{"a lease failed", &report.LeaseError{Lease: group, Err: errors.New("no answer")}},
	} {
		fmt.Fprintf(&got, "# %s\n%v\n\n", tt.name, tt.err)
	}
	const file = "testdata/errors.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if diff := cmp.Diff(string(want), got.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The reason for an error is found in what tells of it, so that a command can end with its exit code.
func TestErrorsTellTheirReason(t *testing.T) {
	why := errors.New("why")
	for name, err := range map[string]error{
		"half": &report.HalfError{Why: why, Left: errors.New("left")}, "of a lease": &report.LeaseError{Err: why}, "conflict": &report.ConflictError{Err: why},
		"one of several": report.Failures{errors.New("another"), why},
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s: the reason is not found", name)
		}
	}
}

// The errors of several leases are one list, whatever they were gathered from.
func TestGather(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	tests := []struct {
		name string
		errs []error
		want string
	}{
		{"none failed", []error{nil, nil}, ""},
		{"one failed", []error{nil, a}, "a"},
		{"two failed", []error{a, nil, b}, "a\nb"},
		{"one with several errors", []error{report.Failures{a, b}, c}, "a\nb\nc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := report.Gather(tt.errs)
			if err == nil {
				if tt.want != "" {
					t.Errorf("no error, want %q", tt.want)
				}
				return
			}
			fs, ok := errors.AsType[report.Failures](err)
			if !ok || err.Error() != tt.want || len(fs) != strings.Count(tt.want, "\n")+1 {
				t.Errorf("got %d errors: %q, want %q", len(fs), err, tt.want)
			}
		})
	}
	if report.ErrorOfHeld(statetest.Shop, nil) != nil {
		t.Error("nothing is held, and there is an error")
	}
}
