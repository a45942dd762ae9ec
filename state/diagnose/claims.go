package diagnose

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkClaim checks one claim and its parts.
func (p *problems) checkClaim(c *state.Claim) {
	base := state.Problem{Thing: c.Thing, Since: metav1.NewTime(c.Created)}
	whole := state.ClaimParts{Claim: c}
	switch {
	case c.Unreadable != "":
		p.add(fill(base, state.UnreadableClaim, c.Unreadable,
			"look at lease.coordination.k8s.io/"+c.Name()+", and delete it", &state.Fix{Do: state.Drop, Objects: p.w.ledgerObject(c.Name(), string(c.UID), c.ResourceVersion)}).ByName())
		return
	case c.Deleting && len(c.Finalizers) > 0:
		p.add(terminating(base, c.Finalizers, state.ObjectRef{Kind: "lease.coordination.k8s.io", Namespace: p.w.Config.LedgerNamespace, Name: c.Name()}))
		return
	}
	if why := c.Refused(p.w.Config); why != "" {
		p.add(fill(base, state.BlockedHost, "it is held, and it "+why,
			"release it, or change the configuration", &state.Fix{Do: state.Release, Parts: whole}).ByName())
	}
	if len(c.Unmanaged) > 0 && !c.Deleting {
		x := fill(base, state.LostMarks, "its claim has lost the managed fields of its leases: "+
			"it was restored from a backup, or somebody has written over it", "write them again", &state.Fix{Do: state.OwnParts, Parts: whole})
		x.Lease = c.PartsOf(c.Unmanaged[0])[0].Lease.String()
		p.add(x)
	}
	for _, g := range c.Groups() {
		p.checkParts(base, c, g)
	}
	if c.Kind == state.Address && !c.Deleting {
		if p.w.Config.IP.Mode != config.ModePool {
			p.addAll(grantProblems(p.w, base, c)...)
		}
		p.addAll(squatters(p.w, base, c)...)
	}
}

// checkParts checks what a deployment group holds of a claim: parts of which the same is to be said are one problem.
func (p *problems) checkParts(base state.Problem, c *state.Claim, g lease.Group) {
	var ended, marked, unserved, missing []string
	var id lease.ID
	over := "the hold has expired"
	gone := map[lease.ID][]string{}
	for _, part := range c.PartsOf(g) {
		id = part.Lease
		switch {
		case c.PartEnded(part, p.w.Now):
			if ended = append(ended, part.Key); !part.Ended(p.w.Now) {
				over = "it is announced until " + part.Expires + ", which no run does: whoever comes next may take it"
			}
		case p.w.hasCrashed(part.Run):
			marked = append(marked, part.Key)
		case isGone(p.w, c, part):
			gone[part.Lease] = append(gone[part.Lease], part.Key)
		case !p.isUnserved(c, part):
		case isUndeclared(c, part) && p.w.mayHeal(g) && p.w.of(g).kept.Def.Lease == part.Lease && p.w.asksFor(g, c, part.Key):
			missing = append(missing, part.Key) // Akash does not know it, so its provider cannot have purged it
		default:
			unserved = append(unserved, part.Key)
		}
	}
	of := func(keys []string) state.ClaimParts { return state.ClaimParts{Claim: c, Group: g, Keys: keys} }
	base.Lease, base.Namespace = id.String(), id.Namespace()
	if len(ended) > 0 {
		p.add(fill(base, state.HoldEnded, over, "give up the hold", &state.Fix{Do: state.GiveUp, Parts: of(ended)}))
	}
	if len(marked) > 0 {
		p.add(crashed(p.w, base, of(marked)))
	}
	for _, id := range slices.SortedFunc(maps.Keys(gone), lease.ID.Compare) {
		base := base
		base.Lease, base.Namespace = id.String(), id.Namespace()
		p.add(fill(base, state.NamespaceGone, "the namespace of the lease does not exist", "give it up and delete its objects",
			&state.Fix{Do: state.GiveUp, Parts: of(gone[id]), Namespace: id.Namespace(), Objects: p.w.objectsFor(c, g)}))
	}
	if len(missing) > 0 {
		p.add(healed(p.w, fill(base, state.MissingRoute, missingRoutes(c, missing), "", nil), g))
	}
	if len(unserved) > 0 {
		p.add(nothingLeft(p.w, base, of(unserved)))
	}
}

// isUndeclared reports whether a part is one that Akash does not know: a path or a wildcard.
func isUndeclared(c *state.Claim, part state.Part) bool {
	return c.Kind == state.Wildcard || c.Kind == state.Host && part.Key != state.RouteKey("/")
}

// crashed is the problem of parts that a crashed run has marked.
func crashed(w *World, base state.Problem, parts state.ClaimParts) state.Problem {
	c, g := parts.Claim, parts.Group
	message := w.runs[state.NonceOf(c.Part(parts.Keys[0]).Run)].String() + ", claimed it and did not finish"
	objects := w.objectsFor(c, g)
	keep, giveUp := &state.Fix{Do: state.EndRun, Parts: parts}, &state.Fix{Do: state.GiveUp, Parts: parts, Objects: objects}
	switch isServed := w.isServed(c, g, objects); {
	case servedByFormer(w, c, g):
		return fill(base, state.CrashedRun, message, "keep it, for the objects of its former holder serve it, and end the run", keep)
	case canFinish(w, parts, isServed):
		return fill(base, state.CrashedRun, message, "finish the run: "+keptPlan, &state.Fix{Do: state.Heal, Group: g, Kept: true})
	case isServed:
		return fill(base, state.CrashedRun, message, "keep it, for its objects are there, and end the run", keep)
	case len(objects) == 0:
		return fill(base, state.CrashedRun, message, "give it up, for nothing was made for it", giveUp)
	}
	return fill(base, state.CrashedRun, message, "give it up and delete its objects, which serve nothing", giveUp)
}

// servedByFormer reports whether objects of a former holder still serve a part of the group.
func servedByFormer(w *World, c *state.Claim, g lease.Group) bool {
	return slices.ContainsFunc(c.PartsOf(g), func(part state.Part) bool {
		former, ok := part.Former()
		return ok && (len(w.objectsFor(c, former)) > 0 || w.isServed(c, former, nil))
	})
}

// canFinish reports whether the kept definition is that of the crashed run that marked the parts. A run that changed
// nothing in the definition has not written it; such a run can be finished if its objects are missing.
func canFinish(w *World, parts state.ClaimParts, isServed bool) bool {
	of := w.of(parts.Group)
	return of.kept != nil && !slices.ContainsFunc(parts.Keys, func(key string) bool {
		return !w.asksFor(parts.Group, parts.Claim, key) || parts.Claim.Part(key).Run != of.kept.Run && (isServed || !of.hashes[of.kept.Def.Hash])
	})
}

// isGone reports whether the lease that a part names is gone with its namespace. Either the part says that the lease was
// applied, or an object of the lease proves it: this program and Akash's provider create the namespace before anything
// else. Objects that a pipeline delivered prove nothing; the namespace may come later. While another lease of the
// deployment group serves the claim, in a namespace that exists, nothing is gone, whichever lease the part names.
func isGone(w *World, c *state.Claim, part state.Part) bool {
	if part.Run != "" || w.Namespaces[part.Lease.Namespace()] {
		return false
	}
	objects := w.dependent(c, part.Lease.Group())
	live := func(o *state.OwnObject) bool { return w.Namespaces[o.Lease.Namespace()] }
	proves := func(o *state.OwnObject) bool {
		return o.Lease == part.Lease && o.Ours && (!o.Written.IsZero() || o.Declared)
	}
	return !slices.ContainsFunc(objects, live) && (part.Applied || slices.ContainsFunc(objects, proves))
}

// isUnserved reports whether the part's lease was applied and none of its objects exist any more: Akash's provider has
// purged them, or somebody has deleted them. Only the note Applied distinguishes this from a reservation. Where Akash's provider declares
// the part for another deployment, that is the problem, and the claim follows the declaration or not.
func (p *problems) isUnserved(c *state.Claim, part state.Part) bool {
	if !part.Applied || part.Run != "" || part.From != "" || c.Deleting || p.w.Now.Sub(c.Updated) < p.w.CrashedAfter {
		return false
	}
	g, d := part.Lease.Group(), p.w.declarations[[2]string{c.Thing}]
	if c.Kind.HasPorts() {
		d = p.w.declarations[[2]string{c.SharingKey, part.Key}]
	}
	return !p.w.stands(c, part) && !p.displaced[c.Part(part.Key)] && (d == nil || !d.Shared || d.Ours || d.Of(g) || isUndeclared(c, part))
}

// nothingLeft is the problem of parts without any objects. The namespace of the lease exists, so the tenant may too, and only the
// lease's provider knows whether the lease has ended. So the claim stays until the user decides.
func nothingLeft(w *World, base state.Problem, parts state.ClaimParts) state.Problem {
	c, g, of := parts.Claim, parts.Group, w.of(parts.Group)
	what := "its lease was applied, and none of the lease's objects for it exist any more"
	if n, all := len(parts.Keys), len(c.PartsOf(g)); n < all {
		what = fmt.Sprintf("its lease was applied, and %d of the %d parts that the lease holds of it have no objects any more", n, all)
	}
	base.Problem, base.Message = state.NothingLeft, what+": Akash's provider has purged them, or somebody has deleted them"
	if w.mayHeal(g) && !slices.ContainsFunc(parts.Keys, func(key string) bool { return w.asksFor(g, c, key) }) {
		return fill(base, base.Problem, base.Message, "give it up, for the definition of its lease does not name it", &state.Fix{Do: state.GiveUp, Parts: parts})
	}
	base = base.ByDefinition(g)
	if of.kept != nil && (len(of.hashes) == 0 || of.hashes[of.kept.Def.Hash]) {
		base = base.ByName()
		base.Plan, base.Fix = keptPlan, &state.Fix{Do: state.Heal, Group: g, Kept: true}
	}
	base.Message += fmt.Sprintf("; if the lease is over, give it up (kubectl akash-net release %s %s)", g, state.Typed(c.Thing))
	return base
}

// missingRoutes describes the routes that somebody has deleted.
func missingRoutes(c *state.Claim, keys []string) string {
	switch {
	case c.Kind != state.Host:
		return "its route is missing: somebody has deleted it"
	case len(keys) > 1:
		return fmt.Sprintf("the routes of %d of its paths are missing: somebody has deleted them", len(keys))
	}
	return fmt.Sprintf("the route of its path %s is missing: somebody has deleted it", c.Part(keys[0]).Path)
}

// findDrift finds routes and Services that no longer serve what the definition that the ledger keeps of their lease has under their name,
// and what their lease holds: somebody has changed them, or a class was configured since.
func (p *problems) findDrift() {
	for i := range p.w.Objects {
		o := &p.w.Objects[i]
		g := o.Lease.Group()
		if !o.Ours || o.Deleting || !o.HasLease || p.w.of(g).kept == nil || p.w.working[g] {
			continue
		}
		part, differs := changed(p.w, o)
		if differs == "" {
			continue
		}
		why := "somebody has changed it"
		if o.Routing.HasNoClass() {
			why += ", or it is older than the configured class"
		}
		p.drifted[o.String()], p.displaced[part] = true, true
		p.add(fill(state.Problem{Thing: o.Kind + "/" + o.Name, Namespace: o.Namespace, Lease: o.Lease.String()}, state.Drift,
			fmt.Sprintf("%s %s: %s", o, differs, why), "put it back: "+keptPlan, &state.Fix{Do: state.Heal, Group: g, Kept: true, Reclaim: true}))
	}
}

// changed returns how an object differs from what the kept definition has under its name, with the part of the claim that its lease holds
// for that; "" if it does not, or if the lease does not hold it. The backend of a route is compared with the claim, elsewhere.
func changed(w *World, o *state.OwnObject) (part *state.Part, differs string) {
	if o.Routing != nil {
		host, hash, redirect := lease.ParseRouteName(o.Name)
		c := w.claims[state.HostName(host)]
		part = heldPart(w, c, o, func(part state.Part) bool { return lease.PathHash(part.Path) == hash })
		// The router that this program wrote may be that of another configuration, which nobody has changed.
		if redirect || part == nil || o.Routing.Takes(host, part.Path) && o.Routing.RouterIsOurs || !w.asksFor(o.Lease.Group(), c, part.Key) {
			return nil, ""
		}
		return part, o.Routing.Differs(w.Config, host, part.Path)
	}
	if o.Kind != kinds.Service.Singular {
		return nil, ""
	}
	for _, c := range w.sharing[o.SharingKey] {
		part := heldPart(w, c, o, func(part state.Part) bool {
			protocol, port := part.ProtocolPort()
			name := lease.IPServiceName(part.Service, port, protocol)
			return o.Name == name || o.Name == name+lease.SecondFamilySuffix
		})
		if part != nil && part.Key != o.Port.Key() && w.asksFor(o.Lease.Group(), c, part.Key) {
			return part, fmt.Sprintf("serves the port %s, not %s", state.Part{Key: o.Port.Key()}.PortText(), part.PortText())
		}
	}
	return nil, ""
}

// heldPart returns the part of a claim that the lease of an object holds, or nil.
func heldPart(w *World, c *state.Claim, o *state.OwnObject, of func(state.Part) bool) *state.Part {
	if c == nil || c.Unreadable != "" || c.Deleting {
		return nil
	}
	i := slices.IndexFunc(c.Parts, func(part state.Part) bool {
		return part.Lease.Group() == o.Lease.Group() && !c.PartEnded(part, w.Now) && part.Run == "" && of(part)
	})
	if i < 0 {
		return nil
	}
	return &c.Parts[i]
}
