package engine

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Runs is what a deployment group runs.
type Runs struct {
	// Objects are what this program runs for it, by namespace, in the order in which they are deleted, the Manifest last.
	Objects map[string][]Object
	// Reserved are the leases of the group that have taken over the reservations of their orders.
	Reserved []lease.ID
}

type seenRuns struct {
	runs Runs
	sent Stamp
}

// readRuns reads what the lease runs; again in the command's turn. If the user may not see it, nothing is released, and the
// command does not announce itself.
func (v view) readRuns() Step {
	if !v.everything() || v.f.runs.sent > 0 && v.f.runs.sent > v.w.Turn.Alone {
		return Step{}
	}
	return do(Request{Verb: ReadRuns, Group: v.group, Early: v.f.runs.sent == 0, Why: "what the lease runs goes with it"})
}

// endRuns deletes what the lease runs, and gives up its reservations, once nothing of it serves. It does neither while Akash's
// provider declares something for the lease: routes lead there.
func (v view) endRuns() Step {
	if !v.everything() || len(v.declared()) > 0 {
		return Step{}
	}
	runs := v.f.runs.runs
	if s := v.endIn(runs.Objects); !s.idle() {
		return s
	}
	for _, id := range runs.Reserved {
		if !v.want.Release.means(id) {
			continue
		}
		if s := v.unreserve(id); !s.idle() {
			return s
		}
	}
	return Step{}
}

// endIn deletes what the deployment group runs in namespaces, and gives up the reservations of its leases there.
func (v view) endIn(runs map[string][]Object) Step {
	for _, namespace := range slices.Sorted(maps.Keys(runs)) {
		for i, o := range runs[namespace] {
			if o.Kind == kinds.Manifest {
				if s := v.awaitRuns(runs[namespace][:i]); !s.idle() {
					return s
				}
				if s := v.unreserve(o.Lease); !s.idle() {
					return s
				}
			}
			now := o
			if s, known := v.f.objects[o.uid()]; known && s.there {
				now = s.object
			}
			if now.Live.GetDeletionTimestamp() != nil || deployed.StandingOf(now.Live, v.group, "") != deployed.Ours {
				continue
			}
			if s := v.remove(o, messageOf(o)); !s.idle() {
				return s
			}
		}
		if s := v.awaitRuns(runs[namespace]); !s.idle() {
			return s
		}
	}
	return Step{}
}

// awaitRuns waits until what the lease runs is gone, as far as finalizers keep it.
func (v view) awaitRuns(objects []Object) Step {
	kept := slices.DeleteFunc(slices.Clone(objects), func(o Object) bool { return len(o.Live.GetFinalizers()) == 0 })
	return v.await(kept, func(o Object) string {
		return fmt.Sprintf("%s to be gone (finalizers %v); the same command goes on", o, o.Live.GetFinalizers())
	})
}

// messageOf says what stays of an object that the lease runs.
func messageOf(o Object) string {
	if templates, _, _ := unstructured.NestedSlice(o.Live.Object, "spec", "volumeClaimTemplates"); len(templates) > 0 {
		return "its persistentvolumeclaims stay"
	}
	return ""
}

// unreserve gives up the reservation of a lease, once.
func (v view) unreserve(id lease.ID) Step {
	if id == (lease.ID{}) || v.f.unreserved[id] {
		return Step{}
	}
	return do(Request{Verb: Unreserve, Lease: id, Why: "nothing of the lease runs any more"})
}

// declared names what Akash's provider declares for the leases whose workloads would end.
func (v view) declared() (out []string) {
	if !v.everything() {
		return nil
	}
	for namespace := range v.f.runs.runs.Objects {
		for _, o := range v.reading().objects.DeclaredIn(namespace, v.group) {
			out = append(out, o.String())
		}
	}
	slices.Sort(out)
	return out
}
