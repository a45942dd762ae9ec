package apply

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
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
			snapshot, err := observed.Read(ctx, a.Cluster, a.Ledger, observed.Reading{Addresses: true, Further: kinds.RecordsOf(a.Options.Config)})
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

// leaveUnserved gives up the parts that the request does not name and no object serves.
func (r *run) leaveUnserved(ctx context.Context) error {
	unserved := func(s *observed.Snapshot) func(*state.Claim, state.Part) bool {
		return func(c *state.Claim, p state.Part) bool {
			return !r.Wants(c, p) && r.Knows(c.Name(), p) && !s.Serves(c, r.Group)
		}
	}
	before := unserved(r.Snapshot)
	return r.LeaveSeen(ctx, report.Released, func(_ context.Context, now *observed.Snapshot) (func(*state.Claim, state.Part) bool, error) {
		still := unserved(now)
		return func(c *state.Claim, p state.Part) bool { return before(c, p) && still(c, p) }, nil
	}, before)
}
