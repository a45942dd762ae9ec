package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// LeaseRow is one lease that holds a host or an address, or runs workloads.
type LeaseRow struct {
	*Tenant `json:",inline"`
	Hosts   []string `json:"hosts"`
	// Addresses are sorted. Addresses that are not granted yet are missing.
	Addresses []string `json:"addresses"`
	// State is the state of all that the lease holds, if they agree. Otherwise it is Claiming if a run has not ended,
	// Partial if something is Active, and Pending if nothing is. It is empty for a lease that only runs workloads.
	State string `json:"state"`
	// Since is since when the lease has what it has had longest. It is zero if all is withheld, or was another lease's before.
	Since metav1.Time `json:"since"`
	// Suspended is true if the reconciler leaves the lease as it is.
	Suspended bool `json:"suspended,omitempty"`
	// Workloads is the rollout state. It is nil if it was not requested or nothing runs.
	Workloads *rollout.Rollout `json:"workloads,omitempty"`
}

func (r LeaseRow) key() string { return r.Lease }

// leaseRows returns the leases of the rows, sorted. It skips rows without a complete lease.
func leaseRows(hosts []HostRow, ips []IPRow) []LeaseRow {
	leases := map[string]*LeaseRow{}
	states := map[string][]string{}
	of := func(t *Tenant, state string, since metav1.Time, moved bool) *LeaseRow {
		if t.Lease == "" {
			return nil
		}
		row := leases[t.Lease]
		if row == nil {
			row = &LeaseRow{Tenant: t, Hosts: []string{}, Addresses: []string{}}
			leases[t.Lease] = row
		}
		if !moved && !since.IsZero() && (row.Since.IsZero() || since.Before(&row.Since)) {
			row.Since = since
		}
		if !slices.Contains(states[t.Lease], state) {
			states[t.Lease] = append(states[t.Lease], state)
		}
		return row
	}
	for _, h := range hosts {
		if row := of(h.Tenant, h.State, h.Since, h.From != ""); row != nil && h.State != StateWithheld {
			row.Hosts = appendNew(row.Hosts, h.Host)
		}
	}
	for _, ip := range ips {
		if row := of(ip.Tenant, ip.State, ip.Since, ip.State == StateTransferring); row != nil && ip.Address.IsValid() && ip.State != StateWithheld {
			row.Addresses = appendNew(row.Addresses, ip.Address.String())
		}
	}
	rows := make([]LeaseRow, 0, len(leases))
	for id, row := range leases {
		row.State = CombineStates(states[id])
		rows = append(rows, *row)
	}
	sortLeases(rows)
	return rows
}

func sortLeases(rows []LeaseRow) {
	slices.SortFunc(rows, func(a, b LeaseRow) int { return a.ID().Compare(b.ID()) })
}

// appendNew appends to a sorted list unless it ends with the same element.
func appendNew(list []string, s string) []string {
	if len(list) > 0 && list[len(list)-1] == s {
		return list
	}
	return append(list, s)
}

// ID returns the lease, as far as it is known.
func (t *Tenant) ID() lease.ID {
	return lease.ID{Owner: t.Owner, DSeq: t.DSeq, GSeq: t.GSeq, OSeq: t.OSeq, Provider: t.Provider}
}

// CombineStates returns the state that several things have together, as that of LeaseRow.
func CombineStates(states []string) string {
	switch {
	case len(states) == 1:
		return states[0]
	case slices.Contains(states, StateClaiming):
		return StateClaiming
	case slices.Contains(states, StateActive):
		return StatePartial
	}
	return StatePending
}

// SubjectOrders are the reservations of orders. It is shown on request, because it is not about hosts and addresses.
const SubjectOrders Subject = "orders"

// StateLeased is the reservation of an order that was won. A bid's is Reserved, Pending or Expired.
const StateLeased = "Leased"

// OrderRow is what an order has reserved. Amounts are in base units: thousandths of a CPU, bytes, whole GPUs,
// addresses.
type OrderRow struct {
	// Order is owner/dseq/gseq/oseq. It is empty for a reservation that cannot be read.
	Order string `json:"order"`
	*Tenant
	// State is Pending, Reserved, Leased, Expired, Terminating or Unreadable.
	State string `json:"state"`
	// Hold includes what the reservation is being moved to.
	inventory.Hold
	// Models are the models of the chosen GPUs, as VENDOR/MODEL.
	Models []string `json:"gpuModels,omitempty"`
	// HTTP counts routed endpoints.
	HTTP uint64 `json:"http,omitempty"`
	// By is who made the reservation, as USER@HOST.
	By      string      `json:"by,omitempty"`
	Since   metav1.Time `json:"since"`
	Expires string      `json:"expires,omitempty"`
	// Claim is the name of the object.
	Claim   string `json:"claim"`
	Message string `json:"message,omitempty"`
}

func (r OrderRow) key() string { return r.Claim }

// NewOrderRow returns the row of a reservation at the given time.
func NewOrderRow(c *reserved.Claim, now time.Time) OrderRow {
	r := OrderRow{Order: c.Order.String(), Claim: c.ObjectName, Hold: c.Hold(), Since: metav1.NewTime(c.Created)}
	r.Tenant = newTenant(lease.ID{Owner: c.Order.Owner, DSeq: c.Order.DSeq, GSeq: c.Order.GSeq, OSeq: c.Order.OSeq})
	part := c.Part()
	if part != nil {
		r.Provider, r.By, r.Expires, r.Models, r.HTTP = part.Provider, part.By, part.Expires, part.Models(), part.HTTP
		r.complete()
	}
	switch {
	case part == nil:
		r.State, r.Message, r.Order, r.Tenant = StateUnreadable, c.Unreadable, "", &Tenant{}
	case c.Unreadable != "":
		r.Message = "counts only as far as it can be read: " + c.Unreadable
	}
	switch {
	case c.Deleting:
		r.State = StateTerminating
	case part == nil:
	case c.Over(now):
		r.State = StateExpired
	case c.Bound == nil:
		r.State = StatePending
	case part.Provider != "":
		r.State = StateLeased
	default:
		r.State = StateReserved
	}
	if c.Bound != nil && c.Pending != nil {
		r.Message = "is being moved, by " + c.Pending.By
	}
	return r
}

// orders returns the rows of all reservations, by order.
func (f *bookBuilder) orders(claims []*reserved.Claim) []OrderRow {
	claims = slices.Clone(claims)
	slices.SortFunc(claims, func(a, b *reserved.Claim) int {
		return cmp.Or(a.Order.Compare(b.Order), cmp.Compare(a.ObjectName, b.ObjectName))
	})
	rows := []OrderRow{}
	for _, c := range claims {
		rows = append(rows, NewOrderRow(c, f.now))
	}
	return rows
}

// AddReservations adds the reservations and the addresses of leases to the capacity. Of a reservation that cannot be read as a whole what is
// bound counts, if that can be read. It returns a note for each of those.
func (c *Contents) AddReservations() (notes []string) {
	for _, r := range c.Reservations {
		switch {
		case r.Unreadable != "" && r.Part() == nil:
			notes = append(notes, fmt.Sprintf("reservation %s does not count: %s", r.ObjectName, r.Unreadable))
			continue
		case r.Unreadable != "":
			notes = append(notes, fmt.Sprintf("reservation %s counts only as far as it can be read: %s", r.ObjectName, r.Unreadable))
		}
		c.Capacity.Reserve(r.Order.String(), r.Hold())
	}
	for _, claim := range c.Claims {
		if claim.Kind.HasPorts() && claim.Unreadable == "" {
			for _, p := range claim.Parts {
				c.Capacity.Lease(p.Lease.Order().String(), claim.SharingKey)
			}
		}
	}
	return notes
}

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
