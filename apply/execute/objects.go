package execute

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// objects are the objects of a snapshot, as the engine asks for them.
type objects struct {
	snapshot *observed.Snapshot
	cfg      *config.ProviderConfig
	memo     memo
}

// memo are the objects for which the engine has asked: it asks for all of a lease in each decision.
type memo map[*unstructured.Unstructured]engine.Object

// Objects returns the objects of a snapshot, as the engine asks for them: one decision after the other.
func Objects(s *observed.Snapshot, cfg *config.ProviderConfig) engine.Objects {
	return objects{s, cfg, memo{}}
}

// Closed reports whether an uninstall has closed the ledger.
func (o objects) Closed() bool { return o.snapshot.ClosedBy != "" }

// Finding returns who has a part.
func (o objects) Finding(j state.Judge, h state.Hold, p state.Part, c *state.Claim, of []*state.Claim, claimed func(string) bool) state.Finding {
	var uses []state.Use
	if c == nil {
		uses = o.snapshot.Uses(h, j.Group.Owner, claimed)
	}
	return o.snapshot.Decide(j, o.cfg, h, p, c, uses, of)
}

// Below returns the uses of the hosts one label below a wildcard.
func (o objects) Below(wildcard string) map[string][]state.Use {
	out := map[string][]state.Use{}
	for host, uses := range o.snapshot.HostUses {
		if state.WildcardOver(host) == wildcard {
			out[host] = uses
		}
	}
	return out
}

// Live returns the leases of a deployment group whose objects serve a claim.
func (o objects) Live(c *state.Claim, g lease.Group) []lease.ID { return o.snapshot.LiveFor(c, g) }

// Serves reports whether objects serve a claim for a deployment group.
func (o objects) Serves(c *state.Claim, g lease.Group) bool { return o.snapshot.Serves(c, g) }

// Unserved reports whether nothing serves a part.
func (o objects) Unserved(id lease.ID, c *state.Claim, p state.Part) bool {
	return o.snapshot.Unserved(id, c, p)
}

// Addresses indexes claims on addresses and the uses of addresses by Services.
func (o objects) Addresses(claims []*state.Claim) *state.Addresses {
	return o.snapshot.Addresses.With(claims)
}

// Written returns the objects that this program wrote for a deployment group and that serve what is chosen.
func (o objects) Written(g lease.Group, chosen state.Choice) (out []engine.Object) {
	for _, owned := range o.snapshot.Written.Of(g) {
		if o.isChosen(owned, chosen) {
			out = append(out, o.object(owned))
		}
	}
	return out
}

// isChosen reports whether an object serves what is chosen. A ProviderLeasedIP does if its endpoint has a chosen address.
func (o objects) isChosen(owned observed.Owned, chosen state.Choice) bool {
	s := o.snapshot
	if chosen.All() {
		return true
	}
	if owned.Kind == kinds.ProviderLeasedIP {
		return slices.ContainsFunc(s.ClaimsOfPort(owned), chosen.Claim)
	}
	if owned.Kind == kinds.Service && slices.ContainsFunc(s.List(), func(c *state.Claim) bool {
		return c.Kind == state.Endpoint && chosen.Claim(c) && c.SharingKey == state.ServiceObjectOf(owned.Live).SharingKey
	}) {
		return true
	}
	if host := owned.RecordOf(); host != "" {
		return chosen.Has(host)
	}
	uses := append(state.HostUses(owned.Live), state.AddressUses(owned.Live)...)
	return slices.ContainsFunc(uses, func(u state.Use) bool {
		if !u.Address.IsValid() {
			return chosen.Has(u.Host)
		}
		c := s.Claim(state.AddressName(u.Address))
		return c != nil && chosen.Claim(c)
	})
}

// StandsFor reports whether an object serves a part of a claim, or accompanies objects that do.
func (o objects) StandsFor(of engine.Object, c *state.Claim, p state.Part) bool {
	return observed.StandsFor(owned(of), c, p)
}

// ServedBy returns the objects of a claim's owner that serve or declare a part of it.
func (o objects) ServedBy(c *state.Claim, p state.Part) (by []engine.Object, declared bool) {
	all, declared := o.snapshot.ServedBy(c, p)
	return o.all(all), declared
}

// DeclaredIn returns what Akash's provider declares for the lease of a namespace.
func (o objects) DeclaredIn(namespace string, g lease.Group) []engine.Object {
	return o.all(o.snapshot.DeclaredIn(namespace, g))
}

// LiveOf returns the leases of a deployment group that have objects or a kept definition.
func (o objects) LiveOf(g lease.Group, d *kept.Definition) []lease.ID { return o.snapshot.LiveOf(g, d) }

func (o objects) all(list []observed.Owned) []engine.Object {
	out := make([]engine.Object, len(list))
	for i, owned := range list {
		out[i] = o.object(owned)
	}
	return out
}

// object returns an object as the engine knows it.
func (o objects) object(owned observed.Owned) engine.Object {
	if is, known := o.memo[owned.Live]; known {
		return is
	}
	whose := o.snapshot.Ownership(owned.Live)
	o.memo[owned.Live] = engine.Object{
		Kind: owned.Kind, Live: owned.Live, Group: owned.Group, Lease: whose.Lease, Ours: whose.Ours,
		Stays: o.snapshot.Stays(owned), Near: o.snapshot.ClaimsNear(owned), Record: owned.RecordOf(),
	}
	return o.memo[owned.Live]
}

// owned is an object as the reader knows it.
func owned(o engine.Object) observed.Owned {
	return observed.Owned{Kind: o.Kind, Live: o.Live, Group: o.Group}
}

// What the engine asks about objects that a lease wants.

// At returns an object as it was read, nil if there is none.
func (o objects) At(k engine.Key) *unstructured.Unstructured {
	return o.snapshot.At(k.Kind, k.Namespace, k.Name)
}

// Namespace reports whether a namespace exists, and is not being deleted.
func (o objects) Namespace(name string) (alive, exists bool) {
	alive, exists = o.snapshot.Namespaces[name]
	return alive, exists
}

// Definition returns the definition that the ledger keeps for a deployment group. Of a group that held nothing it was not read.
func (o objects) Definition(g lease.Group) (d *kept.Definition, known bool) {
	if o.snapshot.HoldersOnly && len(o.snapshot.Held[g]) == 0 {
		return nil, false
	}
	return o.snapshot.Definitions[kept.Name(g)], true
}

// Under returns the names of the claims on which the objects of a deployment group depend.
func (o objects) Under(g lease.Group) []string { return o.snapshot.Under(g) }

// Unfit returns why what a lease wants cannot be.
func (o objects) Unfit(def *lease.Definition, r state.Request, of []kinds.Kind) error {
	var errs []error
	for _, kind := range of {
		if o.snapshot.Lacks[kind] {
			errs = append(errs, &kinds.MissingError{Resource: kind.Resource()})
		}
	}
	if err := operators.Fits(o.snapshot, o.cfg, def, r); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// Theirs reports whether one of Akash's operators makes an object.
func (o objects) Theirs(id lease.ID, def *lease.Definition, of render.Object) (theirs bool, there *unstructured.Unstructured, unlike string) {
	if !o.snapshot.Operators.Theirs(of) {
		return false, nil, ""
	}
	return true, o.snapshot.TheirRoute(of), operators.UnlikeOf(o.snapshot, def, id, of)
}

// Hostnames reports whether Akash's hostname operator runs.
func (o objects) Hostnames() bool { return o.snapshot.Operators.Hostname }

// LeasesIPs reports whether Akash's IP operator runs.
func (o objects) LeasesIPs() bool { return o.snapshot.Operators.IP }

// Moves reports whether Akash's hostname operator deletes a route itself.
func (o objects) Moves(of engine.Object) bool { return o.snapshot.Operators.Moves(owned(of)) }

// Pools returns the pools that addresses need, with their advertisements.
func (o objects) Pools(addresses render.Addresses) ([]render.Object, error) {
	return pools.New(o.cfg, o.snapshot).Wanted(addresses)
}

// Kept returns a rendered object with the annotations that it keeps from the one that is there.
func (o objects) Kept(of render.Object, there *unstructured.Unstructured, _ lease.Group, manager string, now time.Time) render.Object {
	of = observed.KeepsTaken(of, there, manager)
	switch {
	case of.Kind == kinds.DNSRecord:
		return records.Prepared(of, there, now)
	case o.snapshot.Operators.Hostname:
		return observed.DeployRequested(of, there, manager, now)
	}
	return of
}

// Grounds returns the parts of claims that an object serves.
func (o objects) Grounds(of engine.Object, claims []*state.Claim) (out []engine.Ground) {
	for _, g := range observed.GroundsOf(owned(of), claims) {
		out = append(out, engine.Ground{Name: g.Name, Key: g.Served.Key})
	}
	return out
}

// Entitled reports whether the deployment group of an object holds what that serves.
func (o objects) Entitled(of engine.Object, claim func(string) *state.Claim, claims []*state.Claim) bool {
	return slices.ContainsFunc(observed.GroundsIn(owned(of), claims, claim), func(g observed.Ground) bool { return g.Standing() == state.Entitled })
}

// Lost returns the claims under an object that its deployment group does not hold.
func (o objects) Lost(of engine.Object, claim func(string) *state.Claim, claims []*state.Claim) (lost []string) {
	for _, g := range observed.GroundsIn(owned(of), claims, claim) {
		if len(g.Claim.PartsOf(of.Group)) == 0 || of.Kind == kinds.ProviderLeasedIP && g.Standing() == state.Stray {
			lost = append(lost, g.Name)
		}
	}
	return lost
}

// Serving returns the objects that this program wrote and that serve a claim.
func (o objects) Serving(name string) []engine.Object { return o.all(o.snapshot.Serving.Of(name)) }

// Stray reports whether an object of another deployment serves what a group holds, and nothing that its own holds.
func (o objects) Stray(of engine.Object, g lease.Group, parts []state.Part, c *state.Claim, claim func(string) *state.Claim) bool {
	if !observed.Strays(owned(of), parts, c) {
		return false
	}
	stray := false
	for _, ground := range observed.GroundsIn(owned(of), nil, claim) {
		if ground.Standing() == state.Entitled {
			return false
		}
		stray = stray || ground.Served.Gives(ground.Claim, g)
	}
	return stray
}

// Ours reports whether this program wrote an object.
func (o objects) Ours(there *unstructured.Unstructured) bool { return o.snapshot.Ownership(there).Ours }

// Tenant returns the lease of a namespace.
func (o objects) Tenant(namespace string) lease.ID { return o.snapshot.Tenants[namespace] }

// NamesAnother reports whether the ProviderLeasedIP that is there names another service.
func (o objects) NamesAnother(g lease.Group, of render.Object) bool {
	return observed.NamesAnother(o.snapshot, g, of)
}

// FormerServices returns the Services that Akash's operator made for the same port otherwise.
func (o objects) FormerServices(g lease.Group, of render.Object) []engine.Object {
	return o.all(observed.FormerServices(o.snapshot, g, of))
}

// Reports reports whether a controller reports on routes of a kind.
func (o objects) Reports(kind kinds.Kind, gateway *unstructured.Unstructured) bool {
	if kind == kinds.Route {
		return o.snapshot.Reported(kinds.Route, "ingress")
	}
	return observed.Taken(gateway)
}

// RecordHolder returns the other deployment group that writes a host's records.
func (o objects) RecordHolder(g lease.Group, c *state.Claim, host string) string {
	return records.Holder(o.snapshot, g, c, host)
}

// RecordsOf returns the records of a host.
func (o objects) RecordsOf(host string) []engine.Object { return o.all(o.snapshot.Records.Of(host)) }

// ToReplace returns the records that have to be gone before others are written.
func (o objects) ToReplace(g lease.Group, host string, wanted []render.Object) (old []engine.Replaced, again map[string]bool) {
	all, again := records.ToReplace(o.snapshot, g, host, wanted)
	for _, r := range all {
		old = append(old, engine.Replaced{Object: o.object(r.Owned), Why: r.Why})
	}
	return old, again
}
