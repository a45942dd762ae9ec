package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkClaim checks one claim and its parts.
func (p *problems) checkClaim(c *state.Claim) {
	base := state.Problem{Thing: c.Thing, Since: metav1.NewTime(c.Created)}
	if c.Unreadable != "" {
		p.add(fill(base, state.UnreadableClaim, c.Unreadable,
			"look at lease.coordination.k8s.io/"+c.Name()+", and delete it", state.DiscardClaim{Claim: c}).ByName())
		return
	}
	if c.Deleting && len(c.Finalizers) > 0 {
		p.addTerminating(base, c.Finalizers, state.ObjectRef{Kind: "lease.coordination.k8s.io", Namespace: p.Config.LedgerNamespace, Name: c.Name()})
		return
	}
	if why := c.Refused(p.Config); why != "" {
		p.add(fill(base, state.BlockedHost, "it is held, and it "+why,
			"release it, or change the configuration", state.ReleaseClaim{Claim: c}).ByName())
	}
	p.checkClaimMarks(base, c)
	for _, g := range c.Groups() {
		p.checkParts(base, c, g)
	}
	if c.Kind == state.Address && !c.Deleting {
		p.checkPool(base, c)
		p.checkSquatters(base, c)
	}
}

// addTerminating adds an object that was deleted, and is kept by finalizers. Until it is gone nobody else can take its thing: a claim has
// its name, and the claim of a route or a Service goes after it.
func (p *problems) addTerminating(base state.Problem, finalizers []string, o state.ObjectRef) {
	x := fill(base, state.Terminating, "it is being deleted, and kept by its finalizers "+strings.Join(finalizers, ", "),
		"nobody can take it until who put them there removes them", nil)
	x.Manual, x.Command = true, fmt.Sprintf("kubectl -n %s edit %s/%s", o.Namespace, o.Kind, o.Name)
	p.add(x)
}

func (p *problems) checkParts(base state.Problem, c *state.Claim, g lease.Group) {
	var ended, marked, left, missing []string
	var id lease.ID
	over := "the hold has expired"
	gone := map[lease.ID][]string{}
	for _, part := range c.PartsOf(g) {
		id = part.Lease
		switch {
		case c.PartEnded(part, p.Now):
			if ended = append(ended, part.Key); !part.Ended(p.Now) {
				over = "it is announced until " + part.Expires + ", which no run does: whoever comes next may take it"
			}
		case p.hasCrashed(part.Run):
			marked = append(marked, part.Key)
		case p.isGone(c, part):
			gone[part.Lease] = append(gone[part.Lease], part.Key)
		case p.nothingLeft(c, part) && p.isMissing(c, part):
			missing = append(missing, part.Key)
		case p.nothingLeft(c, part):
			left = append(left, part.Key)
		}
	}
	base.Lease, base.Namespace = id.String(), id.Namespace()
	of := func(keys []string) state.ClaimParts { return state.ClaimParts{Claim: c, Group: g, Keys: keys} }
	if len(ended) > 0 {
		p.add(fill(base, state.HoldEnded, over, "give up the hold", state.LeaveParts{Parts: of(ended)}))
	}
	if len(marked) > 0 {
		p.addCrashed(base, of(marked))
	}
	for _, id := range slices.SortedFunc(maps.Keys(gone), lease.ID.Compare) {
		base := base
		base.Lease, base.Namespace = id.String(), id.Namespace()
		p.add(fill(base, state.NamespaceGone, "the namespace of the lease does not exist", "give it up and delete its objects",
			state.LeaveParts{Parts: of(gone[id]), Namespace: id.Namespace(), Delete: p.objectsFor(c, g)}))
	}
	if len(missing) > 0 {
		p.addMissing(base, c, g, missing)
	}
	if len(left) > 0 {
		p.addNothingLeft(base, c, g, left)
	}
}

// addCrashed adds parts that a crashed run has marked.
func (p *problems) addCrashed(base state.Problem, parts state.ClaimParts) {
	c, g := parts.Claim, parts.Group
	run := p.runs[state.NonceOf(c.Part(parts.Keys[0]).Run)]
	base.Problem, base.Message = state.CrashedRun, run.String()+", claimed it and did not finish"
	objects := p.objectsFor(c, g)
	switch isServed := p.isServed(c, g, objects); {
	case p.servedByFormer(c, g):
		base.Plan, base.Mend = "keep it, for the objects of its former holder serve it, and end the run", state.EndRun{Parts: parts}
	case p.canFinish(c, g, parts.Keys, isServed):
		base.Plan, base.Mend = "finish the run: "+keptPlan, state.ApplyDefinition{Group: g, Kept: true}
	case isServed:
		base.Plan, base.Mend = "keep it, for its objects are there, and end the run", state.EndRun{Parts: parts}
	case len(objects) == 0:
		base.Plan, base.Mend = "give it up, for nothing was made for it", state.LeaveParts{Parts: parts}
	default:
		base.Plan, base.Mend = "give it up and delete its objects, which serve nothing", state.LeaveParts{Parts: parts, Delete: objects}
	}
	p.add(base)
}

// servedByFormer reports whether objects of a former holder still serve a part of the group.
func (p *problems) servedByFormer(c *state.Claim, g lease.Group) bool {
	return slices.ContainsFunc(c.PartsOf(g), func(part state.Part) bool {
		former, ok := part.Former()
		return ok && (len(p.objectsFor(c, former)) > 0 || p.isServed(c, former, nil))
	})
}

// isGone reports whether the lease that a part names is gone with its namespace. Either the part says that the lease was
// applied, or an object of the lease proves it: this program and Akash's provider create the namespace before anything
// else. Objects that a pipeline delivered prove nothing; the namespace may come later. While another lease of the
// deployment group serves the claim, in a namespace that exists, nothing is gone, whichever lease the part names.
func (p *problems) isGone(c *state.Claim, part state.Part) bool {
	if part.Run != "" || p.Namespaces[part.Lease.Namespace()] {
		return false
	}
	objects := p.dependent(c, part.Lease.Group())
	live := func(o *state.OwnObject) bool { return p.Namespaces[o.Lease.Namespace()] }
	proves := func(o *state.OwnObject) bool {
		return o.Lease == part.Lease && o.Ours && (!o.Written.IsZero() || o.Declared)
	}
	return !slices.ContainsFunc(objects, live) && (part.Applied || slices.ContainsFunc(objects, proves))
}

// objectsFor returns the objects of the group that this program wrote and that depend on the claim.
func (p *problems) objectsFor(c *state.Claim, g lease.Group) []state.ObjectRef {
	var refs []state.ObjectRef
	for _, o := range p.dependent(c, g) {
		if o.Ours {
			refs = append(refs, o.ObjectRef)
		}
	}
	return refs
}

// dependent returns the objects of the group that depend on the claim, whoever wrote them.
func (p *problems) dependent(c *state.Claim, g lease.Group) []*state.OwnObject {
	var out []*state.OwnObject
	for _, o := range p.objects[g] {
		uses := func(u state.Use) bool { return u.Thing() == c.Thing }
		if o.StandsForPort(c) || slices.ContainsFunc(o.Uses, uses) {
			out = append(out, o)
		}
	}
	return out
}
