package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// servedPart is a part of a thing that an object of a deployment group serves or declares. The key is empty for a
// redirect, which belongs to any part of its host.
type servedPart struct {
	group      lease.Group
	thing, key string
}

// servedParts returns the parts that all objects serve or declare, whoever wrote them.
func servedParts(f ProblemFacts) map[servedPart]bool {
	served := map[servedPart]bool{}
	uses := func(u state.Use, id lease.ID, key string) {
		if u.Redirect {
			key = ""
		}
		served[servedPart{id.Group(), u.Thing(), key}] = true
	}
	for i := range f.Objects {
		o := &f.Objects[i]
		if !o.HasLease {
			continue
		}
		if o.SharingKey != "" {
			served[servedPart{o.Lease.Group(), o.SharingKey, o.Port.Key()}] = true
		}
		for _, u := range o.Uses {
			uses(u, o.Lease, u.PartKey(o))
		}
	}
	for _, of := range f.Uses {
		for _, u := range of {
			if u.HasLease {
				uses(u, u.Lease, state.RouteKey(u.Path))
			}
		}
	}
	return served
}

// nothingLeft reports whether the part's lease was applied and none of its objects exist any more: Akash's provider has
// purged them, or somebody has deleted them. Only the note Applied distinguishes this from a reservation.
func (p *problems) nothingLeft(c *state.Claim, part state.Part) bool {
	if !part.Applied || part.Run != "" || part.From != "" || c.Deleting || p.Now.Sub(c.Updated) < p.CrashedAfter {
		return false
	}
	things := []string{c.Thing}
	if c.Kind.HasPorts() {
		things = append(things, c.SharingKey)
	}
	for _, thing := range things {
		if g := part.Lease.Group(); p.stands[servedPart{g, thing, part.Key}] || p.stands[servedPart{g, thing, ""}] {
			return false
		}
	}
	return !p.declaredForAnother(c, &part)
}

// declaredForAnother reports whether Akash's provider declares a part for another deployment than the holder. Then the
// holder and the declaration are the problem, and the claim follows the declaration or not.
func (p *problems) declaredForAnother(c *state.Claim, part *state.Part) bool {
	kind := kinds.ProviderHost.Singular
	if c.Kind.HasPorts() {
		kind = kinds.ProviderLeasedIP.Singular
	}
	d := p.declaration(kind, c.Thing, c.SharingKey, part.Key)
	return d != nil && d.Shared && !d.Ours && !d.Of(part.Lease.Group()) &&
		(c.Kind.HasPorts() || c.Kind == state.Host && part.Key == state.RouteKey("/"))
}

// addNothingLeft adds parts without any objects. The namespace of the lease exists, so the tenant may too, and only the
// lease's provider knows whether the lease has ended. So the claim stays until the user decides.
func (p *problems) addNothingLeft(base state.Problem, c *state.Claim, g lease.Group, keys []string) {
	parts := len(keys)
	what := "its lease was applied, and none of the lease's objects for it exist any more"
	if all := len(c.PartsOf(g)); parts < all {
		what = fmt.Sprintf("its lease was applied, and %d of the %d parts that the lease holds of it have no objects any more",
			parts, all)
	}
	base.Problem, base.Message = state.NothingLeft, what+": Akash's provider has purged them, or somebody has deleted them"
	if p.canApplyKept(g) && !slices.ContainsFunc(keys, func(key string) bool { return p.asksFor(g, c, key) }) {
		base.Plan = "give it up, for the definition of its lease does not name it"
		base.Fix = &state.Fix{Do: state.GiveUp, Parts: state.ClaimParts{Claim: c, Group: g, Keys: keys}}
		p.add(base)
		return
	}
	base = base.ByDefinition(g)
	if p.kept[g] != nil && (len(p.hashes[g]) == 0 || p.hashes[g][p.kept[g].Def.Hash]) {
		base = base.ByName()
		base.Plan, base.Fix = keptPlan, &state.Fix{Do: state.Heal, Group: g, Kept: true}
	}
	base.Message += fmt.Sprintf("; if the lease is over, give it up (kubectl akash-net release %s %s)", g, state.Typed(c.Thing))
	p.add(base)
}

// lacks returns what Akash's hostname operator does not find for a ProviderHost, or "".
func (p *problems) lacks(o *state.OwnObject) string {
	if p.Lacks == nil || o.Kind != kinds.ProviderHost.Singular || len(o.Uses) == 0 {
		return ""
	}
	return p.Lacks(o.Lease, o.Uses[0].Service, o.Uses[0].Port)
}

// checkManifest finds a ProviderHost at which Akash's hostname operator stops. It may be deleted while nothing serves its
// host.
func (p *problems) checkManifest(base state.Problem, o *state.OwnObject) {
	lacks := p.lacks(o)
	if lacks == "" {
		return
	}
	host := o.Uses[0].Host
	base.Problem, base.Thing = state.OperatorStops, host
	base.Message = fmt.Sprintf("%s is there, and its lease has %s: Akash's hostname operator stops at it for all tenants, "+
		"and ignores the lease from then on", o, lacks)
	base.Plan = "let the tenant send the manifest to Akash's provider, and restart the operator"
	base.Manual, base.Command = true, "kubectl -n akash-services rollout restart deployment operator-hostname"
	c := p.claims[state.HostName(host)]
	part := c.Part(state.RouteKey("/"))
	served := slices.ContainsFunc(p.Uses[host], func(u state.Use) bool { return u.Kind != kinds.ProviderHost.Singular })
	if o.Ours && !o.Shared && !served && part != nil && part.Lease.Group() == o.Lease.Group() && part.Run == "" {
		base.Plan += fmt.Sprintf("; or delete %s, and where it is delivered from: the claim stays", o)
		base.Fix = &state.Fix{Do: state.DeleteObjects, Objects: one(o), Unserved: true, Parts: partOf(c, part)}
		base = base.ByName()
	}
	p.add(base)
}

// servesPart reports whether a route or a Service of the group serves the path of a host or the port of an endpoint.
func (p *problems) servesPart(thing, key string, g lease.Group) bool {
	return slices.ContainsFunc(p.services[thing], func(s state.ServiceObject) bool {
		return s.Of(g) && state.PortKey(s.Protocol, s.Port) == key
	}) || slices.ContainsFunc(p.Uses[thing], func(u state.Use) bool {
		return u.Kind != kinds.ProviderHost.Singular && !u.Redirect && u.Of(g) && state.RouteKey(u.Path) == key
	})
}

// addLeadsElsewhere adds an object of an operator that leads to another backend than the claim says. If its declaration d
// says the same, the operator has caught up: a tenant's update by Akash's provider is no problem, and what somebody else
// has written over a declaration of this program is.
func (p *problems) addLeadsElsewhere(base state.Problem, o, d *state.OwnObject, u state.Use, part *state.Part) {
	elsewhere := func(o *state.OwnObject) string { return routesElsewhere(o, u, part) }
	if o.Kind == "service" {
		elsewhere = func(o *state.OwnObject) string {
			return fmt.Sprintf("%s leads port %s of it to %s:%d, the claim says %s:%d", o, part.PortText(), u.Service, u.Port, part.Service, part.Port)
		}
	}
	switch {
	case d == nil || !d.Of(o.Lease.Group()) || !d.Declares(u.Service, u.Port):
		p.addNotCaughtUp(base, o, elsewhere(o))
	case d.Ours && !d.Shared:
		base.Problem, base.Message, base.Namespace = state.RouteDiffers, elsewhere(d), d.Namespace
		p.add(p.byDefinition(base, d.Lease.Group()))
	}
}

// addLeftBehind adds an object that an operator created for the former lease of what the holder now declares. One that
// was down when it changed hands never removes it.
func (p *problems) addLeftBehind(base state.Problem, o *state.OwnObject, kind string, part *state.Part) {
	base.Problem = state.StrayRoute
	base.Message = fmt.Sprintf("%s serves it, and %s holds it, has its %s and serves it too. "+
		"Akash's operator removes the former %s; one that was down when it changed hands never does", o, part.Lease.Group(), kind, o.Kind)
	p.addRejected(base, o)
}

// addRejected adds an object that is deleted when the user names it. Each object is its own problem: two ports of an
// endpoint have two Services.
func (p *problems) addRejected(base state.Problem, o *state.OwnObject) {
	if p.rejected[o.ObjectRef] {
		return // found for another of its paths
	}
	p.rejected[o.ObjectRef] = true
	base.Plan, base.Fix = "delete "+o.String(), reject(o, base.Thing)
	p.add(base.ByName())
}

// checkReservations finds expired reservations, unreadable ones, and those for which the room is gone.
func (p *problems) checkReservations() {
	for _, c := range p.Contents.Reservations {
		drop := &state.Fix{Do: state.Drop, Objects: []state.ObjectRef{{
			Kind: "lease", Namespace: p.Config.LedgerNamespace, Name: c.ObjectName,
			UID: string(c.UID), ResourceVersion: c.ResourceVersion,
		}}}
		x := state.Problem{Thing: "order/" + c.Order.String(), Since: metav1.NewTime(c.Created)}
		switch {
		case c.Deleting:
		case c.Unreadable != "":
			x.Thing = c.ObjectName
			means := "what cannot be read of it takes no room, and its order cannot reserve: "
			if !state.IsReservation(c.ObjectName) {
				means = "nobody can claim what has its name: "
			}
			p.add(fill(x, state.UnreadableClaim, means+c.Unreadable, "look who wrote it, and delete it", drop).ByName())
		case c.Over(p.Now):
			by := cmp.Or(c.Part().By, "nobody that is known")
			p.add(fill(x, state.HoldEnded, "what it has reserved has expired; it was reserved by "+by,
				"give up the reservation", drop))
		case p.Lost[c.ObjectName]:
			x = fill(x, state.RoomGone, "the cluster no longer has room for what it has reserved: "+
				"a node or a storage class is gone, closed or smaller, or an address range is",
				"reserve again when there is room, or give up what a bid that was lost has reserved: kubectl akash-net order release "+
					c.Order.String(), nil)
			x.Manual, x.Command = true, "kubectl akash-net order reserve "+c.Order.String()+" -f FILE"
			p.add(x)
		}
	}
}

// checkWallets finds an object for Akash's operators whose owner or provider they cannot decode. No deployment of the chain
// has such a wallet. A lease with one is released by a selector, because its name is refused on the command line.
func (p *problems) checkWallets(base state.Problem, o *state.OwnObject) {
	if o.WrongWallet == "" {
		return
	}
	base = fill(base, state.WrongWallet, o.WrongWallet+"; Akash's operator stops for all tenants when it starts, and no chain has this lease",
		"delete it", nil)
	base.Manual, base.Command = true, fmt.Sprintf("kubectl -n %s delete %s.akash.network %s", o.Namespace, o.Kind, o.Name)
	if o.Ours {
		g := o.Lease.Group()
		base.Plan = "release its lease"
		base.Command = fmt.Sprintf("kubectl akash-net release -l %s=%s,%s=%d,%s=%d", lease.LabelOwner, g.Owner,
			lease.LabelDSeq, g.DSeq, lease.LabelGSeq, g.GSeq)
	}
	p.add(base)
}

// findStrayWorkloads finds what this program runs for leases that are over as far as the cluster shows: a command that counted
// as crashed has written it late, or the ledger was lost. It may serve a tenant, so only release ends it.
func (p *problems) findStrayWorkloads() {
	if len(p.Manifests) == 0 {
		return
	}
	known, definitions := p.knownGroups(), sets.New[string]()
	for _, k := range p.Definitions {
		definitions.Insert(k.Name) // also of those that cannot be read
	}
	for _, m := range p.Manifests {
		g := m.Group.String()
		if m.Deleting || p.Now.Sub(m.Written) < p.CrashedAfter || known.Has(m.Group) || definitions.Has(kept.Name(m.Group)) {
			continue
		}
		p.add(state.Problem{
			Problem: state.StrayWorkload, Thing: g, Namespace: m.Namespace, Lease: g, Since: metav1.NewTime(m.Written),
			Message: "a workload of it is in namespace " + m.Namespace + ", and nothing else names the lease: no claim, no kept definition, " +
				"no reservation, no route and no command at work",
			Plan:   "release it or, if it is not over, apply it again with --workloads",
			Manual: true, Command: "kubectl akash-net release " + g,
		})
	}
}

// knownGroups returns the deployment groups that a claim, an object, a reservation or a command at work names, except the
// command that asks.
func (p *problems) knownGroups() sets.Set[lease.Group] {
	known := sets.New[lease.Group]()
	for _, c := range p.Claims {
		known.Insert(c.Writers()...)
	}
	for _, o := range p.Objects {
		if o.HasLease {
			known.Insert(o.Lease.Group())
		}
	}
	for _, c := range p.Contents.Reservations {
		if !c.Deleting && !c.Over(p.Now) {
			known.Insert(c.Order.Group())
		}
	}
	for _, a := range p.Runs {
		if a.Nonce != p.Own && !p.isDead(a) {
			known.Insert(a.Groups...)
		}
	}
	return known
}
