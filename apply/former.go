package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// keepForOthers leaves the objects of the lease that serve for another since a transfer, and tells so:
// that lease's next apply removes them. The claims are read now: a transfer may be younger than what the
// run has read.
func (r *run) keepForOthers(ctx context.Context, objects []owned) ([]owned, error) {
	claims := map[string]*state.Claim{}
	var going []owned
	for _, o := range objects {
		var keeps *state.Part
		for _, name := range r.claimsNear(o) {
			claim, read := claims[name]
			if !read {
				var err error
				if claim, err = readClaim(ctx, r.ledger, name); err != nil {
					return nil, err
				}
				claims[name] = claim
			}
			for _, p := range claim.FormerOf(o.group) {
				if standsFor(o, claim, p) {
					keeps = &p
				}
			}
		}
		if keeps == nil {
			going = append(going, o)
			continue
		}
		if r.keptFor[o.live.GetUID()] {
			continue
		}
		r.keptFor[o.live.GetUID()] = true
		r.event(Left, o.kind.Singular, o.live.GetNamespace(), o.live.GetName(), fmt.Sprintf("it serves for lease %s until that is applied", keeps.Lease.Group()))
	}
	return going, nil
}

// claimsNear are the names of the claims that an object may stand for.
func (r *run) claimsNear(o owned) []string {
	switch {
	case o.kind == kinds.ProviderLeasedIP:
		var names []string
		for _, c := range r.snapshot.claimsOfPort(o) {
			names = append(names, c.Name())
		}
		return names
	case slices.Contains(kinds.Filters, o.kind) || slices.Contains(kinds.Policies, o.kind):
		if host, _, _ := lease.ParseRouteName(o.live.GetName()); r.snapshot.claims[state.HostName(host)] != nil {
			return []string{state.HostName(host)}
		}
		return r.snapshot.byClaim().former[o.group] // one that is named after a Service goes with the last route
	}
	return claimsUnder(o)
}

// standsFor is true for an object that serves a part of a claim, or goes with what does.
func standsFor(o owned, c *state.Claim, p state.Part) bool {
	switch {
	case o.kind == kinds.Service:
		return c.Kind.HasPorts() && servesPort(o.live, p)
	case o.kind == kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o.live)
		return c.Kind.HasPorts() && state.PortKey(port.Protocol, port.Port) == p.Key
	case slices.Contains(kinds.RouteKinds, o.kind):
		return slices.ContainsFunc(state.HostUses(o.live), func(u state.Use) bool { return u.Redirect || state.RouteKey(u.Path) == p.Key })
	}
	return true
}

// removeFormer deletes the objects of former holders that still serve what the lease is about to give up:
// nothing is served without a claim.
func (r *run) removeFormer(ctx context.Context, drop func(*state.Claim, state.Part) bool, action Action) error {
	for _, c := range r.snapshot.held[r.group] {
		for _, p := range c.PartsOf(r.group) {
			former, ok := p.Former()
			if !ok || !drop(c, p) {
				continue
			}
			now, err := readClaim(ctx, r.ledger, c.Name())
			if err != nil {
				return err
			}
			if part := now.Part(p.Key); part == nil || part.Lease.Group() != r.group || part.From != p.From {
				continue // it was handed on, or back
			}
			for _, o := range r.snapshot.written[former] {
				if slices.Contains(r.claimsNear(o), c.Name()) && standsFor(o, c, p) {
					if err := r.remove(ctx, o, action); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// formerOf is the deployment group that serves a part which is handed on, as the part remembers it; empty
// where nothing serves it, or where the new lease serves it itself.
func (r *run) formerOf(c *state.Claim, p state.Part) string {
	from := p.Lease.Group()
	if former, ok := p.Former(); ok {
		from = former
	}
	serves := func(o owned) bool { return slices.Contains(r.claimsNear(o), c.Name()) && standsFor(o, c, p) }
	if from == r.group || !slices.ContainsFunc(r.snapshot.written[from], serves) {
		return ""
	}
	return from.String()
}
