package apply

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Reserve claims everything that each request asks for, or nothing, and writes no routes. With Options.Prune it also
// gives up what the deployment group holds in addition, unless objects still serve that. kindsOf are the kinds of
// objects that each request will need, if known; a kind that the cluster does not serve is an error.
func (a *Applier) Reserve(ctx context.Context, requests []state.Request, kindsOf ...[]kinds.Kind) error {
	runs := make([]*run, len(requests))
	for i, req := range requests {
		runs[i] = newRun(a.Command, nil, req)
		if i < len(kindsOf) {
			runs[i].Kinds = kindsOf[i]
		}
	}
	for i, err := range a.prove(ctx, runs) {
		runs[i].barred = err
	}
	return a.eachInTurn(ctx, runs, leaseWork{
		read: func(ctx context.Context, _ []*run) (*observed.Snapshot, error) {
			snapshot, err := observed.Read(ctx, a.Cluster, a.Ledger, a.readingOf(requests, kindsOf))
			if err == nil {
				snapshot.Operators.IP, err = observed.IPOperatorFor(ctx, a.Command, requests)
			}
			return snapshot, err
		},
		claim: (*run).Reserve,
		do:    (*run).reserveOnly,
		end: func(r *run, _ context.Context) error {
			if !r.Options.Check {
				r.Event(report.Done, "lease", "", r.Request.Lease.String(), "reserved")
			}
			return nil
		},
	})
}

// readingOf returns what Reserve reads: what serves or declares something, which a reservation must not take or give up;
// the kinds that the requests will need; and pools only if a request leases an address or an address has a pool of its
// own, which goes with the address.
func (a *Applier) readingOf(requests []state.Request, needed [][]kinds.Kind) observed.Reading {
	leased := func(r state.Request) bool { return len(r.Endpoints) > 0 }
	how := observed.Reading{
		Kinds:   slices.Concat(kinds.ServingKinds, kinds.ClaimLike),
		Further: kinds.RecordsOf(a.Options.Config), ClaimsFirst: true,
		Addresses: a.Options.Config.IP.Mode == config.ModeDedicated || slices.ContainsFunc(requests, leased),
	}
	for _, kind := range slices.Concat(needed...) {
		if slices.Contains(kinds.OfLease, kind) && !slices.Contains(how.Kinds, kind) {
			how.Kinds = append(how.Kinds, kind)
		}
	}
	return how
}

// reserveOnly confirms and settles the claims without writing an object.
func (r *run) reserveOnly(ctx context.Context) error {
	if err := r.Confirm(ctx); err != nil {
		return err
	}
	if r.Options.Prune {
		if err := r.leaveUnserved(ctx); err != nil {
			return err
		}
	}
	return r.Settle(ctx)
}

// leaveUnserved gives up the parts that the request does not name and no object serves. While another lease of the
// deployment group is live, what names that lease stays.
func (r *run) leaveUnserved(ctx context.Context) error {
	unserved := func(s *observed.Snapshot) func(*state.Claim, state.Part) bool {
		_, elsewhere := state.Elsewhere(r.Request.Lease, s.LiveOf(r.Group))
		return func(c *state.Claim, p state.Part) bool {
			by, _ := s.ServedBy(c, p)
			own := !elsewhere || p.Lease == r.Request.Lease
			return own && !r.Wants(c, p) && r.Knows(c.Name(), p) && !s.Serves(c, r.Group) && len(by) == 0
		}
	}
	before := unserved(r.Snapshot)
	return r.LeaveSeen(ctx, report.Released, func(_ context.Context, now *observed.Snapshot) (func(*state.Claim, state.Part) bool, error) {
		still := unserved(now)
		return func(c *state.Claim, p state.Part) bool { return before(c, p) && still(c, p) }, nil
	}, before)
}
