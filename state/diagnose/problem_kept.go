package diagnose

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// KeptDefinition is a definition that the ledger keeps, with the facts that the search for problems needs.
type KeptDefinition struct {
	state.ObjectRef
	// Def is the definition. It is nil if it cannot be read; Unreadable says why.
	Def        *lease.Definition
	Unreadable string
	// Run is the nonce of the run that wrote it, Written the time of the write.
	Run     string
	Written time.Time
}

// keptPlan is the plan of a problem that a kept definition fixes.
const keptPlan = "apply the definition that the ledger keeps"

// checkKept finds kept definitions that are unreadable or belong to no lease any more.
func (p *problems) checkKept() {
	for i := range p.Definitions {
		k := &p.Definitions[i]
		base := state.Problem{Thing: "definition/" + k.Name, Since: metav1.NewTime(k.Written)}
		switch {
		case k.Def == nil:
			p.add(fill(base, state.UnreadableDefinition, k.Unreadable, "delete it: the next apply of its lease keeps it anew",
				state.ForgetDefinition{Definition: k.ObjectRef}).ByName())
		case p.isStray(k):
			base.Lease = k.Def.Lease.String()
			p.add(fill(base, state.StrayDefinition,
				"its lease holds nothing and has no object, and its namespace is gone", "delete it",
				state.ForgetDefinition{Definition: k.ObjectRef, Group: k.Def.Lease.Group()}))
		}
	}
}

// isStray reports whether the lease of a definition has ended: it has no entries on claims and no objects, its
// namespace is gone, and nothing was written for it for longer than a run may need. While the namespace exists, the
// lease may have transferred or released what it had, or everything that it asks for may be withheld.
func (p *problems) isStray(k *KeptDefinition) bool {
	g := k.Def.Lease.Group()
	return !p.Namespaces[k.Def.Lease.Namespace()] && p.Now.Sub(p.lastWritten[g]) > p.CrashedAfter &&
		!p.entries[g] && len(p.objects[g]) == 0
}

// byDefinition makes a definition of the deployment group the repair of a problem: the one that the ledger keeps, or
// else one from a file.
func (p *problems) byDefinition(x state.Problem, g lease.Group) state.Problem {
	x = x.ByDefinition(g)
	if p.canApplyKept(g) {
		x.Plan, x.Manual, x.Command, x.Mend = keptPlan, false, "", state.ApplyDefinition{Group: g, Kept: true}
	}
	return x
}

// byPruning is byDefinition with pruning. It deletes objects that serve and are not in the definition, so the user must
// name the problem.
func (p *problems) byPruning(x state.Problem, g lease.Group) state.Problem {
	if x = p.byDefinition(x, g); !x.Manual {
		x = x.ByName()
		x.Plan, x.Mend = keptPlan+", and remove what is of another", state.ApplyDefinition{Group: g, Kept: true, Prune: true}
	}
	return x
}

// canApplyKept reports whether the ledger keeps the definition that the group's objects were rendered from, and no run
// is working on them. Other tools and older versions of this program do not keep what they apply.
func (p *problems) canApplyKept(g lease.Group) bool {
	k := p.kept[g]
	return k != nil && p.hashes[g][k.Def.Hash] && p.Now.Sub(p.lastWritten[g]) > p.CrashedAfter
}

// canFinish reports whether the kept definition is that of the crashed run that marked the parts. A run that changed
// nothing in the definition has not written it; such a run can be finished if its objects are missing.
func (p *problems) canFinish(c *state.Claim, g lease.Group, keys []string, isServed bool) bool {
	k := p.kept[g]
	return k != nil && !slices.ContainsFunc(keys, func(key string) bool {
		part := c.Part(key)
		return !p.asksFor(g, c, key) || part.Run != k.Run && (isServed || !p.hashes[g][k.Def.Hash])
	})
}

// asked are the parts of things that a definition asks for: a host with the key of a path, or a sharing key with that of a port. refused is
// true if the configuration refuses the definition.
type asked struct {
	parts   map[[2]string]bool
	refused bool
}

// asked returns what the kept definition of a deployment group asks for, or nil if none is kept that can be read.
func (p *problems) asked(g lease.Group) *asked {
	k := p.kept[g]
	if k == nil {
		return nil
	}
	if a := p.asks[g]; a != nil {
		return a
	}
	req, wrong := state.NewRequest(k.Def, p.Config)
	a := &asked{map[[2]string]bool{}, wrong.Failed()}
	for _, h := range req.Hosts {
		a.parts[[2]string{h.Host, state.RouteKey(h.Path)}] = true
	}
	for _, e := range req.Endpoints {
		for _, w := range e.Ports {
			a.parts[[2]string{e.SharingKey, w.Key()}] = true
		}
	}
	p.asks[g] = a
	return a
}

// asksFor reports whether the kept definition of a deployment group asks for a part of a claim, and can be applied.
func (p *problems) asksFor(g lease.Group, c *state.Claim, key string) bool {
	thing := c.Thing
	if c.Kind.HasPorts() {
		thing = c.SharingKey
	}
	a := p.asked(g)
	return a != nil && !a.refused && a.parts[[2]string{thing, key}]
}

// isMissing reports whether the route of a part that Akash does not know, a path or a wildcard, is missing while the
// lease's other objects exist. Akash's provider cannot have purged it.
func (p *problems) isMissing(c *state.Claim, part state.Part) bool {
	g := part.Lease.Group()
	undeclared := c.Kind == state.Wildcard || c.Kind == state.Host && part.Key != state.RouteKey("/")
	return undeclared && p.canApplyKept(g) && p.kept[g].Def.Lease == part.Lease && p.asksFor(g, c, part.Key)
}

// addMissing adds parts whose routes somebody has deleted.
func (p *problems) addMissing(base state.Problem, c *state.Claim, g lease.Group, keys []string) {
	what := "its route is missing: somebody has deleted it"
	if c.Kind == state.Host {
		what = fmt.Sprintf("the route of its path %s is missing: somebody has deleted it", c.Part(keys[0]).Path)
		if len(keys) > 1 {
			what = fmt.Sprintf("the routes of %d of its paths are missing: somebody has deleted them", len(keys))
		}
	}
	base.Problem, base.Message = state.MissingRoute, what
	p.add(p.byDefinition(base, g))
}
