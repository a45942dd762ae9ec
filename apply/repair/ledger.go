package repair

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The writes of single objects of the ledger, each pinned to how it was read.

// openLedger opens the ledger that an uninstall has closed, unless the uninstall works by now.
func (r *repair) openLedger(ctx context.Context, f *state.Fix) error {
	now, err := r.command.Ledger.Announcements.Get(ctx, f.Value)
	if err != nil {
		return err
	}
	if now != nil && !now.Dead(r.command.Cluster.Now(), r.asked.CrashedAfter) {
		return report.ErrChanged
	}
	return r.command.Ledger.Announcements.OpenAfter(ctx, f.Value)
}

// drop deletes an object of the ledger that is as it was read.
func (r *repair) drop(ctx context.Context, f *state.Fix) error {
	o := f.Object()
	return asChanged(r.command.Ledger.Objects.Delete(ctx, o.Name, types.UID(o.UID), o.ResourceVersion))
}

// forgetStray deletes a stored definition that is as it was read, unless its lease holds something again.
func (r *repair) forgetStray(ctx context.Context, m *state.Fix) error {
	d := r.snapshot.Definitions[m.Object().Name]
	if m.Group != (lease.Group{}) {
		claims, err := r.command.Ledger.ListOwner(ctx, m.Group.Owner)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(claims, func(c *state.Claim) bool { return len(c.Entries(m.Group)) > 0 }) {
			return report.ErrChanged
		}
		now, err := reading.ReadDefinition(ctx, r.command.Ledger, m.Group)
		if now == nil || err != nil {
			return err
		}
		if now.ResourceVersion != d.ResourceVersion {
			return report.ErrChanged
		}
	}
	l := r.command.Ledger
	return asChanged(reading.UntilKept(ctx, l, m.Group, func(ctx context.Context) error { return l.Objects.Delete(ctx, d.Name, d.UID, d.ResourceVersion) }))
}

// ownParts makes the managers of the leases own their parts of a claim again.
func (r *repair) ownParts(ctx context.Context, f *state.Fix) (err error) {
	c := f.Parts.Claim
	for _, g := range f.Parts.Claim.Unmanaged {
		if c, err = r.command.Ledger.Seize(ctx, c, g, c.Entries(g)); err != nil {
			return asChanged(err)
		}
	}
	return nil
}

// asChanged returns ErrChanged for an error which says that a claim or an object is not as it was read.
func asChanged(err error) error {
	if errors.Is(err, ledger.ErrAgain) || cluster.IsOvertaken(err) {
		return report.ErrChanged
	}
	return err
}

// checkClaims returns ErrChanged if the claims by which a problem was found have changed.
func (r *repair) checkClaims(ctx context.Context, thing string) error {
	if strings.Contains(thing, "/") { // an object, or a lease
		return nil
	}
	names := []string{state.HostName(thing)}
	if a, err := netip.ParseAddr(thing); err == nil {
		names = []string{state.AddressName(a)}
	} else if strings.Contains(thing, "-ip-") { // a sharing key, if not a host
		names = append(names, state.EndpointName(thing))
	}
	if over := state.WildcardOver(thing); over != "" && r.snapshot.Claim(names[0]) == nil {
		names = append(names, state.HostName(over))
	}
	for _, name := range names {
		switch now, err := reading.ReadClaim(ctx, r.command.Ledger, name); {
		case err != nil:
			return err
		case !now.SaysAs(r.snapshot.Claim(name)):
			return report.ErrChanged
		}
	}
	return nil
}
