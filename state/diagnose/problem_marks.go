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

// checkMarks finds an object of this program that has lost marks. Objects that Akash's operators maintain need none: an
// operator takes the annotation away whenever it starts, and if it changes nothing else, no managed field tells of it.
func (p *problems) checkMarks(base state.Problem, o *state.OwnObject) {
	if o.ByProvider && slices.Equal(o.Lost, []string{state.MarkAnnotation}) {
		return
	}
	if !o.Ours || len(o.Lost) == 0 || o.Kept || slices.ContainsFunc(o.Uses, func(u state.Use) bool { return p.isAbandoned(o, u) }) {
		return
	}
	p.add(fill(base, state.LostMarks,
		fmt.Sprintf("%s has lost its %s: somebody has written over it", o, strings.Join(o.Lost, " and its ")),
		"write them again", state.RestoreMarks{Object: o.ObjectRef, Group: o.Lease.Group(), Hash: p.hash(o.Lease)}))
}

// checkClaimMarks finds a claim that was restored from a backup: the field managers of its leases own nothing of it.
func (p *problems) checkClaimMarks(base state.Problem, c *state.Claim) {
	if len(c.Unmanaged) == 0 || c.Deleting {
		return
	}
	base.Lease = c.PartsOf(c.Unmanaged[0])[0].Lease.String()
	p.add(fill(base, state.LostMarks, "its claim has lost the managed fields of its leases: "+
		"it was restored from a backup, or somebody has written over it", "write them again", state.OwnParts{Claim: c}))
}

// isAbandoned reports whether the object uses an unclaimed thing and has lost its annotation.
func (p *problems) isAbandoned(o *state.OwnObject, u state.Use) bool {
	if u.Address.IsValid() && p.Config.IP.Mode == config.ModePool {
		return false
	}
	c := p.claims[claimName(u)]
	return (c == nil || len(c.Parts) == 0) && slices.Contains(o.Lost, state.MarkAnnotation) && !o.Kept
}

// addAbandoned adds an object without its annotation that serves an unclaimed thing. Nobody can tell whether a release
// has left it behind or the claim was lost, so the user must decide.
func (p *problems) addAbandoned(base state.Problem, o *state.OwnObject) {
	base.Problem = state.LostMarks
	base.Message = fmt.Sprintf("%s serves it, nobody has claimed it, and the object has lost its %s",
		o, strings.Join(o.Lost, " and its "))
	base.Plan = "apply the definition of its lease, which claims it again, or delete " + o.String()
	p.addDelete(base.ByName(), o)
}

// hash returns the hash of the definition that the marked objects of a lease were rendered from. If they differ or none
// is marked, it returns a hash that represents the lease until it is applied again.
func (p *problems) hash(id lease.ID) string {
	if hashes := p.hashes[id.Group()]; len(hashes) == 1 {
		return slices.Collect(maps.Keys(hashes))[0]
	}
	return lease.Hash("marked " + id.String())
}
