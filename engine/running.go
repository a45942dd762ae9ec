package engine

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Running is what a lease runs, and wants to run.
type Running struct {
	// Stages are the objects that it wants, in the order in which they are written.
	Stages [][]render.Object
	// Live are the objects of their kinds in the lease's namespace.
	Live []observed.Object
	// Left says what the lease lacks.
	Left []Event
	// Unwanted are the objects that the lease does not want any more; replaced ones alone if nothing is pruned.
	Unwanted []observed.Object
	// Former is what the deployment group runs in other namespaces, by namespace, in the order in which it is deleted.
	Former map[string][]observed.Object
	// Reserves is true if the order's reservation is to become the lease's. Disowns is true if Akash's provider is to be removed
	// from the managers of what the lease has taken over.
	Reserves, Disowns bool
	// Version tells whether another command has applied or released what the lease runs since it was read.
	Version string
	// Err is why the lease cannot run what it wants.
	Err error
}

// readRunning reads what the lease runs; in the command's turn, what was read stands if nobody has applied or released it since.
func (v view) readRunning() Step {
	if v.want.Apply == nil || v.want.Apply.Workloads == nil || v.f.running.sent > v.w.Turn.Alone {
		return Step{}
	}
	return do(Request{Verb: ReadRunning, On: OfVersion(v.f.running.is.Version), Early: v.f.running.sent == 0, Why: "what the lease runs"})
}

// reserve makes the order's reservation the lease's, after the lease has its claims.
func (v view) reserve() Step {
	if !v.f.running.is.Reserves || v.did(TakeReserved, nil) > 0 {
		return Step{}
	}
	return do(Request{Verb: TakeReserved, Why: "what the order has reserved is the lease's"})
}

// running returns objects that the lease runs as they are applied.
func (v view) running(objects []render.Object) (out []Desired) {
	for _, o := range objects {
		out = append(out, Desired{Object: o, Manager: v.group.FieldManager()})
	}
	return out
}

// runs reports whether an object is one that the lease runs.
func (v view) runs(o render.Object) bool {
	return slices.ContainsFunc(slices.Concat(v.f.running.is.Stages...), func(r render.Object) bool { return KeyOf(r) == KeyOf(o) })
}

// checkNames fails if a service has a name by which one of its objects would collide with a route.
func (v view) checkNames() Step {
	if v.want.Apply == nil || v.want.Apply.Workloads == nil {
		return Step{}
	}
	all := slices.Concat(slices.Concat(v.f.running.is.Stages...), v.wanted().objects)
	if err := render.CheckNames(all, v.want.Apply.Definition.At); err != nil {
		return v.giveBack(err)
	}
	return v.tells(slices.Clone(v.f.running.is.Left)...)
}

// pruneRuns deletes what the lease no longer runs, after its routes no longer point there, and then what it ran for another order or
// provider, which has a namespace of its own. That stays while Akash's provider declares something for it.
func (v view) pruneRuns() Step {
	if v.want.Apply == nil || v.want.Apply.Workloads == nil {
		return Step{}
	}
	for _, o := range v.f.running.is.Unwanted {
		if s := v.remove(o, messageOf(o)); !s.idle() {
			return s
		}
	}
	if !v.want.Prune {
		return Step{}
	}
	former := maps.Clone(v.f.running.is.Former)
	for _, namespace := range slices.Sorted(maps.Keys(former)) {
		declared := v.reading().is.DeclaredIn(namespace, v.group)
		if len(declared) == 0 {
			continue
		}
		delete(former, namespace)
		message := "with what it runs: Akash's provider declares " + declared[0].Kind.Singular + " " + declared[0].Live.GetName() + " for it"
		k := Key{kinds.Manifest, v.t.Settings.Config.ManifestNamespace, namespace}
		if s := v.tells(Event{Action: report.Kept, Of: k, Message: message, Once: "declared " + namespace}); !s.idle() {
			return s
		}
	}
	return v.endIn(former)
}

// disown ends the adoption of what Akash's provider has deployed. It comes last: nothing is given back after it.
func (v view) disown() Step {
	if v.want.Apply == nil || !v.f.running.is.Disowns || v.did(Disown, nil) > 0 {
		return Step{}
	}
	return do(Request{Verb: Disown, Why: "the lease has taken it over"})
}

// foldRunning records what a lease runs.
func (w *World) foldRunning(f *facts, a Answer, sent, answered Stamp) {
	f.running = reading[Running]{a.Running, sent, w.Clock}
	live := map[Key]*unstructured.Unstructured{}
	for _, o := range a.Running.Live {
		live[keyOf(o)] = o.Live
	}
	for _, o := range slices.Concat(a.Running.Stages...) {
		w.seeLive(KeyOf(o), live[KeyOf(o)], sent, answered)
	}
}

// Runs is what a deployment group runs.
type Runs struct {
	// Objects are what this program runs for it, by namespace, in the order in which they are deleted, the Manifest last.
	Objects map[string][]observed.Object
	// Reserved are the leases of the group that have taken over the reservations of their orders.
	Reserved []lease.ID
}

// readRuns reads what the lease runs; again in the command's turn. If the user may not see it, nothing is released, and the
// command does not announce itself.
func (v view) readRuns() Step {
	if !v.everything() || v.f.runs.sent > v.w.Turn.Alone {
		return Step{}
	}
	return do(Request{Verb: ReadRuns, On: v.group, Early: v.f.runs.sent == 0, Why: "what the lease runs goes with it"})
}

// endRuns deletes what the lease runs, and gives up its reservations, once nothing of it serves. It does neither while Akash's
// provider declares something for the lease: routes lead there.
func (v view) endRuns() Step {
	if !v.everything() || len(v.declared()) > 0 {
		return Step{}
	}
	runs := v.f.runs.is
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
func (v view) endIn(runs map[string][]observed.Object) Step {
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
			if s, known := v.f.objects[o.UID()]; known && s.there {
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
func (v view) awaitRuns(objects []observed.Object) Step {
	kept := slices.DeleteFunc(slices.Clone(objects), func(o observed.Object) bool { return len(o.Live.GetFinalizers()) == 0 })
	return v.await(kept, func(o observed.Object) string {
		return fmt.Sprintf("%s to be gone (finalizers %v); the same command goes on", o, o.Live.GetFinalizers())
	})
}

// messageOf says what stays of an object that the lease runs.
func messageOf(o observed.Object) string {
	if templates, _, _ := unstructured.NestedSlice(o.Live.Object, "spec", "volumeClaimTemplates"); len(templates) > 0 {
		return "its persistentvolumeclaims stay"
	}
	return ""
}

// unreserve gives up the reservation of a lease, once.
func (v view) unreserve(id lease.ID) Step {
	if id == (lease.ID{}) || v.did(Unreserve, id) > 0 {
		return Step{}
	}
	return do(Request{Verb: Unreserve, On: id, Why: "nothing of the lease runs any more"})
}

// declared names what Akash's provider declares for the leases whose workloads would end.
func (v view) declared() (out []string) {
	if !v.everything() {
		return nil
	}
	for namespace := range v.f.runs.is.Objects {
		for _, o := range v.reading().is.DeclaredIn(namespace, v.group) {
			out = append(out, o.String())
		}
	}
	slices.Sort(out)
	return out
}
