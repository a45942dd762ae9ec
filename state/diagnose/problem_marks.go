package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// marks notes an object of ours from which somebody's write has taken marks. What Akash's operators keep
// anyway needs none.
func (p *problems) marks(base state.Problem, o *state.OwnObject) {
	if !o.Ours || len(o.Lost) == 0 || o.Kept || slices.ContainsFunc(o.Uses, func(u state.Use) bool { return p.isAbandoned(o, u) }) {
		return
	}
	base.Problem, base.Message = state.LostMarks, fmt.Sprintf("%s has lost its %s: somebody has written over it", o, strings.Join(o.Lost, " and its "))
	base.Plan, base.Mend = "write them again", state.RestoreMarks{Object: o.ObjectRef, Group: o.Lease.Group(), Hash: p.hash(o.Lease)}
	p.add(base)
}

// marksOf notes a claim that was restored from a backup: the managers of the lease own nothing of it.
func (p *problems) marksOf(base state.Problem, c *state.Claim) {
	if len(c.Unmanaged) == 0 || c.Deleting {
		return
	}
	base.Problem, base.Lease = state.LostMarks, c.PartsOf(c.Unmanaged[0])[0].Lease.String()
	base.Message = "its claim has lost the managed fields of its leases: it was restored from a backup, or somebody has written over it"
	base.Plan, base.Mend = "write them again", state.OwnParts{Claim: c}
	p.add(base)
}

// isAbandoned is true for a use without a claim by an object that has lost its annotation.
func (p *problems) isAbandoned(o *state.OwnObject, u state.Use) bool {
	if u.Address.IsValid() && p.Config.IP.Mode == config.ModePool {
		return false
	}
	c := p.claims[claimName(u)]
	return (c == nil || len(c.Parts) == 0) && slices.Contains(o.Lost, state.MarkAnnotation) && !o.Kept
}

// abandoned notes an object of ours without its annotation that serves what nobody has claimed. Whether a
// release has left it or the claim was lost nobody can tell, so it waits for a word.
func (p *problems) abandoned(base state.Problem, o *state.OwnObject) {
	base.Problem = state.LostMarks
	base.Message = fmt.Sprintf("%s serves it, nobody has claimed it, and the object has lost its %s", o, strings.Join(o.Lost, " and its "))
	base.Plan = "apply the definition of its lease, which claims it again, or delete " + o.String()
	p.goes(base.ByName(), o)
}

// hash is that of the definition of which the marked objects of a lease are; where they are of several, or
// none is marked, one that stands for the lease until it is applied again.
func (p *problems) hash(id lease.ID) string {
	if hashes := p.hashes[id.Group()]; len(hashes) == 1 {
		return slices.Collect(maps.Keys(hashes))[0]
	}
	return lease.Hash("marked " + id.String())
}
