package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// claim looks at one claim and its parts.
func (p *problems) claim(c *Claim) {
	base := Problem{Thing: c.Thing, Since: metav1.NewTime(c.Created)}
	if c.Unreadable != "" {
		base.Problem, base.Message = UnreadableClaim, c.Unreadable
		base.Plan, base.Mend = "look at lease.coordination.k8s.io/"+c.Name()+", and delete it", Mend{Discard: c}
		p.add(base.byName())
		return
	}
	if c.Deleting && len(c.Finalizers) > 0 {
		base.Problem, base.Message = TerminatingClaim, "it is being deleted, and kept by "+c.kept()
		base.Plan, base.Manual = "nobody can take it until who put them there removes them", true
		base.Command = fmt.Sprintf("kubectl -n %s edit lease.coordination.k8s.io/%s", p.Config.LedgerNamespace, c.Name())
		p.add(base)
		return
	}
	if why := c.refused(p.Config); why != "" {
		x := base
		x.Problem, x.Message = BlockedHost, "it is held, and it "+why
		x.Plan, x.Mend = "release it, or change the configuration", Mend{Release: c}
		p.add(x.byName())
	}
	p.marksOf(base, c)
	for _, g := range c.Groups() {
		p.partsOf(base, c, g)
	}
	if c.Kind == Address && !c.Deleting {
		p.addressPool(base, c)
		p.squatters(base, c)
	}
}

// kept are the finalizers of a claim that is being deleted.
func (c *Claim) kept() string { return "its finalizers " + strings.Join(c.Finalizers, ", ") }

// refused says why the provider does not let those who hold a host have it, or is empty. Whose the
// port of a generated host is was judged when it was claimed: here any port of the service will do.
func (c *Claim) refused(cfg *config.ProviderConfig) string {
	if c.Kind.HasPorts() {
		return ""
	}
	for _, part := range c.Parts {
		if why := refusedBackend(cfg, c.Thing, part.Lease, part.Service, part.Port); why != "" {
			return why
		}
	}
	if len(c.Parts) > 0 {
		return ""
	}
	return cfg.Refuse(c.Thing, config.Backend{})
}

// refusedBackend says why a lease may not have a host for the backend that a claim or a route names.
// The port that it names may be that of the containers.
func refusedBackend(cfg *config.ProviderConfig, host string, id lease.ID, service string, port uint16) string {
	why := cfg.Refuse(host, config.Backend{Lease: id, Service: service, Port: port})
	if why == "" {
		return ""
	}
	return cfg.Refuse(host, config.Backend{Lease: id, Service: service})
}

func (p *problems) partsOf(base Problem, c *Claim, g lease.Group) {
	var ended, marked, gone, left []string
	var id lease.ID
	for _, part := range c.PartsOf(g) {
		id = part.Lease
		switch {
		case part.Ended(p.Now):
			ended = append(ended, part.Key)
		case part.Run != "" && p.Now.Sub(p.signs.last(part)) > p.CrashedAfter:
			marked = append(marked, part.Key)
		case part.Run == "" && !p.Namespaces[part.Lease.Namespace()] && (part.Applied || p.hadNamespace(c, g)):
			gone = append(gone, part.Key)
		case p.nothingLeft(c, part):
			left = append(left, part.Key)
		}
	}
	base.Lease, base.Namespace = id.String(), id.Namespace()
	if len(ended) > 0 {
		x := base
		x.Problem, x.Message = HoldEnded, "the hold has expired"
		x.Plan, x.Mend = "give up the hold", Mend{Leave: c, Group: g, Keys: ended}
		p.add(x)
	}
	if len(marked) > 0 {
		x := base
		x.Problem, x.Message = CrashedRun, "a run took it and did not end"
		stands := p.standFor(c, g)
		switch {
		case p.servedByFormer(c, g):
			x.Plan, x.Mend = "keep it, for the objects of its former holder serve it, and end the run", Mend{Unmark: c, Group: g, Keys: marked}
		case len(stands) == 0:
			x.Plan, x.Mend = "give it up, for nothing was made for it", Mend{Leave: c, Group: g, Keys: marked}
		case p.isServed(c, g, stands):
			x.Plan, x.Mend = "keep it, for its objects are there, and end the run", Mend{Unmark: c, Group: g, Keys: marked}
		default:
			x.Plan, x.Mend = "give it up, with what stands for it and serves nothing", Mend{Leave: c, Group: g, Keys: marked, Delete: stands}
		}
		p.add(x)
	}
	if len(gone) > 0 {
		x := base
		x.Problem, x.Message = NamespaceGone, "the namespace of the lease is gone"
		x.Plan, x.Mend = "give it up, with what stands for it", Mend{Leave: c, Group: g, Keys: gone, Namespace: id.Namespace(), Delete: p.standFor(c, g)}
		p.add(x)
	}
	if len(left) > 0 {
		p.addNothingLeft(base, c, g, len(left))
	}
}

// servedByFormer is true where objects of a former holder still serve a part of the group.
func (p *problems) servedByFormer(c *Claim, g lease.Group) bool {
	return slices.ContainsFunc(c.PartsOf(g), func(part Part) bool {
		former, ok := part.Former()
		return ok && len(p.standFor(c, former)) > 0
	})
}

// hadNamespace is true where the namespace of a lease was there once, as far as its objects tell: this
// program makes the namespace before it writes anything, and Akash's provider does too. What a pipeline has
// delivered says nothing: the namespace may come yet.
func (p *problems) hadNamespace(c *Claim, g lease.Group) bool {
	refs := p.standFor(c, g)
	return slices.ContainsFunc(p.Objects, func(o OwnObject) bool {
		return slices.Contains(refs, o.ObjectRef) && (!o.Written.IsZero() || o.Declared)
	})
}

// standFor are the objects of the group that rest on the claim.
func (p *problems) standFor(c *Claim, g lease.Group) []ObjectRef {
	var refs []ObjectRef
	for i := range p.Objects {
		o := &p.Objects[i]
		if o.of(g) && o.Ours && (o.standsForPort(c) || slices.ContainsFunc(o.Uses, func(u Use) bool { return u.Thing() == c.Thing })) {
			refs = append(refs, o.ObjectRef)
		}
	}
	return refs
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
		p.served(base, o)
	case providerLeasedIP:
		p.leasedIP(base, o)
	}
}
