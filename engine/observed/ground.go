package observed

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Ground is a part of a claim that an object uses.
type Ground struct {
	Name   string
	Served state.Served
	// host is a host that is used. wildcard is the name of the claim on the wildcard above it; empty if there can be none.
	host, wildcard string
	// asked is true for an address that a Service asks for, whether it has it or not.
	asked bool
	// Claim and over are the claims as read after the object; nil if there is none.
	Claim, over *state.Claim
}

// Standing returns what the claim means for the object.
func (g Ground) Standing() state.Standing {
	standing, _ := g.Served.Standing(g.Claim, g.over)
	return standing
}

// uses returns what an object uses, each once: paths of hosts; the IP endpoint of each port and its addresses, of which a ProviderLeasedIP
// names none; any part of the host of a DNS record that the group holds. All that asks what an object serves is a query of it.
func (o Object) uses() (out []Ground) {
	if o.used.as != nil && o.used.as == o.Live {
		return slices.Clone(o.used.by)
	}
	add := func(name, key, sharingKey string, u state.Use) {
		g := Ground{Name: name, Served: state.Served{Group: o.Group, Key: key, SharingKey: sharingKey, Redirect: u.Redirect}, host: u.Host}
		if over := state.WildcardOver(u.Host); over != "" {
			g.wildcard = state.HostName(over)
		}
		i := slices.IndexFunc(out, func(h Ground) bool { return h.Name == g.Name && h.Served == g.Served })
		if i < 0 {
			i, out = len(out), append(out, g)
		}
		out[i].asked = out[i].asked || u.Address.IsValid() && !u.Granted
	}
	if host := o.Record(); host != "" {
		add(state.HostName(host), "", "", state.Use{Host: host, Redirect: true})
		return out
	}
	switch o.Kind {
	case kinds.Service:
		sharingKey, uses := state.ServiceObjectOf(o.Live).SharingKey, state.AddressUses(o.Live)
		for _, key := range state.ServicePortKeys(o.Live) {
			if sharingKey != "" {
				add(state.EndpointName(sharingKey), key, sharingKey, state.Use{})
			}
			for _, u := range uses {
				add(state.AddressName(u.Address), key, u.SharingKey, u)
			}
		}
	case kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o.Live)
		add(state.EndpointName(port.SharingKey), state.PortKey(port.Protocol, port.Port), port.SharingKey, state.Use{})
	default:
		for _, u := range state.HostUses(o.Live) {
			add(state.HostName(u.Host), state.RouteKey(u.Path), "", u)
		}
	}
	return out
}

// GroundsOf returns what entitles an object, of claims not yet read: what it uses. MetalLB chooses the address of a Service that asks for
// none, by its endpoint; a ProviderLeasedIP depends on all claims of its endpoint.
func GroundsOf(o Object, claims []*state.Claim) (out []Ground) {
	uses := o.uses()
	switch o.Kind {
	case kinds.Service:
		asks := slices.ContainsFunc(uses, func(g Ground) bool { return g.asked })
		return slices.DeleteFunc(uses, func(g Ground) bool { return (g.Name == state.EndpointName(g.Served.SharingKey)) == asks })
	case kinds.ProviderLeasedIP:
		for _, c := range claims {
			if c.Kind.HasPorts() && c.SharingKey == uses[0].Served.SharingKey {
				out = append(out, Ground{Name: c.Name(), Served: uses[0].Served})
			}
		}
		return out
	}
	return uses
}

// GroundsIn returns the claims that an object depends on as they are known: claims are those of its deployment group.
func GroundsIn(o Object, claims []*state.Claim, claim func(name string) *state.Claim) []Ground {
	grounds := GroundsOf(o, claims)
	for i := range grounds {
		g := &grounds[i]
		if g.Claim = claim(g.Name); g.wildcard != "" && (g.Claim == nil || len(g.Claim.Parts) == 0) {
			g.over = claim(g.wildcard)
		}
	}
	return grounds
}

// claimsUnder returns the names of the claims that an object uses, each once.
func claimsUnder(o Object) (names []string) {
	for _, g := range o.uses() {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return names
}

// of returns what an object uses of a claim. A ProviderLeasedIP may use each claim of its endpoint.
func (o Object) of(c *state.Claim) []Ground {
	return slices.DeleteFunc(o.uses(), func(g Ground) bool {
		return g.Name != c.Name() && (o.Kind != kinds.ProviderLeasedIP || !c.Kind.HasPorts() || g.Served.SharingKey != c.SharingKey)
	})
}

// usesPart reports whether an object uses a part of a claim: the path of a host, or a port of an address or endpoint.
func (o Object) usesPart(c *state.Claim, p state.Part) bool {
	return slices.ContainsFunc(o.of(c), func(g Ground) bool { return g.Served.Key == p.Key })
}

// StandsFor reports whether an object serves a part of a claim, or accompanies objects that do.
func (o Object) StandsFor(c *state.Claim, p state.Part) bool {
	return !slices.Contains(kinds.RouteKinds, o.Kind) && o.Kind != kinds.Service && o.Kind != kinds.ProviderLeasedIP ||
		slices.ContainsFunc(o.of(c), func(g Ground) bool { return g.Served.Redirect || g.Served.Key == p.Key })
}

// IsStray reports whether an object of another group serves one of the parts of a claim that are wanted for a group, or a host of which
// its own group holds nothing, and nothing else that its own group holds.
func (o Object) IsStray(group lease.Group, parts []state.Part, c *state.Claim, claim func(name string) *state.Claim) bool {
	if !o.strays(parts, c) {
		return false
	}
	stray := false
	for _, g := range GroundsIn(o, nil, claim) {
		if g.Standing() == state.Entitled {
			return false
		}
		stray = stray || g.Served.Gives(g.Claim, group)
	}
	return stray
}

func (o Object) strays(parts []state.Part, c *state.Claim) bool {
	return o.Kind != kinds.Service && len(c.PartsOf(o.Group)) == 0 ||
		slices.ContainsFunc(parts, func(p state.Part) bool { return o.usesPart(c, p) })
}

// IsEntitled reports whether the deployment group of an object holds something that it serves; claims are those of the group.
func (o Object) IsEntitled(claims []*state.Claim, claim func(name string) *state.Claim) bool {
	return slices.ContainsFunc(GroundsIn(o, claims, claim), func(g Ground) bool { return g.Standing() == state.Entitled })
}

// Lost returns the names of the claims under an object that its deployment group does not hold.
func (o Object) Lost(claims []*state.Claim, claim func(name string) *state.Claim) (lost []string) {
	for _, g := range GroundsIn(o, claims, claim) {
		if len(g.Claim.PartsOf(o.Group)) == 0 || o.Kind == kinds.ProviderLeasedIP && g.Standing() == state.Stray {
			lost = append(lost, g.Name)
		}
	}
	return lost
}

// Serving returns the objects that this program wrote and that serve a claim.
func (s *Snapshot) Serving(name string) []Object {
	return slices.DeleteFunc(s.using.Of(name), func(o Object) bool { return !o.Ours || slices.Contains(kinds.ClaimLike, o.Kind) })
}

// ServedBy returns the objects of a claim's owner that serve or declare a part of it, whichever deployment of the owner
// they are of: those on which Akash's provider or its operators have written, and those that this program wrote for
// another deployment than the holder. The holder's own work decides about its other objects. declared is true if Akash's
// provider declares the part: then it is served for as long as the provider wants.
func (s *Snapshot) ServedBy(c *state.Claim, p state.Part) (by []Object, declared bool) {
	names := []string{c.Name()}
	if c.Kind == state.Address {
		names = append(names, state.EndpointName(c.SharingKey))
	}
	for _, name := range names {
		for _, o := range s.using.Of(name) {
			known := func(x Object) bool { return x.Live == o.Live }
			if o.Group.Owner != c.Owner || !o.usesPart(c, p) || slices.ContainsFunc(by, known) {
				continue
			}
			namesNone := o.Kind == kinds.ProviderLeasedIP && c.Kind == state.Address // a ProviderLeasedIP names no address
			if !s.Ownership(o.Live).Shared && (o.Group == p.Lease.Group() || namesNone) {
				continue
			}
			by, declared = append(by, o), declared || s.isDeclaration(o.Live)
		}
	}
	return by, declared
}

// serve returns the leases whose objects use what is claimed, for the group: those of the group itself, and those of former holders since a
// transfer.
func (s *Snapshot) serve(c *state.Claim, group lease.Group) (ids []lease.ID) {
	uses := s.HostUses.At(c.Thing)
	if c.Kind.HasPorts() {
		uses = s.Addresses.Services().At(c.Addr())
	}
	for _, u := range uses {
		if u.HasLease && isFor(c, u.Lease, group) {
			ids = append(ids, u.Lease)
		}
	}
	return ids
}

// isFor reports whether what a lease has serves a claim for a group.
func isFor(c *state.Claim, id lease.ID, group lease.Group) bool {
	return id.Group() == group || slices.ContainsFunc(c.FormerOf(id.Group()), func(p state.Part) bool { return p.Lease.Group() == group })
}

// Serves reports whether objects of the group, or of a former holder, serve the claim: a route serves its host, or a
// Service uses its address.
func (s *Snapshot) Serves(c *state.Claim, group lease.Group) bool {
	if c.Kind == state.Endpoint {
		return slices.ContainsFunc(s.using.Of(c.Name()), func(o Object) bool { return o.Group == group && o.Kind == kinds.Service })
	}
	return len(s.serve(c, group)) > 0
}

// LiveFor returns the leases whose objects serve or declare a claim of the group. A lease without a namespace serves nothing, whatever it
// has left.
func (s *Snapshot) LiveFor(c *state.Claim, group lease.Group) []lease.ID {
	var ids []lease.ID
	if c.Kind.HasPorts() {
		for _, o := range s.portsOf.At(c.SharingKey) {
			if o.HasLease && isFor(c, o.Lease, group) {
				ids = append(ids, o.Lease)
			}
		}
	}
	return s.live(append(ids, s.serve(c, group)...))
}

// live returns the leases that have a namespace, each once.
func (s *Snapshot) live(ids []lease.ID) (out []lease.ID) {
	for _, id := range ids {
		if s.namespaces.At(id.Namespace()).Alive && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// LiveOf returns the leases of a deployment group that have something in the cluster and a namespace: objects, or the
// definition that the ledger keeps, as it was read with the snapshot or is given.
func (s *Snapshot) LiveOf(group lease.Group, given ...*kept.Definition) []lease.ID {
	var ids []lease.ID
	for _, o := range slices.Concat(s.Written.Of(group), s.Theirs.Of(group)) {
		ids = append(ids, o.Lease)
	}
	for _, d := range append(given, s.Definitions[kept.Name(group)]) {
		if d == nil || d.Deleting {
			continue
		}
		if def, err := d.Decode(); err == nil {
			ids = append(ids, def.Lease)
		}
	}
	return slices.DeleteFunc(s.live(ids), func(id lease.ID) bool { return id.Group() != group })
}

// Unserved reports whether nothing of the owner serves a part of a claim that the deployment group of a lease holds. While
// another lease of the group is live, what names that lease counts as served.
func (s *Snapshot) Unserved(id lease.ID, c *state.Claim, p state.Part) bool {
	_, elsewhere := state.Elsewhere(id, s.LiveOf(id.Group()))
	by, _ := s.ServedBy(c, p)
	return (!elsewhere || p.Lease == id) && !s.Serves(c, id.Group()) && len(by) == 0
}

// Decide returns who has a part of a claim, which may be nil; of are those of its IP endpoint, claimed reports whether a claim with a name
// exists. An unclaimed port counts as claimed by another deployment if a ProviderLeasedIP of that deployment is there for it: unless the
// group adopts it, and that deployment holds the port on none of the claims of the endpoint either.
func (s *Snapshot) Decide(
	j state.Judge, cfg *config.ProviderConfig, h state.Hold, p state.Part, claim *state.Claim, of []*state.Claim, claimed func(name string) bool,
) state.Finding {
	var uses []state.Use
	switch a, _ := netip.ParseAddr(h.Thing); {
	case claim != nil, h.Kind == state.Endpoint: // of an endpoint the ProviderLeasedIPs of the ports are looked at
	case h.Kind == state.Address:
		uses = s.Addresses.Foreign(a, h.SharingKey)
	default:
		uses = state.UsesOf(h.Thing, s.HostUses.At, j.Group.Owner, claimed)
	}
	f := j.Decide(h, p.Key, claim, uses)
	if f.Verdict == state.Mine && !j.Adopt {
		if by, moved := s.movedAway(j.Group, cfg, h, p, claim.Part(p.Key)); moved {
			return state.Finding{Verdict: state.Held, By: by}
		}
	}
	if f.Verdict != state.Free || !h.Kind.HasPorts() {
		return f
	}
	o, taken := s.declaredPort(j.Group, h.SharingKey, p.Key)
	if !taken && j.OnePort {
		o, taken = s.declaredPort(j.Group, h.SharingKey, state.OtherProtocol(p.Key))
	}
	holds := func(c *state.Claim) bool {
		part := c.Part(state.PortKey(o.Protocol, o.Port))
		return part != nil && part.Lease.Group() == o.Lease.Group()
	}
	if !taken || j.Adopt && o.HasLease && o.Lease.Owner == j.Group.Owner && !slices.ContainsFunc(of, holds) {
		return f
	}
	by := state.Holder{
		Owner: o.Owner, Lease: o.Lease, Object: o.Kind + " " + o.Namespace + "/" + o.Name, Namespace: o.Namespace,
		Since: o.Since, Service: o.Service, Port: o.Port,
	}
	if o.HasLease && o.Lease.Owner == j.Group.Owner {
		return state.Finding{Verdict: state.Withheld, By: by}
	}
	return state.Finding{Verdict: state.Held, By: by}
}

// declaredPort returns the ProviderLeasedIP that Akash's provider keeps for a port of an endpoint and another deployment
// group than the given one.
func (s *Snapshot) declaredPort(group lease.Group, sharingKey, key string) (state.PortObject, bool) {
	protocol, port := state.Part{Key: key}.ProtocolPort()
	o, found := s.port(lease.LeasedIPName(sharingKey, protocol, port))
	return o, found && (!o.HasLease || o.Lease.Group() != group)
}

// port returns the ProviderLeasedIP of a name.
func (s *Snapshot) port(name string) (o state.PortObject, found bool) {
	all := s.ports.At(name)
	if len(all) == 0 {
		return o, false
	}
	return all[len(all)-1], true
}

// movedAway returns the lease to which Akash's provider has moved a part that the deployment group holds. Until the claim
// follows, nobody may overwrite the provider's object.
func (s *Snapshot) movedAway(group lease.Group, cfg *config.ProviderConfig, h state.Hold, p state.Part, own *state.Part) (by state.Holder, moved bool) {
	kind, name := kinds.ProviderHost, h.Thing
	switch protocol, port := p.ProtocolPort(); {
	case h.Kind.HasPorts() && port == 0, !h.Kind.HasPorts() && p.Key != state.RouteKey("/"):
		return by, false
	case h.Kind.HasPorts():
		kind, name = kinds.ProviderLeasedIP, lease.LeasedIPName(h.SharingKey, protocol, port)
	}
	o := s.At(kind, cfg.ManifestNamespace, name)
	if o == nil {
		return by, false
	}
	whose := s.Ownership(o)
	if !whose.HasLease || !slices.Contains(whose.MovedFrom, group) && (own == nil || !whose.Takes(*own)) {
		return by, false
	}
	by = state.Holder{Owner: whose.Lease.Owner, Lease: whose.Lease, Namespace: whose.Lease.Namespace()}
	moves := fmt.Sprintf("Akash's provider has moved %s %s/%s there", kind.Singular, o.GetNamespace(), o.GetName())
	by.Reason = moves + ", and the claim has yet to follow: kubectl akash-net repair"
	if by.Owner != group.Owner {
		by.Reason = moves + " from this lease, to another owner: one of the two releases it"
	}
	return by, true
}

// Chosen returns the objects that this program wrote for a deployment group and that serve what is chosen, in the order in which they are
// deleted.
func (s *Snapshot) Chosen(group lease.Group, chosen state.Choice) []Object {
	return slices.DeleteFunc(s.Written.Of(group), func(o Object) bool { return !s.isChosen(o, chosen) })
}

// isChosen reports whether an object serves what is chosen. A ProviderLeasedIP does if its endpoint has a chosen address.
func (s *Snapshot) isChosen(o Object, chosen state.Choice) bool {
	if chosen.All() {
		return true
	}
	if o.Kind == kinds.ProviderLeasedIP {
		return slices.ContainsFunc(s.ClaimsOfPort(o), chosen.Claim)
	}
	return slices.ContainsFunc(o.uses(), func(g Ground) bool {
		if g.host != "" {
			return chosen.Has(g.host)
		}
		c := s.Claim(g.Name)
		return c != nil && chosen.Claim(c)
	})
}

// Below returns the uses of the hosts one label below a wildcard, by host.
func (s *Snapshot) Below(wildcard string) map[string][]state.Use {
	out := map[string][]state.Use{}
	for host, uses := range s.HostUses.All() {
		if state.WildcardOver(host) == wildcard {
			out[host] = uses
		}
	}
	return out
}
