package apply

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Reserve takes what each request asks for, all of it or nothing, and writes no routes. With
// pruning, a request is all that its deployment group is to hold: what else it holds is given up,
// unless it is still served. Kinds are those of the objects that are to be made for each request, where that
// is known: one that the cluster does not serve is an error.
func (a *Applier) Reserve(ctx context.Context, requests []state.Request, kindsOf ...[]kinds.Kind) error {
	runs := make([]*run, len(requests))
	for i, req := range requests {
		runs[i] = newRun(a.Command, nil, req)
		if i < len(kindsOf) {
			runs[i].kinds = kindsOf[i]
		}
	}
	for i, err := range a.prove(ctx, runs) {
		runs[i].barred = err
	}
	return a.eachInTurn(ctx, runs, leaseWork{
		read: func(ctx context.Context, _ []*run) (*snapshot, error) {
			snapshot, err := readBy(ctx, a.cluster, a.ledger, reading{addresses: true, further: kinds.RecordsOf(a.opts.Config)})
			if err == nil {
				snapshot.operators.ip, err = ipOperatorFor(ctx, a.Command, requests)
			}
			return snapshot, err
		},
		claim: (*run).reserve,
		do:    (*run).reserveOnly,
		end: func(r *run, _ context.Context) error {
			if !r.opts.Check {
				r.event(Done, "lease", "", r.req.Lease.String(), "reserved")
			}
			return nil
		},
	})
}

// reserveOnly ends the work on what was claimed: no object is written for it.
func (r *run) reserveOnly(ctx context.Context) error {
	if err := r.confirm(ctx); err != nil {
		return err
	}
	if r.opts.Prune {
		if err := r.leaveUnserved(ctx); err != nil {
			return err
		}
	}
	return r.settle(ctx)
}

// leaveUnserved gives up what the request does not name and nothing serves.
func (r *run) leaveUnserved(ctx context.Context) error {
	unserved := func(s *snapshot) func(*state.Claim, state.Part) bool {
		return func(c *state.Claim, p state.Part) bool {
			return !r.wants(c, p) && r.knows(c.Name(), p) && !s.serves(c, r.group)
		}
	}
	before := unserved(r.snapshot)
	return r.leaveSeen(ctx, Released, func(_ context.Context, now *snapshot) (func(*state.Claim, state.Part) bool, error) {
		still := unserved(now)
		return func(c *state.Claim, p state.Part) bool { return before(c, p) && still(c, p) }, nil
	}, before)
}
