package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Put sets the parts that the deployment group holds of the claim to exactly these. It creates the claim if it has no
// UID, and returns the resulting claim.
//
// It creates a claim only if there is none: on a claim that another run of the same group has created meanwhile, the
// apply would remove the parts that it does not name.
func (l Ledger) Put(ctx context.Context, claim *state.Claim, group lease.Group, parts []state.Part) (*state.Claim, error) {
	ac := claim.Configuration(l.Objects.Namespace, parts)
	if claim.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	meta, err := l.Objects.apply(ctx, claim.Name(), ac, group.FieldManager(), false)
	if claim.UID != "" && ownedByOthers(err) {
		meta, err = l.Objects.apply(ctx, claim.Name(), ac, group.FieldManager(), true)
	}
	if err != nil {
		return nil, err
	}
	return l.removeParts(ctx, meta, group, parts)
}

// ownedByOthers reports whether a conflict is only with managers that are no deployment group's: somebody has restored
// the claim from a backup, or edited it. The claim's content was checked when it was read, and the write is pinned to
// that.
func ownedByOthers(err error) bool {
	return cluster.IsOwned(err) && !slices.ContainsFunc(cluster.Owners(err), func(manager string) bool {
		return strings.HasPrefix(manager, lease.FieldManager+"/")
	})
}

// removeParts removes the group's parts that it is not to keep, pinned to the claim as the API server answered it. An
// apply keeps a part that the group's manager does not own, for example after a restore from a backup.
func (l Ledger) removeParts(
	ctx context.Context, meta *metav1.ObjectMeta, group lease.Group, keep []state.Part,
) (*state.Claim, error) {
	now, err := l.claimOf(ctx, meta)
	if err != nil {
		return nil, err
	}
	return l.removeEntries(ctx, now, group, keep)
}

// removeEntries removes the group's parts of a claim that it is not to keep, pinned to the claim.
func (l Ledger) removeEntries(ctx context.Context, claim *state.Claim, group lease.Group, keep []state.Part) (*state.Claim, error) {
	var gone []string
	for _, own := range claim.Entries(group) {
		if !slices.ContainsFunc(keep, func(p state.Part) bool { return p.Key == own.Key }) {
			gone = append(gone, own.Key)
		}
	}
	if len(gone) == 0 {
		return claim, nil
	}
	pin := &metav1.ObjectMeta{Name: claim.Name(), UID: claim.UID, ResourceVersion: claim.ResourceVersion}
	meta, err := l.Objects.removeAnnotations(ctx, pin, gone, group.FieldManager())
	if err != nil {
		return nil, err
	}
	return l.claimOf(ctx, meta)
}

// Seize is Put with force, for a transfer within one owner. As the write is pinned, it can only replace what was read.
func (l Ledger) Seize(ctx context.Context, claim *state.Claim, group lease.Group, parts []state.Part) (*state.Claim, error) {
	meta, err := l.Objects.apply(ctx, claim.Name(), claim.Configuration(l.Objects.Namespace, parts), group.FieldManager(), true)
	if err != nil {
		return nil, err
	}
	return l.removeParts(ctx, meta, group, parts)
}

// Withdraw gives up everything that the deployment group holds of a claim in which others hold parts.
func (l Ledger) Withdraw(ctx context.Context, claim *state.Claim, group lease.Group) (*state.Claim, error) {
	meta, err := l.Objects.apply(ctx, claim.Name(), claim.Withdrawal(l.Objects.Namespace), group.FieldManager(), false)
	if cluster.IsPolicy(err) { // by the guard: another manager has applied the parts too, so that they would stay, without the group's fields
		return l.removeEntries(ctx, claim, group, nil)
	}
	if err != nil {
		return nil, err
	}
	return l.removeParts(ctx, meta, group, nil)
}

// claimOf parses a claim and removes the marks of runs that have ended.
func (l Ledger) claimOf(ctx context.Context, meta *metav1.ObjectMeta) (*state.Claim, error) {
	claim := read(meta)
	return claim, l.settle(ctx, []*state.Claim{claim}, nil)
}

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
	return cluster.ListMetas(ctx, l.Objects.cluster, cluster.Leases, l.Objects.Namespace, opts, reserved.Read)
}

// Reservation reads the reservation of an order. It returns nil if there is none.
func (l Ledger) Reservation(ctx context.Context, o lease.Order) (*reserved.Claim, error) {
	meta, err := l.Objects.get(ctx, reserved.Name(o))
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
	ac := c.Configuration(l.Objects.Namespace)
	if c.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	meta, err := l.Objects.apply(ctx, reserved.Name(c.Order), ac, c.Order.FieldManager(), true)
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
	if meta, err = l.Objects.removeAnnotations(ctx, meta, gone, c.Order.FieldManager()); err != nil {
		return nil, err
	}
	now, _ = reserved.Read(meta)
	return now, nil
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
	err := l.Objects.each(ctx, opts, func(meta *metav1.ObjectMeta) {
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
		look.Closing, err = l.Announcements.IsClosing(ctx)
	}
	if err != nil {
		return Look{}, err
	}
	return look, l.settle(ctx, look.Leased, there)
}

// Everything is what the ledger has at one moment, without the announcements of commands.
type Everything struct {
	// Claims are as of List.
	Claims       []*state.Claim
	Definitions  []*kept.Definition
	Reservations []*reserved.Claim
	Failing      []state.Failing
}

// All reads everything in the ledger by one LIST that is not older than the request.
func (l Ledger) All(ctx context.Context) (all Everything, err error) {
	all.Claims, err = l.list(ctx, metav1.ListOptions{}, announced{}, &all)
	return all, err
}

// add adds what is no claim by its label, and reports whether it is none.
func (all *Everything) add(meta *metav1.ObjectMeta, now time.Time) bool {
	switch _, defines := meta.Labels[kept.Label]; {
	case defines:
		if d, ok := kept.Read(meta); ok {
			all.Definitions = append(all.Definitions, d)
		}
	case meta.Labels[state.LabelKind] == state.KindResources:
		if c, ok := reserved.Read(meta); ok {
			all.Reservations = append(all.Reservations, c)
		}
	case meta.Labels[state.LabelComponent] == state.ComponentFailing:
		all.Failing = append(all.Failing, state.ReadFailing(meta.Annotations[state.AnnotationFailing], now)...)
	default:
		return false
	}
	return true
}
