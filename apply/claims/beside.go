package claims

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// live returns what tells which leases serve a claim, or nil if the run applies a definition: an apply may replace what
// another lease of its deployment group serves, a reservation may not.
func (r *Claims) live() func(*state.Claim) []lease.ID {
	if r.Def != nil {
		return nil
	}
	return func(c *state.Claim) []lease.ID { return r.Snapshot.LiveFor(c, r.Group) }
}

// stayBeside reports, once, the parts that stay as they are because another lease of the deployment group serves them.
func (r *Claims) stayBeside(h state.Hold, beside []protocol.Beside) {
	for _, b := range beside {
		key := claimPart{h.Name(), b.Part.Key}
		if r.beside[key] {
			continue
		}
		r.beside[key] = true
		name := h.Thing + " " + b.Part.PortText()
		if !h.Kind.HasPorts() {
			name = lease.HostPath(h.Thing, b.Part.Path)
		}
		serves := fmt.Sprintf("lease %s of the same deployment serves it", b.By)
		if r.Options.Check {
			r.Event(report.Held, string(h.Kind), "", name, "by this deployment: "+serves)
			continue
		}
		r.Event(report.Left, string(h.Kind), "", name, serves+": it stays so until an apply of lease "+r.Request.Lease.String())
	}
}
