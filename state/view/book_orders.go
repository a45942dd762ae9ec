package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

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
