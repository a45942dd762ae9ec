package state

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

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
		return ok && (len(p.standFor(c, former)) > 0 || p.isServed(c, former, nil))
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
