package ledger

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// ClaimsOnly selects the Leases of the ledger that are claims on hosts and addresses, and announcements: neither kept
// definitions nor reservations.
const ClaimsOnly = NoDefinitions + "," + state.LabelKind + "!=" + state.KindResources

// Reserved selects the reservations of orders.
const Reserved = state.LabelKind + "=" + state.KindResources

// Reservations are all reservations, not older than the request; where an owner is named those of the owner. Their
// metadata is all that is read.
func (l Ledger) Reservations(ctx context.Context, owner string) ([]*reserved.Claim, error) {
	opts := metav1.ListOptions{LabelSelector: Reserved}
	if owner != "" {
		opts.LabelSelector += "," + state.LabelOwner + "=" + owner
	}
	return cluster.ListMetas(ctx, l.cluster, cluster.Leases, l.Namespace, opts, reserved.Read)
}

// Reservation reads the reservation of an order; it is nil where there is none.
func (l Ledger) Reservation(ctx context.Context, o lease.Order) (*reserved.Claim, error) {
	meta, err := l.get(ctx, reserved.Name(o))
	if meta == nil || err != nil {
		return nil, err
	}
	c, _ := reserved.Read(meta)
	return c, nil
}

// PutReservation writes a reservation under its order's field manager, pinned to what was read; without a UID it is made
// where there is none. ErrAgain says that it is not as it was read, or that no answer came. It forces: nobody else writes
// an order's reservation, and the write is pinned.
func (l Ledger) PutReservation(ctx context.Context, c *reserved.Claim) (*reserved.Claim, error) {
	ac, force := c.Configuration(l.Namespace), true
	if c.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	body, err := json.Marshal(ac)
	if err != nil {
		return nil, err
	}
	opts := metav1.PatchOptions{FieldManager: c.Order.FieldManager()}
	apply := opts
	apply.Force, apply.FieldValidation = &force, cluster.SkipFieldValidation
	meta, err := l.patch(ctx, reserved.Name(c.Order), types.ApplyPatchType, body, apply)
	if err != nil {
		return nil, err
	}
	now, _ := reserved.Read(meta)
	gone := map[string]any{} // what its manager does not own, as after a restore from a backup, an apply leaves
	if c.Bound == nil && now.Bound != nil {
		gone[reserved.AnnotationBound] = nil
	}
	if c.Pending == nil && now.Pending != nil {
		gone[reserved.AnnotationPending] = nil
	}
	if len(gone) == 0 {
		return now, nil
	}
	body, err = json.Marshal(map[string]any{"metadata": map[string]any{"uid": now.UID, "resourceVersion": now.ResourceVersion, "annotations": gone}})
	if err != nil {
		return nil, err
	}
	if meta, err = l.patch(ctx, reserved.Name(c.Order), types.MergePatchType, body, opts); err != nil {
		return nil, err
	}
	now, _ = reserved.Read(meta)
	return now, nil
}

// DropReservation deletes a reservation that is exactly as it was read.
func (l Ledger) DropReservation(ctx context.Context, c *reserved.Claim) error {
	return l.delete(ctx, c.ObjectName, &c.UID, &c.ResourceVersion)
}

// Look is what those who reserve go by, all of one moment.
type Look struct {
	Reservations []*reserved.Claim
	// Leased are the claims on addresses and IP endpoints, where they were asked for, without the marks of runs that have
	// ended.
	Leased []*state.Claim
	// Closing is true while an uninstall removes the ledger, and after one that has crashed.
	Closing bool
}

// Look reads all reservations, and which claims on addresses there are, by one LIST in one page that is not older than the
// request. An uninstall announces itself before it looks for reservations; so who reserves first and looks then sees it, or
// is seen.
func (l Ledger) Look(ctx context.Context, addresses bool) (Look, error) {
	kinds := state.KindResources + "," + state.KindRun
	if addresses {
		kinds += "," + string(state.Address) + "," + string(state.Endpoint)
	}
	var look Look
	there := map[string]bool{}
	opts := metav1.ListOptions{LabelSelector: state.LabelKind + " in (" + kinds + ")", Limit: cluster.OnePage}
	err := cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) {
		if r, ok := reserved.Read(meta); ok {
			look.Reservations = append(look.Reservations, r)
		} else if c, ok := state.ReadClaim(meta); ok {
			look.Leased = append(look.Leased, &c)
		} else if nonce, ok := state.AnnouncedNonce(meta.Name); ok {
			there[nonce] = true
			look.Closing = look.Closing || meta.Annotations[state.AnnotationPhase] == string(state.Closing)
		}
	}, func() {
		look = Look{}
		clear(there)
	})
	if err != nil {
		return Look{}, err
	}
	return look, l.settle(ctx, look.Leased, there)
}
