package engine

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/report"
)

// hasWritten reports whether the lease has written an object that is its own. Its namespace, and the pools of addresses, stay
// whatever becomes of it: others may rely on them at once.
func (v view) hasWritten() bool {
	for k, did := range v.f.done {
		if did.action != report.Unchanged && k.Kind != kinds.Namespace && !slices.Contains(kinds.Pools, k.Kind) && !v.madeWay(k) {
			return true
		}
	}
	for k, d := range v.f.unclear {
		if now := v.w.live(k); !v.madeWay(k) && (now.stale || now.wrote != nil || now.isAsWanted(d.Object, d.Manager)) {
			return true
		}
	}
	return false
}

// readUnclear reads the objects whose apply had no answer: whether the lease has written anything depends on them.
func (v view) readUnclear() Step {
	for k := range v.f.unclear {
		if v.w.live(k).stale && v.f.refused[k.String()] == nil {
			return do(Request{Verb: GetLive, Key: k, Name: k.String(), Back: true, Why: "whether it was written"})
		}
	}
	return Step{}
}

// madeWay reports whether an object was deleted for one of the lease's: put back, it is as it was.
func (v view) madeWay(k Key) bool {
	for _, old := range v.f.ways {
		if old.key() == k {
			return true
		}
	}
	return false
}

// rest returns how the lease stands if the work on it ends now.
func (v view) rest() report.Rest {
	d, _ := v.kept()
	r := report.Rest{Held: !v.holdsNothing(), Rewritten: v.f.kept.isOurs() && !v.f.kept.back}
	r.Former = d != nil && !r.Rewritten
	r.Stays = r.Rewritten || v.hasTaken() || v.hasWritten() || len(v.deletedObjects()) > 0
	return r
}
