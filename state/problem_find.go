package state

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Problems finds what is wrong, in the order of the things. It is pure, as the book is.
func Problems(f ProblemFacts) []Problem {
	p := newProblems(f)
	for _, c := range f.Claims {
		p.claim(c)
	}
	for i := range f.Objects {
		o := &f.Objects[i]
		p.object(o)
	}
	for g, hashes := range p.hashes {
		if len(hashes) > 1 {
			p.add(Problem{Problem: MixedDefinitions, Thing: g.String(), Lease: g.String(),
				Message: fmt.Sprintf("its objects are of %d different definitions: two were applied at once, or a run crashed", len(hashes)),
			}.byDefinition(g))
		}
	}
	p.routes()
	p.records()
	p.overlaps()
	p.differing()
	p.exhausted()
	slices.SortFunc(p.found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Thing, b.Thing), cmp.Compare(a.Problem, b.Problem), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Message, b.Message))
	})
	return p.found
}

type problems struct {
	ProblemFacts
	claims map[string]*Claim
	// byKey are the claims on addresses by their sharing key, services the Services that ask with it.
	byKey    map[string][]*Claim
	services map[string][]ServiceObject
	pools    *PoolIndex
	// written are the UIDs of the objects that this program wrote.
	written map[string]bool
	// hashes are those of the definitions of which the objects of a deployment group are.
	hashes map[lease.Group]map[string]bool
	signs  signsOfLife
	// declarations are Akash's objects that stand for hosts and ports.
	declarations map[string]*OwnObject
	// stands are the parts of things that objects of deployment groups serve or stand for.
	stands map[servedPart]bool
	found  []Problem
}

func newProblems(f ProblemFacts) *problems {
	p := &problems{
		ProblemFacts: f, claims: map[string]*Claim{}, byKey: map[string][]*Claim{}, services: map[string][]ServiceObject{}, written: map[string]bool{},
		hashes: map[lease.Group]map[string]bool{}, pools: NewPoolIndex(f.Contents.Pools),
	}
	for _, c := range f.Claims {
		if p.claims[c.Name()] = c; c.Kind == Address {
			p.byKey[c.SharingKey] = append(p.byKey[c.SharingKey], c)
		}
	}
	for _, s := range f.Contents.Services {
		p.services[s.SharingKey] = append(p.services[s.SharingKey], s)
	}
	for _, o := range f.Objects {
		p.written[o.UID] = o.Ours
		if !o.Ours || o.Definition == "" || p.servesForAnother(&o) {
			continue
		}
		g := o.Lease.Group()
		if p.hashes[g] == nil {
			p.hashes[g] = map[string]bool{}
		}
		p.hashes[g][o.Definition] = true
	}
	p.signs = newSignsOfLife(f.Claims, f.Objects)
	p.stands, p.declarations = servedParts(f), declarations(f.Objects)
	return p
}

// servesForAnother is true for an object that serves for another lease since a transfer: that lease's apply
// removes it, and its own lease's leaves it as it is.
func (p *problems) servesForAnother(o *OwnObject) bool {
	g := o.Lease.Group()
	if o.SharingKey != "" {
		key := PortKey(o.Port.Protocol, o.Port.ExternalPort)
		return slices.ContainsFunc(p.Claims, func(c *Claim) bool { return c.SharingKey == o.SharingKey && c.servesFor(g, key, false) != nil })
	}
	if len(o.Uses) == 0 { // it goes with a route, whose name it has
		host, _, _ := lease.ParseRouteName(o.Name)
		return len(p.claims[HostName(host)].FormerOf(g)) > 0
	}
	return slices.ContainsFunc(o.Uses, func(u Use) bool { return p.claims[claimName(u)].servesFor(g, u.partKey(o), u.Redirect) != nil })
}

// add notes a problem. What several objects show of one thing is one problem.
func (p *problems) add(x Problem) {
	if i := slices.IndexFunc(p.found, func(y Problem) bool {
		return x.Mend.Take != nil && y.Thing == x.Thing && y.Lease == x.Lease && y.Mend.Take != nil && slices.Equal(y.Mend.Take.Parts, x.Mend.Take.Parts)
	}); i >= 0 {
		p.found[i].Mend.Serving = append(p.found[i].Mend.Serving, x.Mend.Serving...)
		return
	}
	p.found = append(p.found, x)
}

// object looks at one object of a lease.
func (p *problems) object(o *OwnObject) {
	base := Problem{Thing: o.Kind + "/" + o.Name, Namespace: o.Namespace, Since: metav1.NewTime(o.Since)}
	if o.HasLease {
		base.Lease = o.Lease.String()
	}
	if o.OldVersions {
		x := base
		x.Problem, x.Message = OldManagedFields, "its managed fields are of an API version that is gone: server-side apply fails on it"
		x.Plan, x.Mend = "drop those managed fields", Mend{DropManagedFields: &o.ObjectRef, Hash: p.hash(o.Lease)}
		p.add(x)
	}
	p.staleReports(base, o)
	if o.HasLease {
		p.asksForNothing(base, o)
	}
	switch {
	case !o.Ours && o.Shared && o.HasLease:
		p.operated(base, o)
		return
	case !o.Ours:
		return
	case (o.Kind == "service" || o.Kind == providerLeasedIP) && p.Config.IP.Mode == config.ModePool:
		p.pooledPort(base, o)
	}
	if o.ByOperators {
		p.declared(base, o)
	}
	p.marks(base, o)
	for _, u := range o.Uses {
		if u.Granted && slices.ContainsFunc(o.Uses, func(v Use) bool { return !v.Granted && v.Address == u.Address }) {
			continue // seen as asked for
		}
		if len(p.elsewhere(o.Lease.Group(), u, u.partKey(o))) > 0 {
			continue // it asks for another address than the claimed one
		}
		p.use(base, o, u)
	}
	switch o.Kind {
	case providerHost:
		p.hostServed(base, o)
	case providerLeasedIP:
		p.leasedIP(base, o)
	}
}
