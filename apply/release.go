package apply

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// HoldsNothing is the message of the event about a lease of which a release found nothing. If something may run all the same, the
// message goes on with that, and the event has what to do next.
const HoldsNothing = "holds nothing"

// Release gives up what deployment groups hold, or only the named things. It deletes what serves traffic first and the
// claims last, so that no name is free while it is still served. It leaves what Akash's provider wrote. Releasing
// something that is not held does nothing and reports so.
func (a *Applier) Release(ctx context.Context, groups []lease.Group, things ...string) error {
	chosen := state.NewChoice(things)
	how := reading.Reading{
		Addresses: a.Command.Options.Config.IP.Mode == config.ModeDedicated,
		Further:   kinds.RecordsOf(a.Command.Options.Config),
	}
	var first *observed.Snapshot // which operators run is found out once
	return execute.Work{
		Command: a.Command,
		Read: func(ctx context.Context) (s *observed.Snapshot, err error) {
			if first == nil {
				first, err = reading.ReadWithOperators(ctx, a.Command, how)
				return first, err
			}
			if s, err = reading.Read(ctx, a.Command.Cluster, a.Command.Ledger, how); err != nil {
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
func (a *Applier) releases(groups []lease.Group, chosen state.Choice) []engine.Want {
	wants, named := make([]engine.Want, len(groups)), map[lease.Group][]lease.ID{}
	for _, id := range a.Command.Options.Named {
		named[id.Group()] = append(named[id.Group()], id)
	}
	for i, g := range groups {
		wants[i] = engine.Want{
			Request: state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}},
			Owned:   a.Command.Options.Owned,
			Obeys:   a.Command.Options.Obeys,
			Release: &engine.Release{
				Choice: chosen, Emptied: a.Command.Options.Emptied,
				Named: named[g],
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
func reportReleased(one *execute.Lease, chosen state.Choice) error {
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
		id, _ := one.X.Snapshot.Tenant(runs.Akashs[0])
		return HoldsNothing + "; Akash's provider runs it, and ends it when its bid is closed", fmt.Sprintf(
			"provider-services tx market bid close --owner %s --dseq %d --gseq %d --oseq %d --from %s", id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider)
	case runs.Unseen != nil:
		return HoldsNothing + "; whether it runs anything is not yours to see without the role " + runs.Unseen.Role, runs.Unseen.Bind
	}
	return HoldsNothing, ""
}

// grantedTo returns the chosen addresses that MetalLB has chosen for endpoints of the deployment group, with the endpoints'
// claims. Such an address has no claim: only the endpoint can be released.
func grantedTo(g lease.Group, chosen state.Choice, s *observed.Snapshot) map[netip.Addr]*state.Claim {
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

// maxNames is how many objects of a namespace the reason for keeping it names.
const maxNames = 5

// endNamespaces deletes the namespaces of released leases, or says why they stay.
func (a *Applier) endNamespaces(ctx context.Context, leases []*execute.Lease) {
	work := parallel.New(a.Command.Options.Concurrency)
	for _, one := range leases {
		work.Go(func() error {
			one.Fail(parallel.Guard(func() error { return ending{one.X}.all(ctx) }))
			return nil
		})
	}
	_ = work.Wait() // each lease keeps its error
}

// ending is the work on the namespaces of a released lease.
type ending struct{ of *executor.Executor }

// all deletes them, or says why they stay.
func (r ending) all(ctx context.Context) error {
	for _, name := range r.of.Snapshot.NamespacesOf(r.of.Group) {
		if err := r.end(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// end deletes a namespace of the released lease, or reports why it stays. It reads the namespace first, then
// its objects, then the claims, and pins the delete to the namespace. So it sees the claim of an apply that has begun
// meanwhile. Kubernetes empties the namespace by itself: nobody waits for that.
func (r ending) end(ctx context.Context, name string) error {
	live, err := r.of.Command.Cluster.Get(ctx, kinds.Namespace, "", name)
	switch {
	case err != nil || live == nil || live.GetDeletionTimestamp() != nil:
		return err
	case !r.of.Command.Options.DeleteNamespace:
		r.tell(live)
		return nil
	}
	why, err := r.stays(ctx, live)
	if err != nil {
		return err
	}
	if why == "" {
		err = r.of.Command.Cluster.DeletePinned(ctx, kinds.Namespace, "", name, live.GetUID(), live.GetResourceVersion())
		if cluster.IsOvertaken(err) {
			err, why = nil, "it was changed meanwhile: the same command looks at it again"
		}
	}
	switch {
	case err != nil:
		return r.of.Command.Cluster.Explain(err, "delete", cluster.Namespaces)
	case why != "":
		r.of.Event(report.Kept, kinds.Namespace.Singular, "", name, why)
		return nil
	}
	r.of.Event(report.Deleting, kinds.Namespace.Singular, "", name, "it goes as soon as Kubernetes has emptied it")
	if claimed, err := r.claimedAgain(ctx); err != nil || !claimed {
		return err
	}
	return fmt.Errorf("lease %s was applied while its namespace %s was deleted; apply it again", r.of.Group, name)
}

// tell reports the command that deletes a namespace which this program has created.
func (r ending) tell(live *unstructured.Unstructured) {
	if !state.MadeNamespace(live) {
		return // Akash's provider deletes it
	}
	r.of.Command.Send(report.Event{
		Time: time.Now(), Action: report.Kept, Lease: r.of.Request.Lease, Kind: kinds.Namespace.Singular, Name: live.GetName(),
		Message: "to delete it", Next: fmt.Sprintf("kubectl akash-net release %s --delete-namespace", r.of.Group),
	})
}

// stays returns why the namespace of the released lease is kept, or "" if it may be deleted.
func (r ending) stays(ctx context.Context, live *unstructured.Unstructured) (why string, err error) {
	if !state.MadeNamespace(live) {
		return "kubectl akash-net did not make it, or another program has written its labels since", nil
	}
	derived := func(resource schema.GroupResource, labels map[string]string) bool {
		return deployed.Derived(resource, labels, live.GetName())
	}
	names, err := r.of.Command.Cluster.Contents(ctx, live.GetName(), derived)
	if err != nil {
		return "", err
	}
	if len(names) > 0 {
		return "it is not empty: " + lease.Some(names, maxNames), nil
	}
	if r.of.Snapshot.WrittenByOthers(r.of.Group) > 0 {
		return "Akash's provider serves the lease", nil
	}
	claimed, err := r.claimedAgain(ctx)
	if claimed {
		return "the lease is being applied again", err
	}
	return "", err
}

// claimedAgain reports whether the ledger names the lease.
func (r ending) claimedAgain(ctx context.Context) (bool, error) {
	claims, err := r.of.Command.Ledger.ListOwner(ctx, r.of.Group.Owner)
	return slices.ContainsFunc(claims, func(c *state.Claim) bool { return slices.Contains(c.Writers(), r.of.Group) }), err
}

// Suspend lets the reconciler leave leases as they are, or go on with them. What is kept with the definition of a lease says so: a release
// ends it, and no apply does.
func Suspend(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, groups []lease.Group, suspend bool, tell func(report.Event)) error {
	l := ledger.New(c, ledgerNamespace)
	var errs []error
	for _, g := range groups {
		action := report.Resumed
		if suspend {
			action = report.Suspended
		}
		err := l.Objects.Until(ctx, func(ctx context.Context) error {
			d, err := l.Definition(ctx, g)
			switch {
			case err != nil:
				return err
			case d == nil || d.Deleting:
				return fmt.Errorf("the ledger keeps no definition of lease %s: it was never applied, or it is over", g)
			case d.Suspended == suspend:
				action = report.Unchanged
				return nil
			}
			return l.Suspend(ctx, d, suspend)
		})
		if err != nil {
			errs = append(errs, &report.LeaseError{Lease: g, Err: err})
			continue
		}
		tell(report.Event{
			Time: time.Now(), Action: action, Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}, Kind: "lease", Name: g.String(),
		})
	}
	return report.Gather(errs)
}
