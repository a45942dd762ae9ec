package apply

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Reserve takes what each request asks for, all of it or nothing, and writes no routes. With
// pruning, a request is all that its deployment group is to hold: what else it holds is given up,
// unless it is still served. Kinds are those of the objects that are to be made for each request, where that
// is known: one that the cluster does not serve is an error.
func (a *Applier) Reserve(ctx context.Context, requests []state.Request, kindsOf ...[]kinds.Kind) error {
	runs := make([]*run, len(requests))
	for i, req := range requests {
		runs[i] = a.newRun(nil, req)
		if i < len(kindsOf) {
			runs[i].kinds = kindsOf[i]
		}
	}
	for i, err := range a.prove(ctx, runs) {
		runs[i].barred = err
	}
	return a.eachInTurn(ctx, runs, leaseWork{
		read: func(ctx context.Context, _ []*run) (*snapshot, error) {
			snapshot, err := read(ctx, a.cluster, a.ledger, true, kinds.RecordsOf(a.opts.Config)...)
			if err == nil {
				snapshot.operators.ip, err = a.ipOperatorFor(ctx, requests)
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

// wants is true for a part that the run's request names, and for the note that it is withheld.
func (r *run) wants(c *state.Claim, p state.Part) bool {
	if p.For != "" {
		return slices.ContainsFunc(r.withheld, func(w waiting) bool { return w.note.Key == p.Key })
	}
	h := r.holds[c.Name()]
	return h != nil && slices.ContainsFunc(h.want.Parts, func(q state.Part) bool { return q.Key == p.Key })
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

// serves is true for a claim on which objects of a group rest: a route serves the host, or a Service
// uses the address.
func (s *snapshot) serves(c *state.Claim, group lease.Group) bool {
	of := func(u state.Use) bool {
		return u.Of(group) || u.HasLease && slices.ContainsFunc(c.FormerOf(u.Lease.Group()), func(p state.Part) bool { return p.Lease.Group() == group })
	}
	switch c.Kind {
	case state.Endpoint:
		return slices.ContainsFunc(slices.Concat(s.written[group], s.theirs[group]), func(o owned) bool {
			return o.kind == kinds.Service && state.ServiceObjectOf(o.live).SharingKey == c.SharingKey
		})
	case state.Address:
		return slices.ContainsFunc(s.addresses.Uses(c.Addr()), of)
	}
	return slices.ContainsFunc(s.hostUses[c.Thing], of)
}

// newRun begins the work on one lease; def is nil where nothing is rendered.
func (a *Applier) newRun(def *lease.Definition, req state.Request) *run {
	r := &run{
		executor: newExecutor(a, req), def: def, patient: true, addresses: render.Addresses{},
		holds: map[string]*held{}, unclear: map[string]*held{}, before: map[string][]state.Part{}, withheldHosts: map[string]bool{}, withheldPorts: map[string]bool{},
	}
	r.by = r
	if a.opts.turn != nil {
		r.nonce = a.opts.turn.Mark()
	}
	return r
}
