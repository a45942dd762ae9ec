package diagnose

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// asked are the parts of things that a definition asks for: a host with the key of a path, or a sharing key with that of a port. refused is
// true if the configuration refuses the definition.
type asked struct {
	parts   map[[2]string]bool
	refused bool
}

// asked returns what the kept definition of a deployment group asks for, or nil if none is kept that can be read.
func (w *World) asked(g lease.Group) *asked {
	of := w.of(g)
	if of.kept == nil || of.asks != nil {
		return of.asks
	}
	req, wrong := state.NewRequest(of.kept.Def, w.Config)
	of.asks = &asked{map[[2]string]bool{}, wrong.Failed()}
	for _, h := range req.Hosts {
		of.asks.parts[[2]string{h.Host, state.RouteKey(h.Path)}] = true
	}
	for _, e := range req.Endpoints {
		for _, want := range e.Ports {
			of.asks.parts[[2]string{e.SharingKey, want.Key()}] = true
		}
	}
	return of.asks
}

// asksFor reports whether the kept definition of a deployment group asks for a part of a claim, and can be applied.
func (w *World) asksFor(g lease.Group, c *state.Claim, key string) bool {
	thing := c.Thing
	if c.Kind.HasPorts() {
		thing = c.SharingKey
	}
	a := w.asked(g)
	return a != nil && !a.refused && a.parts[[2]string{thing, key}]
}

// mayHeal reports whether the ledger keeps the definition that the group's objects were rendered from, and no run
// is working on them. Other tools and older versions of this program do not keep what they apply.
func (w *World) mayHeal(g lease.Group) bool {
	of := w.of(g)
	return of.kept != nil && of.hashes[of.kept.Def.Hash] && w.Now.Sub(of.written) > w.CrashedAfter
}

// hash returns the hash of the definition that the marked objects of a lease were rendered from. If they differ or none
// is marked, it returns a hash that represents the lease until it is applied again.
func (w *World) hash(id lease.ID) string {
	hashes := w.of(id.Group()).hashes
	for hash := range hashes {
		if len(hashes) == 1 {
			return hash
		}
	}
	return lease.Hash("marked " + id.String())
}

// keptProblems finds kept definitions that are unreadable or belong to no lease any more: the lease has no entries on claims and no
// objects, its namespace is gone, and nothing was written for it for longer than a run may need. While the namespace exists, the
// lease may have transferred or released what it had, or everything that it asks for may be withheld.
func keptProblems(w *World) (out []state.Problem) {
	for i := range w.Definitions {
		k := &w.Definitions[i]
		base := state.Problem{Thing: "definition/" + k.Name, Since: metav1.NewTime(k.Written)}
		forget := &state.Fix{Do: state.Forget, Objects: []state.ObjectRef{k.ObjectRef}}
		if k.Def == nil {
			forget.Do = state.Drop
			out = append(out, fill(base, state.UnreadableDefinition, k.Unreadable, "delete it: the next apply of its lease keeps it anew", forget).ByName())
			continue
		}
		forget.Group = k.Def.Lease.Group()
		of := w.of(forget.Group)
		if !w.Namespaces[k.Def.Lease.Namespace()] && w.Now.Sub(of.written) > w.CrashedAfter && !of.entered && len(of.objects) == 0 {
			base.Lease = k.Def.Lease.String()
			out = append(out, fill(base, state.StrayDefinition, "its lease holds nothing and has no object, and its namespace is gone", "delete it", forget))
		}
	}
	return out
}

// healed makes a definition of the deployment group the repair of a problem: the one that the ledger keeps, or
// else one from a file.
func healed(w *World, x state.Problem, g lease.Group) state.Problem {
	if w.mayHeal(g) {
		return fill(x, x.Problem, x.Message, keptPlan, &state.Fix{Do: state.Heal, Group: g, Kept: true})
	}
	return x.ByDefinition(g)
}

// byPruning is healed with pruning. It deletes objects that serve and are not in the definition, so the user must
// name the problem.
func byPruning(w *World, x state.Problem, g lease.Group) state.Problem {
	if x = healed(w, x, g); !x.Manual {
		x = x.ByName()
		x.Plan, x.Fix.Prune = keptPlan+", and remove what is of another", true
	}
	return x
}
