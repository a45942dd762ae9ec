package reconcile

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// A definition that runs something else has changed, although it routes the same.
func TestSaysWhatALeaseRuns(t *testing.T) {
	says := func(image string) Said {
		def := &lease.Definition{Lease: lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1}, Workloads: &lease.Workloads{Services: []lease.Workload{{Name: "web", Image: image}}}}
		def.Hash = lease.Sum(def)
		return Said{Definitions: map[lease.Group]*lease.Definition{def.Lease.Group(): def}}
	}
	var r Reconciler
	for _, step := range []struct {
		image   string
		changed bool
	}{{"nginx:1", true}, {"nginx:1", false}, {"nginx:2", true}} {
		if changed := r.Says(0, says(step.image)); slices.Contains(changed, lease.Group{Owner: "akash1a", DSeq: 1, GSeq: 1}) != step.changed {
			t.Errorf("with %s it has changed: %v", step.image, changed)
		}
	}
}
