package repair

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// giveUpParts gives up parts of a claim that are as they were read, after the objects that serve them. It checks them
// again: a run that only stood still may have ended, and what it holds is live.
func (r *repair) giveUpParts(ctx context.Context, m state.LeaveParts) error {
	group, name := m.Parts.Group, m.Parts.Claim.Name()
	known := r.snapshot.Claim(name) // as it was read, or as an earlier repair has left it
	if !slices.ContainsFunc(known.PartsOf(group), m.Parts.Has) {
		return nil // an earlier repair has given it up
	}
	now, err := observed.ReadClaim(ctx, r.command.Ledger, name)
	if err == nil && now == nil { // somebody else has given it up
		err = report.ErrChanged
	}
	if err != nil {
		return err
	}
	for _, p := range known.PartsOf(group) {
		if is := now.Part(p.Key); m.Parts.Has(p) && (now.UID != known.UID || is == nil || !is.Same(p)) {
			return report.ErrChanged
		}
	}
	if m.Namespace != "" {
		// The parts do not show whether the lease is live, so nothing of the claim may have changed.
		if err := r.checkNamespaceGone(ctx, m.Namespace); err != nil || now.ResourceVersion != known.ResourceVersion {
			return cmp.Or(err, report.ErrChanged)
		}
	}
	var deleted []*unstructured.Unstructured
	for _, ref := range m.Delete {
		if live := r.live(ref); live != nil && m.Namespace != "" { // it may be another lease's of the group
			if err := r.checkNamespaceGone(ctx, r.snapshot.Ownership(live).Lease.Namespace()); err != nil {
				return err
			}
		}
		gone, err := r.removeUnserved(ctx, m, ref)
		if err != nil {
			return err
		}
		deleted = append(deleted, gone)
	}
	// An object that still exists may serve.
	if err := r.awaitGone(ctx, deleted, "its claim is kept until then"); err != nil {
		return err
	}
	left, _, err := r.command.Ledger.Leave(ctx, now, group, m.Parts.Has)
	if err == nil {
		r.snapshot = r.snapshot.WithClaim(name, left)
	}
	return asChanged(err)
}

// checkNamespaceGone returns ErrChanged if a namespace exists again.
func (r *repair) checkNamespaceGone(ctx context.Context, namespace string) error {
	now, err := r.command.Cluster.Get(ctx, kinds.Namespace, "", namespace)
	if err == nil && now != nil {
		err = report.ErrChanged
	}
	return err
}

// keepReserved turns parts into a reservation before the repair deletes the objects that serve them. Otherwise the
// missing objects would show as a problem.
func (r *repair) keepReserved(ctx context.Context, parts state.ClaimParts) error {
	if parts.Claim == nil {
		return nil
	}
	return r.change(ctx, parts, func(p *state.Part) { p.Applied, p.From = false, "" })
}

// change changes parts of a claim that is as it was read.
func (r *repair) change(ctx context.Context, parts state.ClaimParts, set func(*state.Part)) error {
	claim := r.snapshot.Claim(parts.Claim.Name()) // as it was read, or as an earlier repair has left it
	entries, changed := claim.Entries(parts.Group), false
	for i := range entries {
		if was := entries[i]; parts.Has(was) {
			set(&entries[i])
			changed = changed || !was.Same(entries[i])
		}
	}
	if !changed {
		return nil
	}
	now, err := r.command.Ledger.Put(ctx, claim, parts.Group, entries)
	if err == nil {
		r.snapshot = r.snapshot.WithClaim(now.Name(), now)
	}
	return asChanged(err)
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
	} else if over := state.WildcardOver(thing); over != "" && r.snapshot.Claim(names[0]) == nil {
		names = append(names, state.HostName(over))
	}
	if r.snapshot.Claim(state.EndpointName(thing)) != nil {
		names = []string{state.EndpointName(thing)}
	}
	for _, name := range names {
		now, err := observed.ReadClaim(ctx, r.command.Ledger, name)
		if err != nil {
			return err
		}
		if !now.SaysAs(r.snapshot.Claim(name)) {
			return report.ErrChanged
		}
	}
	return nil
}

// release gives up a claim for all its holders, like the release command.
func (r *repair) release(ctx context.Context, c *state.Claim) error {
	opts := r.options()
	opts.Report, opts.Progress = nil, nil
	return apply.New(r.command.Cluster, opts).Release(ctx, c.Groups(), c.Thing)
}

// discard deletes an object of the ledger that is as it was read.
func (r *repair) discard(ctx context.Context, c *state.Claim) error {
	err := r.command.Ledger.Delete(ctx, c)
	if !errors.Is(err, ledger.ErrAgain) {
		return err
	}
	now, err := r.command.Ledger.Get(ctx, c.Name())
	switch {
	case err != nil:
		return err
	case now != nil && now.UID == c.UID:
		return report.ErrChanged
	}
	return nil
}
