package diagnose

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

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
