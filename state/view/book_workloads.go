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

// SubjectWorkloads has no rows of its own. It adds the rollout state of workloads to the leases.
const SubjectWorkloads Subject = "workloads"

// Workloads are the workloads of leases, by namespace.
type Workloads struct {
	leases map[string]*leaseWorkloads
}

// leaseWorkloads are the workloads of one lease.
type leaseWorkloads struct {
	rollout.Lease
	id    lease.ID
	since metav1.Time
	// unreadable is why one of its objects could not be read.
	unreadable string
}

func (w *Workloads) in(namespace string) *leaseWorkloads {
	if w.leases == nil {
		w.leases = map[string]*leaseWorkloads{}
	}
	r := w.leases[namespace]
	if r == nil {
		r = &leaseWorkloads{}
		w.leases[namespace] = r
	}
	return r
}

// AddNamespace adds the metadata of a namespace. Its labels count only if it has the name of the lease's namespace.
func (w *Workloads) AddNamespace(o metav1.Object) {
	if r := w.ofLease(o); r != nil {
		r.AddNamespace(o.GetDeletionTimestamp() != nil)
	}
}

// ofLease returns the workloads of the lease that the labels of an object name, if the object has the name of the
// lease's namespace. Otherwise it returns nil.
func (w *Workloads) ofLease(o metav1.Object) *leaseWorkloads {
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

// Add adds an object of a workload. It ignores other objects.
func (w *Workloads) Add(o *unstructured.Unstructured) {
	var r *leaseWorkloads
	switch o.GroupVersionKind().Group + "/" + o.GetKind() {
	case "/Namespace":
		w.AddNamespace(o)
		return
	case "akash.network/Manifest":
		r = w.ofLease(o)
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

// Unsettled returns the namespaces, sorted, of the leases that are not rolled out. Their pods tell why.
func (w *Workloads) Unsettled() []string { return w.namespaces((*rollout.Lease).Unsettled) }

// LackPods returns the namespaces, sorted, of the leases that lack pods. Only events tell why.
func (w *Workloads) LackPods() []string { return w.namespaces((*rollout.Lease).LacksPods) }

func (w *Workloads) namespaces(matches func(*rollout.Lease) bool) []string {
	var out []string
	for _, namespace := range slices.Sorted(maps.Keys(w.leases)) {
		if r := w.leases[namespace]; r.id.DSeq != 0 && matches(&r.Lease) {
			out = append(out, namespace)
		}
	}
	return out
}

// rollout returns the rollout state of the lease, or nil if it runs nothing.
func (r *leaseWorkloads) rollout() *rollout.Rollout {
	out, runs := r.Of()
	if r.unreadable != "" {
		out.State, out.Reason, runs = rollout.Error, fmt.Sprintf("it cannot be told: %s", r.unreadable), true
	}
	if !runs {
		return nil
	}
	return &out
}

// withWorkloads adds rollout states to the rows, and rows for leases that only run workloads.
func (f *bookBuilder) withWorkloads(rows []LeaseRow, w *Workloads) []LeaseRow {
	at := make(map[string]int, len(rows))
	for i := range rows {
		at[rows[i].Namespace] = i
	}
	for namespace, r := range w.leases {
		if r.id.DSeq == 0 {
			continue // no object names its lease
		}
		runs := r.rollout()
		i, has := at[namespace]
		switch {
		case runs == nil:
		case has:
			rows[i].Workloads = runs
		default:
			rows = append(rows, LeaseRow{
				Tenant: f.tenant(r.id), Hosts: []string{}, Addresses: []string{}, Since: r.since, Workloads: runs,
			})
		}
	}
	sortLeases(rows)
	return rows
}
