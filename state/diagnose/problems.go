package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// problems are what was found. What is found first says what comes of the same thing later: a drifted object is put back before anything
// is made of what it serves now.
type problems struct {
	w     *World
	found []state.Problem
	// about are the places in found by thing. rejected are the objects of operators that are deleted when the user names them.
	about    map[string][]int
	rejected map[state.ObjectRef]bool
	// drifted are the objects that somebody has changed, by kind, namespace and name. What they serve now is nobody's. displaced are the parts
	// that they serve no longer.
	drifted   map[string]bool
	displaced map[*state.Part]bool
}

// Problems finds all problems, sorted by thing. It is a pure function.
func Problems(f Facts) []state.Problem {
	p := &problems{
		w: NewWorld(f), about: map[string][]int{}, rejected: map[state.ObjectRef]bool{}, drifted: map[string]bool{}, displaced: map[*state.Part]bool{},
	}
	p.findDrift()
	p.addAll(crashedRuns(p.w)...)
	p.addAll(keptProblems(p.w)...)
	for _, c := range f.Contents.Claims {
		p.checkClaim(c)
	}
	for i := range f.Objects {
		p.checkObject(&f.Objects[i])
	}
	for g, of := range p.w.tenants {
		if len(of.hashes) > 1 {
			p.add(byPruning(p.w, state.Problem{Problem: state.MixedDefinitions, Thing: g.String(), Lease: g.String(),
				Message: fmt.Sprintf("its objects are of %d different definitions: two were applied at once, or a run crashed", len(of.hashes)),
			}, g))
		}
	}
	p.findTwoRoutes()
	p.checkRecords()
	p.addAll(poolProblems(p.w)...)
	p.findExhausted()
	p.addAll(nodeAddresses(p.w)...)
	p.addAll(ledgerProblems(p.w)...)
	slices.SortFunc(p.found, func(a, b state.Problem) int {
		return cmp.Or(cmp.Compare(a.Thing, b.Thing), cmp.Compare(a.Problem, b.Problem), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Message, b.Message))
	})
	return p.found
}

// fill returns base as a problem of the kind, with its message, its plan and its repair.
func fill(base state.Problem, kind, message, plan string, fix *state.Fix) state.Problem {
	base.Problem, base.Message, base.Plan, base.Fix = kind, message, plan, fix
	return base
}

// byHand returns a problem that somebody fixes with a command, or by an edit.
func byHand(base state.Problem, kind, message, plan, command string) state.Problem {
	base = fill(base, kind, message, plan, nil)
	base.Manual, base.Command = true, command
	return base
}

func (p *problems) addAll(all ...state.Problem) {
	for _, x := range all {
		p.add(x)
	}
}

func (p *problems) add(x state.Problem) {
	p.about[x.Thing] = append(p.about[x.Thing], len(p.found))
	p.found = append(p.found, x)
}

// join adds the problem that an object serves what nobody has claimed, or what its lease does not hold. Several objects of a lease that serve
// the same unclaimed part are one problem, and so are those that go for one thing, in the order of their deletion.
func (p *problems) join(x state.Problem) {
	y := p.has(x.Thing, func(y state.Problem) bool {
		return y.Lease == x.Lease && y.Problem == x.Problem &&
			(x.Fix.Is(state.Take) && y.Fix.Is(state.Take) && slices.Equal(y.Fix.Hold.Parts, x.Fix.Hold.Parts) ||
				x.Fix.Is(state.DeleteObjects) && y.Fix.Is(state.DeleteObjects))
	})
	if y == nil {
		p.add(x)
		return
	}
	if y.Fix.Objects = append(y.Fix.Objects, x.Fix.Objects...); x.Fix.Is(state.DeleteObjects) {
		y.Plan += " and " + x.Fix.Object().String()
	}
}

// has returns the problem of a thing that was found, or nil.
func (p *problems) has(thing string, is func(state.Problem) bool) *state.Problem {
	at := slices.IndexFunc(p.about[thing], func(i int) bool { return is(p.found[i]) })
	if at < 0 {
		return nil
	}
	return &p.found[p.about[thing][at]]
}

// partOf returns one part of a claim with its deployment group.
func partOf(c *state.Claim, part *state.Part) state.ClaimParts {
	return state.ClaimParts{Claim: c, Group: part.Lease.Group(), Keys: []string{part.Key}}
}

func one(o *state.OwnObject) []state.ObjectRef { return []state.ObjectRef{o.ObjectRef} }

// The plans of problems that a kept definition, or a claim, fixes.
const (
	keptPlan  = "apply the definition that the ledger keeps"
	claimPlan = "claim it for the lease that serves it"
)

// terminating is the problem of an object that was deleted, and is kept by finalizers. Until it is gone nobody else can take its thing: a
// claim has its name, and the claim of a route or a Service goes after it.
func terminating(base state.Problem, finalizers []string, o state.ObjectRef) state.Problem {
	return byHand(base, state.Terminating, "it is being deleted, and kept by its finalizers "+strings.Join(finalizers, ", "),
		"nobody can take it until who put them there removes them", fmt.Sprintf("kubectl -n %s edit %s/%s", o.Namespace, o.Kind, o.Name))
}

// checkObject checks one object of a lease.
func (p *problems) checkObject(o *state.OwnObject) {
	base := state.Problem{Thing: o.Kind + "/" + o.Name, Namespace: o.Namespace, Since: metav1.NewTime(o.Since)}
	if o.HasLease {
		base.Lease = o.Lease.String()
	}
	if o.Deleting {
		if o.HasLease && (o.Ours || o.Shared) && len(o.Finalizers) > 0 {
			p.add(terminating(base, o.Finalizers, o.ObjectRef))
		}
		return
	}
	p.addAll(objectProblems(p.w, base, o)...)
	switch {
	case !o.Ours && o.Shared && o.HasLease:
		p.checkOperated(base, o)
	case o.Ours:
		p.checkOwn(base, o)
	}
}

// objectProblems returns what is wrong with an object, whatever it serves.
func objectProblems(w *World, base state.Problem, o *state.OwnObject) (out []state.Problem) {
	if o.OldVersions {
		out = append(out, fill(base, state.OldManagedFields, "its managed fields are of an API version that is gone: server-side apply fails on it",
			"drop those managed fields", &state.Fix{Do: state.DropManagedFields, Objects: one(o), Value: w.hash(o.Lease)}))
	}
	var stale, by []string
	for _, r := range o.Reports {
		if r.Stale != "" && (o.Labelled || o.Ours) {
			stale, by = append(stale, r.String()), append(by, r.By)
		}
	}
	if len(stale) > 0 { // of routers that are gone
		out = append(out, fill(base, state.StaleReport, strings.Join(stale, "; "),
			"take the report of "+strings.Join(by, ", ")+" out of its status", &state.Fix{Do: state.ClearReports, Objects: one(o)}))
	}
	if o.WrongWallet != "" {
		// No deployment of the chain has such a wallet. A lease with one is released by a selector: its name is refused on the command line.
		plan, command := "delete it", fmt.Sprintf("kubectl -n %s delete %s.akash.network %s", o.Namespace, o.Kind, o.Name)
		if g := o.Lease.Group(); o.Ours {
			plan, command = "release its lease", fmt.Sprintf("kubectl akash-net release -l %s=%s,%s=%d,%s=%d",
				lease.LabelOwner, g.Owner, lease.LabelDSeq, g.DSeq, lease.LabelGSeq, g.GSeq)
		}
		out = append(out, byHand(base, state.WrongWallet, o.WrongWallet+"; Akash's operator stops for all tenants when it starts, and no chain has this lease", plan, command))
	}
	if !o.HasLease {
		return out
	}
	return append(out, append(asksForNothing(w, base, o), operatorStops(w, base, o)...)...)
}

// asksForNothing finds a Service of a leased port that asks for no address although its port is claimed on one: Akash's IP
// operator or another client has overwritten it. MetalLB grants such a Service no address, or any.
func asksForNothing(w *World, base state.Problem, o *state.OwnObject) []state.Problem {
	if o.Kind != kinds.Service.Singular || o.SharingKey == "" || w.Config.IP.Mode == config.ModePool ||
		slices.ContainsFunc(o.Uses, func(u state.Use) bool { return !u.Granted }) {
		return nil
	}
	key := o.Port.Key()
	claimed := slices.DeleteFunc(slices.Clone(w.sharing[o.SharingKey]), func(c *state.Claim) bool {
		part := c.Part(key)
		return c.Kind != state.Address || c.Unreadable != "" || c.Deleting || part == nil || part.Run != "" || !o.Of(part.Lease.Group())
	})
	if len(claimed) == 0 {
		return nil
	}
	c := claimed[0] // IPv4 is first
	if strings.HasSuffix(o.Name, lease.SecondFamilySuffix) {
		c = claimed[len(claimed)-1]
	}
	alone := !slices.ContainsFunc(claimed, func(d *state.Claim) bool { return d != c && d.Addr().BitLen() == c.Addr().BitLen() })
	base.Thing = c.Thing
	x := fill(base, state.AsksForNothing, fmt.Sprintf("%s has port %s of it and asks for no address: somebody has written over it", o, state.Part{Key: key}.PortText()),
		fmt.Sprintf("let %s ask for it", o), &state.Fix{Do: state.AskAddress, Objects: one(o), Address: c.Addr()})
	if !o.Ours || !alone {
		x = healed(w, x, o.Lease.Group())
	}
	return []state.Problem{x}
}

// operatorStops finds a ProviderHost at which Akash's hostname operator stops. It may be deleted while nothing serves its
// host.
func operatorStops(w *World, base state.Problem, o *state.OwnObject) []state.Problem {
	lacks := w.lacks(o)
	if lacks == "" {
		return nil
	}
	r := w.row(o, o.Uses[0])
	base.Thing = r.thing
	x := byHand(base, state.OperatorStops, fmt.Sprintf("%s is there, and its lease has %s: Akash's hostname operator stops at it for all tenants, "+
		"and ignores the lease from then on", o, lacks), "let the tenant send the manifest to Akash's provider, and restart the operator",
		"kubectl -n akash-services rollout restart deployment operator-hostname")
	part := r.claim.Part(state.RouteKey("/"))
	served := slices.ContainsFunc(w.Uses[r.thing], func(u state.Use) bool { return !declares(u.Kind) })
	if o.Ours && !o.Shared && !served && part != nil && part.Lease.Group() == o.Lease.Group() && part.Run == "" {
		x.Plan += fmt.Sprintf("; or delete %s, and where it is delivered from: the claim stays", o)
		x.Fix = &state.Fix{Do: state.DeleteObjects, Objects: one(o), Unserved: true, Parts: partOf(r.claim, part)}
		x = x.ByName()
	}
	return []state.Problem{x}
}

// InNamespace returns the problems of the leases of a namespace: those that name the namespace, a lease of it, or a
// thing of which a lease of it holds a part.
func InNamespace(problems []state.Problem, claims []*state.Claim, namespace string) []state.Problem {
	groups, things, tenants := map[lease.Group]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if tenants[p.Lease.Namespace()] = true; p.Lease.Namespace() == namespace {
				groups[p.Lease.Group()], things[c.Thing] = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool {
		if p.Namespace == namespace || tenants[p.Namespace] {
			return p.Namespace != namespace
		}
		switch id := p.ID(); {
		case id == (lease.ID{}):
			return p.Namespace != "" || !things[p.Thing]
		case id.Provider == "":
			return !groups[id.Group()]
		default: // also of a ProviderHost, which is in the namespace of all
			return id.Namespace() != namespace
		}
	})
}

// OfLeases returns the problems of deployment groups: those that name one, and those of things that one holds which name no lease.
func OfLeases(problems []state.Problem, claims []*state.Claim, groups []lease.Group) []state.Problem {
	things := map[string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if slices.Contains(groups, p.Lease.Group()) {
				things[c.Thing] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool {
		if id := p.ID(); id != (lease.ID{}) {
			return !slices.Contains(groups, id.Group())
		}
		return !things[p.Thing]
	})
}

// OfThing returns the problems of a host or an address, and those of objects that are named after it.
func OfThing(problems []state.Problem, name string) []state.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool { return p.Thing != name && !strings.HasSuffix(p.Thing, "/"+name) })
}
