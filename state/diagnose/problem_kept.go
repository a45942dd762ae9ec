package diagnose

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// KeptDefinition is a definition that the ledger keeps, as the search for problems needs it.
type KeptDefinition struct {
	state.ObjectRef
	// Def is the definition; nil where it cannot be understood, and Unreadable says why.
	Def        *lease.Definition
	Unreadable string
	// Run is the nonce of the run that has kept it, Written when that was.
	Run     string
	Written time.Time
}

// keptPlan is what a kept definition mends a problem by.
const keptPlan = "apply the definition that the ledger keeps"

// findKept notes the definitions that are kept, and what is wrong with them.
func (p *problems) findKept() {
	for i := range p.Definitions {
		k := &p.Definitions[i]
		base := state.Problem{Thing: "definition/" + k.Name, Since: metav1.NewTime(k.Written)}
		switch {
		case k.Def == nil:
			base.Problem, base.Message = state.UnreadableDefinition, k.Unreadable
			base.Plan, base.Mend = "delete it: the next apply of its lease keeps it anew", state.ForgetDefinition{Definition: k.ObjectRef}
			p.add(base.ByName())
		case p.isStray(k):
			base.Problem, base.Lease = state.StrayDefinition, k.Def.Lease.String()
			base.Message, base.Plan = "its lease holds nothing and has no object, and its namespace is gone", "delete it"
			base.Mend = state.ForgetDefinition{Definition: k.ObjectRef, Group: k.Def.Lease.Group()}
			p.add(base)
		}
	}
}

// isStray is true for the definition of a lease that is over: it has nothing, has had nothing for as long as a run may
// need, and its namespace is gone. While that is there the lease may have handed over or released what it had, or all
// that it asks for is withheld from it.
func (p *problems) isStray(k *KeptDefinition) bool {
	g := k.Def.Lease.Group()
	return !p.Namespaces[k.Def.Lease.Namespace()] && p.Now.Sub(p.lastWritten[g]) > p.CrashedAfter &&
		!slices.ContainsFunc(p.Claims, func(c *state.Claim) bool { return len(c.Entries(g)) > 0 }) &&
		!slices.ContainsFunc(p.Objects, func(o state.OwnObject) bool { return o.Of(g) })
}

// byDefinition lets the definition of a deployment group mend a problem: the one that the ledger keeps, or else one
// that is given.
func (p *problems) byDefinition(x state.Problem, g lease.Group) state.Problem {
	x = x.ByDefinition(g)
	if p.heals(g) {
		x.Plan, x.Manual, x.Command, x.Mend = keptPlan, false, "", state.ApplyDefinition{Group: g, Kept: true}
	}
	return x
}

// byPruning lets a definition mend a problem as byDefinition does. What serves and is not of the definition goes by it:
// that waits for somebody's word.
func (p *problems) byPruning(x state.Problem, g lease.Group) state.Problem {
	if x = p.byDefinition(x, g); !x.Manual {
		x = x.ByName()
		x.Plan, x.Mend = keptPlan+", and remove what is of another", state.ApplyDefinition{Group: g, Kept: true, Prune: true}
	}
	return x
}

// heals is true where the definition that is kept for a deployment group is that of its objects, and no run is at work
// on them. Who applies in another way, or by an older version, does not keep what was applied.
func (p *problems) heals(g lease.Group) bool {
	k := p.kept[g]
	return k != nil && p.hashes[g][k.Def.Hash] && p.Now.Sub(p.lastWritten[g]) > p.CrashedAfter
}

// finishes is true where the kept definition is that of the run which has marked the parts of a claim and did not end.
// A run that has kept nothing, because it changed nothing of the definition, is finished where its objects are missing.
func (p *problems) finishes(c *state.Claim, g lease.Group, keys []string, isServed bool) bool {
	k := p.kept[g]
	return k != nil && !slices.ContainsFunc(keys, func(key string) bool {
		part := c.Part(key)
		return !k.names(p, c, key) || part.Run != k.Run && (isServed || !p.hashes[g][k.Def.Hash])
	})
}

// names is true where the definition asks for a part of a claim.
func (k *KeptDefinition) names(p *problems, c *state.Claim, key string) bool {
	req, wrong := state.NewRequest(k.Def, p.Config)
	switch {
	case wrong.Failed():
		return false
	case c.Kind.HasPorts():
		return slices.ContainsFunc(req.Endpoints, func(e state.EndpointWant) bool {
			return e.SharingKey == c.SharingKey && slices.ContainsFunc(e.Ports, func(w state.PortWant) bool { return state.PortKey(w.Protocol, w.ExternalPort) == key })
		})
	}
	return slices.ContainsFunc(req.Hosts, func(h state.HostWant) bool { return h.Host == c.Thing && state.RouteKey(h.Path) == key })
}

// isMissing is true for a part of which Akash knows nothing, so that its provider has not purged it: a path, or a
// wildcard. The other objects of its lease are there.
func (p *problems) isMissing(c *state.Claim, part state.Part) bool {
	g := part.Lease.Group()
	undeclared := c.Kind == state.Wildcard || c.Kind == state.Host && part.Key != state.RouteKey("/")
	return undeclared && p.heals(g) && p.kept[g].Def.Lease == part.Lease && p.kept[g].names(p, c, part.Key)
}

// addMissing notes parts whose route somebody has deleted.
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
