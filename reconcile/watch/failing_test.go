package watch

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// What concerns a lease makes it due, unless it fails: then its time has to come, or somebody else has to make way.
func TestDue(t *testing.T) {
	group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
	var f failures
	f.note(group(1), errors.New("held"), time.Now())
	f.note(group(2), errors.New("held"), time.Now())
	for name, tt := range map[string]struct {
		concerned []lease.Group
		frees     bool
		want      []lease.Group
	}{
		"an object of a lease":                     {[]lease.Group{group(3)}, false, []lease.Group{group(3)}},
		"an object of one that fails":              {[]lease.Group{group(1)}, false, nil},
		"an object of a lease is gone":             {[]lease.Group{group(3)}, true, []lease.Group{group(3), group(1), group(2)}},
		"one of a lease that fails is gone":        {[]lease.Group{group(1)}, true, nil},
		"one of both, as two leases share a claim": {[]lease.Group{group(1), group(3)}, true, []lease.Group{group(3)}},
		"somebody else's object":                   {nil, false, nil},
		"somebody else's object is gone":           {nil, true, []lease.Group{group(1), group(2)}},
	} {
		if got := f.due(tt.concerned, tt.frees); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	f.note(group(1), nil, time.Now())
	if got := f.due([]lease.Group{group(1)}, true); fmt.Sprint(got) != fmt.Sprint([]lease.Group{group(1), group(2)}) {
		t.Errorf("one that does not fail any more: %v", got)
	}
}
