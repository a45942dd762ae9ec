package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
)

// Of too many failures the old ones are forgotten, and then those that failed first.
func TestPrune(t *testing.T) {
	group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
	now := time.Now()
	for _, tt := range []struct {
		most int
		want string
	}{{5, "12345"}, {4, "345"}, {3, "345"}, {2, "45"}, {0, ""}} {
		by := map[lease.Group]reconcile.Failing{}
		for n, age := range []time.Duration{9, 8, 3, 2, 1} {
			by[group(n+1)] = reconcile.Failing{Last: now.Add(-age * time.Hour)}
		}
		prune(by, tt.most, now.Add(-5*time.Hour))
		got := ""
		for n := range 6 {
			if _, ok := by[group(n)]; ok {
				got += fmt.Sprint(n)
			}
		}
		if got != tt.want {
			t.Errorf("of at most %d these are left: %s", tt.most, got)
		}
	}
}

// What fails is tried again when the queue says so. That there was no answer says nothing of a lease, and changes nothing of what is known.
func TestNote(t *testing.T) {
	var f failures
	g := lease.Group{Owner: "akash1a", DSeq: 1, GSeq: 1}
	limiter := backoff{workqueue.NewTypedItemExponentialFailureRateLimiter[lease.Group](time.Second, 5*time.Minute), &f}
	first := time.Now()
	for _, err := range []error{&cluster.AwayError{}, fmt.Errorf("announced: %w", cluster.ErrMoving), context.Canceled} {
		if f.note(g, err, first); len(f.all()) > 0 {
			t.Errorf("%v is a failure of the lease", err)
		}
	}
	f.note(g, errors.New("held"), first)
	f.note(g, errors.New("held"), first.Add(time.Second))
	f.note(g, &cluster.AwayError{}, first.Add(2*time.Second))
	limiter.When(g)
	after := limiter.When(g)
	one := f.all()[g]
	if one.Count != 2 || one.Since != first || one.Last != first.Add(time.Second) || after != 2*time.Second || time.Until(one.Next) > after || !one.Next.After(first) {
		t.Errorf("%+v", one)
	}
	if limiter.Forget(g); limiter.NumRequeues(g) != 2 { // it waits for another command
		t.Error("a lease that still fails is tried as often as one that has failed once")
	}
	if !f.note(g, nil, first) {
		t.Error("nobody looks again at a lease of which something has happened while it failed")
	}
	limiter.Forget(g)
	if f.note(g, nil, first) || len(f.all()) > 0 || limiter.NumRequeues(g) > 0 {
		t.Error("a lease that does not fail any more is known as one that does")
	}
	limiter.When(g)
	if len(f.all()) > 0 {
		t.Error("a lease that does not fail is tried again")
	}
}

// What concerns a lease makes it due, unless it fails: then its time has to come, or what its error names has to make way. Anything else
// that makes way lets it be tried again too, but not in a row.
func TestDue(t *testing.T) {
	group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
	var f failures
	now := time.Now()
	f.note(group(1), errors.New("host a.example.com is held by lease akash1b/7/1"), now.Add(-time.Second))
	f.note(group(2), errors.New("no address is left"), now.Add(-between/2))
	f.note(group(4), errors.New("no address is left"), now.Add(-time.Minute))
	for name, tt := range map[string]struct {
		concerned []lease.Group
		frees     string
		want      string
	}{
		"an object of a lease":                     {[]lease.Group{group(3)}, "", "3 now"},
		"an object of one that fails":              {[]lease.Group{group(1)}, "", ""},
		"an object of a lease is gone":             {[]lease.Group{group(3)}, "b.example.net", "3 now, 1 after 9s, 2 after 5s, 4 now"},
		"one of a lease that fails is gone":        {[]lease.Group{group(1)}, "a.example.com", ""},
		"one of both, as two leases share a claim": {[]lease.Group{group(1), group(3)}, "a.example.com", "3 now"},
		"somebody else's object":                   {nil, "", ""},
		"somebody else's object is gone":           {nil, "b.example.net", "1 after 9s, 2 after 5s, 4 now"},
		"a claim is gone that an error names":      {nil, "a.example.com", "1 now, 2 after 5s, 4 now"},
	} {
		var got []string
		for _, one := range f.due(tt.concerned, tt.frees, now) {
			when := "now"
			if one.after > 0 {
				when = "after " + one.after.String()
			}
			got = append(got, fmt.Sprintf("%d %s", one.group.DSeq, when))
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	f.note(group(1), nil, now)
	if got := f.due([]lease.Group{group(1)}, "", now); fmt.Sprint(got) != fmt.Sprint([]dueAfter{{group: group(1)}}) {
		t.Errorf("one that does not fail any more: %v", got)
	}
}
