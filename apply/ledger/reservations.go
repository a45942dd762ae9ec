package ledger

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// ClaimsOnly selects claims on hosts and addresses, and announcements, but no definitions or reservations.
const ClaimsOnly = NoDefinitions + "," + state.LabelKind + "!=" + state.KindResources

// Reserved selects the reservations of orders.
const Reserved = state.LabelKind + "=" + state.KindResources

// Reservations lists all reservations, or those of one owner, not older than the request. It reads only metadata.
func (l Ledger) Reservations(ctx context.Context, owner string) ([]*reserved.Claim, error) {
	opts := metav1.ListOptions{LabelSelector: Reserved}
	if owner != "" {
		opts.LabelSelector += "," + state.LabelOwner + "=" + owner
	}
	return cluster.ListMetas(ctx, l.cluster, cluster.Leases, l.Namespace, opts, reserved.Read)
}

// Reservation reads the reservation of an order. It returns nil if there is none.
func (l Ledger) Reservation(ctx context.Context, o lease.Order) (*reserved.Claim, error) {
	meta, err := l.get(ctx, reserved.Name(o))
	if meta == nil || err != nil {
		return nil, err
	}
	c, _ := reserved.Read(meta)
	return c, nil
}

// PutReservation writes a reservation under its order's field manager, pinned to what was read. Without a UID it
// creates one. ErrAgain means that the reservation has changed, or that there was no answer. The write uses force,
// which is safe: only the order writes its reservation, and the write is pinned.
func (l Ledger) PutReservation(ctx context.Context, c *reserved.Claim) (*reserved.Claim, error) {
	ac := c.Configuration(l.Namespace)
	if c.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	meta, err := l.apply(ctx, reserved.Name(c.Order), ac, c.Order.FieldManager(), true)
	if err != nil {
		return nil, err
	}
	now, _ := reserved.Read(meta)
	var gone []string // an apply keeps annotations that its manager does not own, for example after a restore from a backup
	if c.Bound == nil && now.Bound != nil {
		gone = append(gone, reserved.AnnotationBound, reserved.AnnotationBoundNodes)
	}
	if c.Pending == nil && now.Pending != nil {
		gone = append(gone, reserved.AnnotationPending, reserved.AnnotationPendingNodes)
	}
	if len(gone) == 0 {
		return now, nil
	}
	if meta, err = l.removeAnnotations(ctx, meta, gone, c.Order.FieldManager()); err != nil {
		return nil, err
	}
	now, _ = reserved.Read(meta)
	return now, nil
}

// DropReservation deletes a reservation, pinned to what was read.
func (l Ledger) DropReservation(ctx context.Context, c *reserved.Claim) error {
	return l.delete(ctx, c.ObjectName, &c.UID, &c.ResourceVersion)
}

// Look is what a command reads before it reserves, all from one moment.
type Look struct {
	Reservations []*reserved.Claim
	// Leased are the claims on addresses and IP endpoints, if asked for, without the marks of runs that have ended.
	Leased []*state.Claim
	// Closing is true while an uninstall removes the ledger, and after one that has crashed.
	Closing bool
}

// Look reads all reservations, and the claims on addresses if asked for, by one LIST in one page that is not older than
// the request. An uninstall announces itself before it lists reservations. So if a command writes its reservation
// before it calls Look, one of the two sees the other.
func (l Ledger) Look(ctx context.Context, addresses bool) (Look, error) {
	kinds := state.KindResources + "," + state.KindRun
	if addresses {
		kinds += "," + string(state.Address) + "," + string(state.Endpoint)
	}
	var look Look
	there := announced{}
	opts := metav1.ListOptions{LabelSelector: state.LabelKind + " in (" + kinds + ")", Limit: cluster.OnePage}
	err := cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) {
		if r, ok := reserved.Read(meta); ok {
			look.Reservations = append(look.Reservations, r)
		} else if c, ok := state.ReadClaim(meta); ok {
			look.Leased = append(look.Leased, &c)
		} else if nonce, ok := state.AnnouncedNonce(meta.Name); ok {
			there.add(nonce, meta)
			look.Closing = look.Closing || isClosing(meta)
		}
	}, func() {
		look = Look{}
		clear(there)
	})
	if err == nil && look.Closing {
		look.Closing, err = l.IsClosing(ctx)
	}
	if err != nil {
		return Look{}, err
	}
	return look, l.settle(ctx, look.Leased, there)
}
