package apply

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// HoldsNothing is the message of the event about a lease of which a release found nothing. If something may run all the same, the
// message goes on with that, and the event has what to do next.
const HoldsNothing = "holds nothing"

// Release gives up what deployment groups hold, or only the named things. It deletes what serves traffic first and the
// claims last, so that no name is free while it is still served. It leaves what Akash's provider wrote. Releasing
// something that is not held does nothing and reports so.
func (a *Applier) Release(ctx context.Context, groups []lease.Group, things ...string) error {
	chosen := engine.NewChoice(things)
	how := observed.Reading{
		Addresses: a.Command.Options.Config.IP.Mode == config.ModeDedicated,
		Further:   kinds.RecordsOf(a.Command.Options.Config),
	}
	var first *observed.Snapshot // which operators run is found out once
	return execute.Work{
		Command: a.Command,
		Read: func(ctx context.Context) (s *observed.Snapshot, err error) {
			if first == nil {
				first, err = observed.ReadWithOperators(ctx, a.Command, how)
				return first, err
			}
			if s, err = observed.Read(ctx, a.Command.Cluster, a.Command.Ledger, how); err != nil {
				return nil, err
			}
			return s.WithOperators(first), nil
		},
		Wants: func() []engine.Want { return a.releases(groups, chosen) },
		Ended: func(ctx context.Context, leases []*execute.Lease) {
			for _, one := range leases {
				reportKept(one)
				if one.Err() == nil {
					one.Fail(reportReleased(one, chosen))
				}
			}
			if chosen.All() {
				a.endNamespaces(ctx, slices.DeleteFunc(slices.Clone(leases), func(one *execute.Lease) bool { return one.Err() != nil }))
			}
		},
	}.Run(ctx)
}

// releases returns what deployment groups give up.
func (a *Applier) releases(groups []lease.Group, chosen engine.Choice) []engine.Want {
	wants := make([]engine.Want, len(groups))
	for i, g := range groups {
		wants[i] = engine.Want{
			Request: state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}},
			Owned:   a.Command.Options.Owned,
			Obeys:   a.Command.Options.Obeys,
			Release: &engine.Release{
				Choice: chosen,
				Named:  slices.DeleteFunc(slices.Clone(a.Command.Options.Named), func(id lease.ID) bool { return id.Group() != g }),
			},
		}
	}
	return wants
}

// reportKept reports the objects that serve another lease since a transfer.
func reportKept(one *execute.Lease) {
	for _, kept := range one.Outcome.Left.For {
		o := kept.Object.Live
		one.X.Event(report.Kept, kept.Object.Kind.Singular, o.GetNamespace(), o.GetName(),
			fmt.Sprintf("it is kept for lease %s until that is applied", kept.Lease.Group()))
	}
}

// reportReleased reports what a release leaves, or that it found nothing. It is an error if the lease keeps anything.
func reportReleased(one *execute.Lease, chosen engine.Choice) error {
	x, left := one.X, one.Outcome.Left
	for _, thing := range left.Served {
		x.Event(report.Kept, string(thing.Kind), "", thing.Thing, thing.Why())
	}
	if len(left.Served)+len(left.Running) > 0 {
		return &report.KeptError{Group: x.Group, Kept: left.Served, Running: left.Running}
	}
	switch theirs := x.Snapshot.WrittenByOthers(x.Group); {
	case theirs > 0 && chosen.All():
		x.Event(report.Kept, "lease", "", x.Group.String(), "keeps "+lease.Count(theirs, "object")+" that Akash's provider wrote")
	case !x.Changed() && chosen.All() && left.Crashed:
		x.Event(report.Skipped, "lease", "", x.Group.String(), "holds nothing; a command that had crashed is over")
	case !x.Changed() && chosen.All():
		message, next := nothingOf(one)
		x.Command.Send(report.Event{
			Time: time.Now(), Action: report.Skipped, Lease: x.Request.Lease, Kind: "lease", Name: x.Group.String(), Message: message, Next: next,
		})
	case !x.Changed():
		x.Event(report.Skipped, "lease", "", x.Group.String(), "holds nothing of that name")
	}
	granted := grantedTo(x.Group, chosen, x.Snapshot)
	for _, address := range slices.SortedFunc(maps.Keys(granted), netip.Addr.Compare) {
		x.Event(report.Skipped, string(state.Address), "", address.String(), chosenFor(granted[address]))
	}
	return nil
}

// nothingOf returns the message about a lease of which nothing was found, and what to do next if something may run.
func nothingOf(one *execute.Lease) (message, next string) {
	switch runs := one.Unmarked; {
	case len(runs.Akashs) > 0:
		id := one.X.Snapshot.Tenants[runs.Akashs[0]]
		return HoldsNothing + "; Akash's provider runs it, and ends it when its bid is closed", fmt.Sprintf(
			"provider-services tx market bid close --owner %s --dseq %d --gseq %d --oseq %d --from %s", id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider)
	case runs.Unseen != nil:
		return HoldsNothing + "; whether it runs anything is not yours to see without the role " + runs.Unseen.Role, runs.Unseen.Bind
	}
	return HoldsNothing, ""
}

// grantedTo returns the chosen addresses that MetalLB has chosen for endpoints of the deployment group, with the endpoints'
// claims. Such an address has no claim: only the endpoint can be released.
func grantedTo(g lease.Group, chosen engine.Choice, s *observed.Snapshot) map[netip.Addr]*state.Claim {
	granted := map[netip.Addr]*state.Claim{}
	for _, a := range chosen.Addresses() {
		if claim := s.EndpointWith(a); claim != nil && len(claim.PartsOf(g)) > 0 && !chosen.Claim(claim) {
			granted[a] = claim
		}
	}
	return granted
}

// chosenFor says of an address without a claim that it belongs to an IP endpoint.
func chosenFor(endpoint *state.Claim) string {
	return "MetalLB has chosen it for endpoint/" + endpoint.SharingKey + ", which is held as a whole: name that"
}
