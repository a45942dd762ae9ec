package migrate

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// bring writes the new routes of a lease and waits until they are accepted.
func (m *leaseMigration) bring(ctx context.Context) error {
	if err := m.mayMove(); err != nil {
		return err
	}
	m.plan()
	if err := m.findKinds(); err != nil {
		return err
	}
	var errs []error
	for _, c := range m.routes {
		c.ready = c.why == ""
	}
	err := m.whileMarked(ctx, m.differing(), func(ctx context.Context) error {
		seen := map[string]bool{}
		for _, c := range m.routes {
			switch {
			case c.why != "":
				m.Event(report.Left, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(), c.why)
			case c.ready:
				if err := m.writeRoute(ctx, c, seen); err != nil {
					c.ready = false
					errs = append(errs, err)
				}
			}
		}
		return m.confirmClaims(ctx)
	})
	errs = append(errs, err, m.accepted(ctx), m.stayed())
	return report.Gather(errs)
}

// mayMove refuses a lease before anything is written: beside an operator that makes routes of its
// own kind, and with hosts that somebody else holds.
func (m *leaseMigration) mayMove() error {
	if m.Snapshot.Operators.Hostname && len(m.routes) > 0 {
		return &report.OperatorError{Lease: m.Request.Lease, Why: "Akash's hostname operator makes its routes, of the kind that its flag --ingress-mode says: " +
			"change that, and it makes the others"}
	}
	refused := &report.HeldError{Lease: m.Request.Lease}
	for _, c := range m.routes {
		claim := m.Snapshot.Claims[state.HostName(c.use.Host)]
		switch {
		case claim == nil || claim.Deleting || len(claim.Parts) == 0 && claim.Unreadable == "":
			for _, u := range m.Snapshot.HostUses[c.use.Host] {
				if u.HasLease && u.Lease.Owner != m.Group.Owner || !u.HasLease {
					refused.Held = append(refused.Held, report.HeldThing{Kind: state.Host, Thing: c.use.Host, By: state.Holder{Object: u.String(), Since: u.Since, Namespace: u.Namespace}})
					break
				}
			}
		case claim.Unreadable != "" || claim.Owner != m.Group.Owner:
			refused.Held = append(refused.Held, report.HeldThing{Kind: claim.Kind, Thing: claim.Thing, By: claim.HeldBy()})
		default:
			if part := claim.Part(state.RouteKey(c.use.Path)); part == nil || part.Lease.Group() != m.Group {
				c.why = "the lease does not hold " + lease.HostPath(c.use.Host, c.use.Path) + ": \"repair\" removes what was left behind"
			}
		}
	}
	if len(refused.Held) > 0 {
		return refused
	}
	return nil
}

// plan reads the routes back and renders their new forms.
func (m *leaseMigration) plan() {
	around := m.surroundings()
	hash := m.hash()
	var lives, beside []*render.Live
	var moving []*crossing
	for _, o := range m.there {
		if live, err := render.ReadRoute(o, m.Options.Config, around); err == nil {
			beside = append(beside, live)
		}
	}
	for _, c := range m.routes {
		if c.why != "" {
			continue
		}
		live, err := render.ReadRoute(c.old.Live, m.Options.Config, around)
		if err != nil {
			c.why = err.Error()
			continue
		}
		if live.Hash == "" {
			live.Hash = hash
		}
		c.live = live
		lives, moving = append(lives, live), append(moving, c)
	}
	for i, r := range render.Migrate(lives, beside, m.Options.Config, around) {
		c := moving[i]
		for _, refused := range r.Refused {
			if c.why != "" {
				c.why += "; "
			}
			c.why += refused
		}
		if c.objects = r.Objects; c.why != "" || m.superseded(c) {
			continue
		}
		for _, lost := range r.Lost {
			o := c.main()
			m.Event(report.Lacks, o.Kind.Singular, o.Namespace, o.Name, lost.String())
		}
	}
}

// findKinds refuses, before anything is written, what the cluster has no kind for.
func (m *leaseMigration) findKinds() error {
	m.Kinds = nil
	for _, c := range m.routes {
		if c.why != "" { // be it that the new kind cannot have it: where there is none that matters more
			m.Kinds = append(m.Kinds, kinds.OfTarget(m.Options.Config.Target)[0])
			break
		}
	}
	for _, c := range m.routes {
		for _, o := range c.objects {
			if !slices.Contains(m.Kinds, o.Kind) {
				m.Kinds = append(m.Kinds, o.Kind)
			}
		}
	}
	if slices.ContainsFunc(m.routes, func(c *crossing) bool { return c.why == "" }) {
		m.Kinds = append(m.Kinds, kinds.WrittenRecords(m.Options.Config)...)
	}
	return m.FindKinds()
}

// main is the route itself among the objects of its new form.
func (c *crossing) main() render.Object {
	i := slices.IndexFunc(c.objects, func(o render.Object) bool {
		return slices.Contains(kinds.RouteKinds, o.Kind) && o.Name == c.old.Live.GetName()
	})
	return c.objects[i]
}

// hash is that of the definition of which the lease's objects are; where Akash's provider wrote all
// of them, one that stands for the lease.
func (m *leaseMigration) hash() string {
	for _, o := range m.Snapshot.Written[m.Group] {
		if hash := o.Live.GetAnnotations()[lease.AnnotationDefinition]; hash != "" {
			return hash
		}
	}
	return lease.Hash("migrated " + m.Request.Lease.String())
}

// surroundings are what the cluster has beside the routes of the lease.
func (m *leaseMigration) surroundings() render.Surroundings {
	namespace := m.Request.Lease.Namespace()
	s := render.Surroundings{
		Ports: map[string][]render.ServicePort{},
		Find: func(kind kinds.Kind, name string) *unstructured.Unstructured {
			if o := m.Snapshot.Live[kind.Plural][namespace+"/"+name]; o != nil && m.Snapshot.Ownership(o).Ours {
				return o
			}
			return nil
		},
	}
	for _, name := range slices.Sorted(maps.Keys(m.Snapshot.Live[kinds.Service.Plural])) {
		o := m.Snapshot.Live[kinds.Service.Plural][name]
		if o.GetNamespace() != namespace {
			continue
		}
		ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
		for _, v := range ports {
			if p, ok := v.(map[string]any); ok && (p["protocol"] == "TCP" || p["protocol"] == nil) {
				port, _ := p["port"].(int64)
				container, _ := p["targetPort"].(int64)
				name, _ := p["name"].(string)
				s.Ports[o.GetName()] = append(s.Ports[o.GetName()], render.ServicePort{Name: name, Port: uint16(port), Container: uint16(container)})
			}
		}
	}
	return s
}

// stayed is the error of routes that could not be moved.
func (m *leaseMigration) stayed() error {
	var names []string
	for _, c := range m.routes {
		if c.why != "" {
			names = append(names, c.old.Kind.Singular+"/"+c.old.Live.GetName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &StayedError{Lease: m.Request.Lease, Routes: names}
}
