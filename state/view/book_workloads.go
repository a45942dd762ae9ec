package view

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// SubjectWorkloads has no rows of its own: with it the leases tell how far what they run is.
const SubjectWorkloads Subject = "workloads"

// Workloads are what the leases of a cluster run, by their namespaces.
type Workloads struct {
	leases map[string]*ran
}

// ran is what one lease runs.
type ran struct {
	rollout.Lease
	id    lease.ID
	since metav1.Time
	// unreadable is why an object of it could not be read, empty where all could.
	unreadable string
}

func (w *Workloads) in(namespace string) *ran {
	if w.leases == nil {
		w.leases = map[string]*ran{}
	}
	r := w.leases[namespace]
	if r == nil {
		r = &ran{}
		w.leases[namespace] = r
	}
	return r
}

// AddNamespace adds the metadata of a namespace. Which lease it is by its labels counts where it has the lease's name.
func (w *Workloads) AddNamespace(o metav1.Object) {
	if r := w.named(o); r != nil {
		r.AddNamespace(o.GetDeletionTimestamp() != nil)
	}
}

// named is what runs for the lease whose labels an object has that bears the name of its namespace; nil for any other.
func (w *Workloads) named(o metav1.Object) *ran {
	id, ok := lease.IDFromLabels(o.GetLabels())
	if !ok || o.GetName() != id.Namespace() {
		return nil
	}
	r := w.in(o.GetName())
	r.id = id
	if made := o.GetCreationTimestamp(); r.since.IsZero() || !made.IsZero() && made.Before(&r.since) {
		r.since = made
	}
	return r
}

// Add adds an object of what leases run; others are passed over.
func (w *Workloads) Add(o *unstructured.Unstructured) {
	var r *ran
	switch o.GroupVersionKind().Group + "/" + o.GetKind() {
	case "/Namespace":
		w.AddNamespace(o)
		return
	case "akash.network/Manifest":
		r = w.named(o)
	case "apps/Deployment", "apps/StatefulSet", "/Pod", "/Event":
		r = w.in(o.GetNamespace())
	}
	if r == nil {
		return
	}
	if err := r.Add(o); err != nil {
		r.unreadable = err.Error()
	}
}

// Unsettled are the namespaces, in order, of the leases that are not rolled out: their pods tell why.
func (w *Workloads) Unsettled() []string { return w.those((*rollout.Lease).Unsettled) }

// LackPods are the namespaces, in order, of the leases that lack pods, and of which only events tell why.
func (w *Workloads) LackPods() []string { return w.those((*rollout.Lease).LacksPods) }

func (w *Workloads) those(are func(*rollout.Lease) bool) []string {
	var out []string
	for _, namespace := range slices.Sorted(maps.Keys(w.leases)) {
		if r := w.leases[namespace]; r.id.DSeq != 0 && are(&r.Lease) {
			out = append(out, namespace)
		}
	}
	return out
}

// rollout is how far what a lease runs is; nil where it runs nothing.
func (r *ran) rollout() *rollout.Rollout {
	out, runs := r.Of()
	if r.unreadable != "" {
		out.State, out.Reason, runs = rollout.Error, fmt.Sprintf("it cannot be told: %s", r.unreadable), true
	}
	if !runs {
		return nil
	}
	return &out
}

// withWorkloads adds to the rows how far what the leases run is, and rows for those that hold no names.
func (f *folder) withWorkloads(rows []LeaseRow, w *Workloads) []LeaseRow {
	at := make(map[string]int, len(rows))
	for i := range rows {
		at[rows[i].Namespace] = i
	}
	for namespace, r := range w.leases {
		if r.id.DSeq == 0 {
			continue // whose it is, nothing says
		}
		runs := r.rollout()
		i, has := at[namespace]
		switch {
		case runs == nil:
		case has:
			rows[i].Workloads = runs
		default:
			rows = append(rows, LeaseRow{Tenant: f.tenant(r.id), Hosts: []string{}, Addresses: []string{}, Since: r.since, Workloads: runs})
		}
	}
	sortLeases(rows)
	return rows
}
