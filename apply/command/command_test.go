package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A run may make the changes that the plan has for its lease, and write what leases share; without a plan any.
func TestChangesOf(t *testing.T) {
	one := lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	two := one
	two.DSeq = 2
	pool := plan.Change{Action: plan.Create, Kind: kinds.IPAddressPool.Singular, Name: "pool"}
	gone := plan.Change{Action: plan.Delete, Kind: kinds.IPAddressPool.Singular, Name: "gone"}
	route := func(name string) plan.Change {
		return plan.Change{Action: plan.Create, Kind: kinds.Ingress.Singular, Name: name}
	}
	only := &plan.Plan{Leases: []plan.Lease{
		{Lease: one.String(), Changes: []plan.Change{route("one")}},
		{Lease: two.String(), Changes: []plan.Change{route("two"), pool, gone}},
	}}
	for name, tt := range map[string]struct {
		only *plan.Plan
		id   lease.ID
		want []string
	}{
		"a lease of the plan":         {only, two, []string{"two", "pool", "gone"}},
		"another, and what it shares": {only, one, []string{"one", "pool"}},
		"a lease that is not in it":   {&plan.Plan{}, one, []string{}},
		"no plan":                     {nil, one, nil},
	} {
		var got []string
		changes := Options{Only: tt.only}.ChangesOf(tt.id)
		if changes != nil {
			got = []string{}
		}
		for _, c := range changes {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Nothing is undone once the API server is away or another command works in the place of this one.
func TestCannotUndo(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"no error":             {nil, false},
		"a refusal":            {apierrors.NewForbidden(cluster.Leases.GroupResource(), "a", nil), false},
		"an away API server":   {fmt.Errorf("list: %w", &cluster.AwayError{Err: errors.New("down")}), true},
		"a refusal by a gate":  {fmt.Errorf("patch: %w", &cluster.ShutError{Err: errors.New("lost")}), true},
		"the end of a context": {context.Canceled, false},
	} {
		if got := CannotUndo(tt.err); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What is waited for is looked at at least once. Without a timeout it is looked at once, and a dry run takes it for come.
func TestWaitEvery(t *testing.T) {
	failed := errors.New("failed")
	for name, tt := range map[string]struct {
		dryRun  string
		timeout time.Duration
		done    []bool
		err     error
		want    error
	}{
		"it is there":                {"", time.Minute, []bool{true}, nil, nil},
		"it comes":                   {"", time.Minute, []bool{false, false, true}, nil, nil},
		"it fails":                   {"", time.Minute, []bool{false}, failed, failed},
		"the time is over":           {"", time.Millisecond, slices.Repeat([]bool{false}, 100), nil, report.ErrTimedOut},
		"nobody waits, it is there":  {"", 0, []bool{true}, nil, nil},
		"nobody waits, it is not":    {"", 0, []bool{false}, nil, report.ErrTimedOut},
		"a dry run":                  {DryRunClient, time.Minute, []bool{false}, nil, nil},
		"a dry run that cannot look": {DryRunClient, time.Minute, []bool{false}, failed, failed},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cluster.OfObjects(nil)
			if err != nil {
				t.Fatal(err)
			}
			looks := 0
			err = (&Command{Cluster: c.DryRun(tt.dryRun)}).WaitEvery(t.Context(), time.Microsecond, tt.timeout, nil, func(context.Context) (bool, error) {
				looks = min(looks+1, len(tt.done))
				return tt.done[looks-1], tt.err
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("%v after %d looks", err, looks)
			}
			if tt.want == nil && looks != len(tt.done) {
				t.Errorf("%d looks", looks)
			}
		})
	}
}

// What a command waits for is looked at again once something has changed, long before the interval is over. Nothing is watched for what is
// there at the first look.
func TestWaitEndsWithAChange(t *testing.T) {
	for _, want := range []int{1, 3} {
		c, err := cluster.OfObjects(nil)
		if err != nil {
			t.Fatal(err)
		}
		looks, watched := 0, false
		changes := func(context.Context) <-chan struct{} {
			watched = true
			changed := make(chan struct{}, 2)
			changed <- struct{}{}
			changed <- struct{}{}
			return changed
		}
		err = (&Command{Cluster: c}).WaitEvery(t.Context(), time.Hour, time.Minute, changes, func(context.Context) (bool, error) {
			looks++
			return looks == want, nil
		})
		if err != nil || looks != want || watched != (want > 1) {
			t.Errorf("%d of %d looks, watched: %t, %v", looks, want, watched, err)
		}
	}
}

// A command that waits for another one says which one that is, who runs it and since when, and what to type next.
func TestWaitingNamesTheOther(t *testing.T) {
	var said string
	c := &Command{Options: Options{Report: func(e report.Event) { said = e.Message }}}
	c.reportWaiting(&state.Announcement{
		Nonce: "abc", By: "ann@laptop", Begun: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Lasts: 15 * time.Second,
		Groups: []lease.Group{{Owner: "akash1a", DSeq: 1, GSeq: 1}},
	})
	for _, want := range []string{"run abc of ann@laptop, begun 2026-11-20T12:00:00Z", "lease.coordination.k8s.io/run--abc", "for 20s", "kubectl akash-net state --problems"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
}
