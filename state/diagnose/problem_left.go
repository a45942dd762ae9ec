package diagnose

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
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
		base.Mend = state.LeaveParts{Parts: state.ClaimParts{Claim: c, Group: g, Keys: keys}}
		p.add(base)
		return
	}
	base = base.ByDefinition(g)
	if p.kept[g] != nil && (len(p.hashes[g]) == 0 || p.hashes[g][p.kept[g].Def.Hash]) {
		base = base.ByName()
		base.Plan, base.Mend = keptPlan, state.ApplyDefinition{Group: g, Kept: true}
	}
	base.Message += fmt.Sprintf("; if the lease is over, give it up (kubectl akash-net release %s %s)", g, state.Typed(c.Thing))
	p.add(base)
}
