package repair

import (
	"context"
	"errors"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// takeServed claims what a lease already serves. The lease earns it as by an apply: the host is proved if that is required,
// nobody else serves it, and enough addresses are left for the orders that have reserved some.
func (r *repair) takeServed(ctx context.Context, m state.TakeServed) error {
	want := engine.Want{Request: m.Hold.Request(), Adopt: r.command.Options.Adopt}
	for _, ref := range m.Serving {
		if live := r.live(ref); live != nil {
			want.Serves = append(want.Serves, engine.Object{Kind: kinds.Of(ref.Kind), Live: live, Group: want.Request.Lease.Group()})
		}
	}
	if len(want.Serves) == 0 {
		return report.ErrChanged
	}
	if err := r.proveServed(ctx, m.Hold); err != nil {
		return err
	}
	opts, first := r.options(), r.snapshot
	opts.Progress = nil
	opts.Report = func(e report.Event) {
		if e.Action == report.Waiting {
			r.command.Send(e)
		}
	}
	c := command.New(r.command.Cluster, opts)
	err := execute.Work{
		Command: c,
		Read: func(ctx context.Context) (s *observed.Snapshot, err error) {
			if s, first = first, nil; s == nil {
				s, err = observed.ReadWithOperators(ctx, c, diagnosis.Reading)
			}
			return s, err
		},
		Wants: func() []engine.Want { return []engine.Want{want} },
		Ended: func(context.Context, []*execute.Lease) {},
	}.Run(ctx)
	if failed, ok := errors.AsType[*report.LeaseError](err); ok {
		err = failed.Err // the line of the problem names the lease
	}
	if now, unread := observed.ReadClaim(ctx, r.command.Ledger, m.Hold.Name()); unread == nil {
		r.snapshot = r.snapshot.WithClaim(m.Hold.Name(), now)
	}
	return err
}

// proveServed asks for the proof of a host, as an apply does, if the command requires proofs.
func (r *repair) proveServed(ctx context.Context, want state.Hold) error {
	if r.command.Options.Prove == nil || want.Kind.HasPorts() || r.command.Options.Config.OwnDomain(want.Thing) != "" {
		return nil // the host is the provider's own, and given to this lease: nothing else is found without a claim
	}
	id := want.Parts[0].Lease
	if _, err := r.command.Options.Prove(ctx, id.Owner, want.Thing); err != nil {
		return &apply.UnprovedError{Lease: id, Hosts: []apply.UnprovedHost{{Host: want.Thing, Err: err}}}
	}
	return nil
}
