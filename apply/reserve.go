package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Reserve claims everything that each request asks for, or nothing, and writes no routes. With Options.Prune it also
// gives up what the deployment group holds in addition, unless objects still serve that. kindsOf are the kinds of
// objects that each request will need, if known; a kind that the cluster does not serve is an error.
func (a *Applier) Reserve(ctx context.Context, requests []state.Request, kindsOf ...[]kinds.Kind) error {
	unproved, warn := a.Prove(ctx, requests), a.Command.Options.Warn
	work := execute.Work{
		Command: a.Command,
		Wants:   func() []engine.Want { return a.reservations(requests) },
		Read: func(ctx context.Context) (*observed.Snapshot, error) {
			s, err := a.readFor(ctx, requests, kindsOf, warn)
			warn = nil // it is said once
			return s, err
		},
		Barred: func(i int, s *observed.Snapshot) error {
			if unproved[i] != nil {
				return unproved[i]
			}
			return missingKinds(s, i, kindsOf)
		},
		Ended: func(_ context.Context, leases []*execute.Lease) {
			for _, one := range leases {
				reportLeft(one)
			}
		},
		Done: func(_ context.Context, one *execute.Lease) error {
			one.X.Command.Send(report.Event{
				Time: time.Now(), Action: report.Done, Lease: one.X.Request.Lease, Kind: "lease", Name: one.X.Request.Lease.String(),
				Message: "reserved", Summary: summaryOf(one),
			})
			return nil
		},
	}
	if a.Command.Options.Check { // a check reports everything that is in the way, and the things one by one
		work.Silent, work.Done = true, nil
		work.Barred = func(i int, s *observed.Snapshot) error { return missingKinds(s, i, kindsOf) }
		work.Ended = func(_ context.Context, leases []*execute.Lease) {
			for _, one := range leases {
				reportChecked(one)
				one.Fail(report.Gather([]error{unproved[one.Place], a.poolsFit(one)}))
			}
		}
	}
	return work.Run(ctx)
}

// readFor reads what Reserve decides by. It warns of hosts whose delivery would stop Akash's hostname operator.
func (a *Applier) readFor(ctx context.Context, requests []state.Request, kindsOf [][]kinds.Kind, warn func(lease.Problems)) (snapshot *observed.Snapshot, err error) {
	var ipOperator bool
	var manifests observed.Manifests
	var leases []lease.ID
	for _, r := range requests {
		if len(r.Hosts) > 0 && warn != nil {
			leases = append(leases, r.Lease)
		}
	}
	work, ctx := parallel.WithContext(ctx)
	work.Go(func() (err error) {
		snapshot, err = reading.Read(ctx, a.Command.Cluster, a.Command.Ledger, a.readingOf(requests, kindsOf))
		return err
	})
	work.Go(func() (err error) {
		ipOperator, err = reading.IPOperatorFor(ctx, a.Command, requests)
		return err
	})
	if len(leases) > 0 {
		work.Go(func() (err error) {
			manifests, err = reading.OperatorManifests(ctx, a.Command, leases...)
			return err
		})
	}
	if err = work.Wait(); err != nil {
		return nil, err
	}
	snapshot.Operators.IP = ipOperator
	if len(leases) > 0 {
		var warnings lease.Problems
		for _, r := range requests {
			warnings = append(warnings, manifests.Warnings(r)...)
		}
		warn(warnings)
	}
	return snapshot, nil
}

// reservations returns what the leases of requests want.
func (a *Applier) reservations(requests []state.Request) []engine.Want {
	wants, expires := make([]engine.Want, len(requests)), ""
	if a.Command.Options.Expires != 0 {
		expires = a.Command.Cluster.Now().Add(a.Command.Options.Expires).UTC().Format(time.RFC3339)
	}
	for i, request := range requests {
		wants[i] = engine.Want{Request: request, Expires: expires, Prune: a.Command.Options.Prune, Adopt: a.Command.Options.Adopt}
	}
	return wants
}

// readingOf returns what Reserve reads: what serves or declares something, which a reservation must not take or give up;
// the kinds that the requests will need; and pools only if a request leases an address or an address has a pool of its
// own, which goes with the address.
func (a *Applier) readingOf(requests []state.Request, needed [][]kinds.Kind) reading.Reading {
	leased := func(r state.Request) bool { return len(r.Endpoints) > 0 }
	how := reading.Reading{
		Kinds:     slices.Concat(kinds.ServingKinds, kinds.ClaimLike),
		Further:   kinds.RecordsOf(a.Command.Options.Config),
		Addresses: a.Command.Options.Config.IP.Mode == config.ModeDedicated || slices.ContainsFunc(requests, leased),
	}
	for _, kind := range slices.Concat(needed...) {
		if slices.Contains(kinds.OfLease, kind) && !slices.Contains(how.Kinds, kind) {
			how.Kinds = append(how.Kinds, kind)
		}
	}
	return how
}

// missingKinds returns an error for each kind that a request needs and the cluster does not serve.
func missingKinds(s *observed.Snapshot, place int, needed [][]kinds.Kind) error {
	if place >= len(needed) {
		return nil
	}
	return report.Gather(s.Missing(needed[place]...))
}

// reportLeft reports what a reservation has left to others.
func reportLeft(one *execute.Lease) {
	for _, f := range one.Outcome.Facts {
		switch {
		case one.Outcome.Err != nil: // nothing was left, as nothing was taken
		case f.Found == engine.Withheld:
			one.X.Event(report.Withheld, string(f.Kind), "", f.Name, heldBy(f.By))
		case f.Found == engine.Beside:
			one.X.Event(report.Kept, string(f.Kind), "", f.Name, fmt.Sprintf(
				"lease %s of the same deployment serves it: it stays so until an apply of lease %s", f.Lease, one.X.Request.Lease))
		}
	}
	reportUnnoted(one)
}

// reportUnnoted reports the notes that could not be written.
func reportUnnoted(one *execute.Lease) {
	for _, f := range one.Outcome.Facts {
		if f.Found == engine.Unnoted && one.Outcome.Err == nil {
			one.X.Event(report.Skipped, string(f.Kind), "", f.Name,
				"the note that this lease waits for it could not be written, and the next apply writes it: "+f.Err.Error())
		}
	}
}

// reportChecked reports which of the things that a lease wants it can have.
func reportChecked(one *execute.Lease) {
	for _, f := range one.Outcome.Facts {
		e := report.Event{Kind: string(f.Kind), Name: f.Name, At: f.At, By: f.By}
		switch f.Found {
		case engine.Free:
			e.Action = report.Free
		case engine.Own:
			e.Action, e.Message = report.Held, "by this lease"
		case engine.Withheld:
			e.Action, e.Message = report.Withheld, heldBy(f.By)
		case engine.Beside:
			e.Action, e.Message = report.Held, fmt.Sprintf("by this deployment: lease %s of the same deployment serves it", f.Lease)
		case engine.Unnoted: // a check writes none
			continue
		}
		one.X.Send(e)
	}
}

// heldBy formats the holder of a part that is withheld.
func heldBy(by state.Holder) string {
	if by.Lease != (lease.ID{}) {
		return "held by deployment " + by.Lease.Group().String()
	}
	return "held by " + by.Object
}

// poolsFit returns an error if an address of a lease would need a pool that overlaps another one.
func (a *Applier) poolsFit(one *execute.Lease) error {
	addresses := render.Addresses{}
	for _, h := range one.Outcome.Things {
		if h.Kind == state.Address {
			addresses[h.SharingKey] = append(addresses[h.SharingKey], h.Claim().Addr())
		}
	}
	_, err := one.X.Snapshot.PoolsFor(a.Command.Options.Config, addresses)
	return err
}

// summaryOf counts what a lease relies on.
func summaryOf(one *execute.Lease) *report.Summary {
	s := &report.Summary{Changed: one.X.Changed(), Took: one.X.Took()}
	for _, h := range one.Outcome.Things {
		switch {
		case !h.Kind.HasPorts():
			s.Hosts = append(s.Hosts, h.Thing)
		case h.Kind == state.Address:
			s.Addresses = append(s.Addresses, h.Thing)
		}
	}
	for _, f := range one.Outcome.Facts {
		if f.Found == engine.Withheld {
			s.Withheld++
		}
	}
	slices.Sort(s.Hosts)
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
	return s
}
