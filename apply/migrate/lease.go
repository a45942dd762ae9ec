package migrate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// writeRoutes writes the new routes of a lease and waits until they are accepted.
func (m *leaseMigration) writeRoutes(ctx context.Context) error {
	if err := m.checkMovable(); err != nil {
		return err
	}
	m.renderRoutes()
	if err := m.findKinds(); err != nil {
		return err
	}
	var errs []error
	for _, c := range m.routes {
		c.ready = c.why == ""
	}
	err := m.whileMarked(ctx, m.differing(), func(ctx context.Context, t *marks) error {
		seen := map[string]bool{}
		for _, c := range m.routes {
			switch {
			case c.why != "":
				m.x.Event(report.Left, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(), c.why)
			case c.ready:
				if err := m.writeRoute(ctx, t, c, seen); err != nil {
					c.ready = false
					errs = append(errs, err)
				}
			}
		}
		return m.confirmClaims(ctx, t)
	})
	errs = append(errs, err, m.awaitAllAccepted(ctx), m.stayed())
	return report.Gather(errs)
}

// checkMovable refuses a lease before anything is written: if Akash's hostname operator creates its routes, or somebody
// else holds its hosts. It sets why for routes whose part the lease does not hold.
func (m *leaseMigration) checkMovable() error {
	if m.x.Snapshot.Operators.Hostname && len(m.routes) > 0 {
		return &report.OperatorError{Lease: m.x.Request.Lease, Why: "Akash's hostname operator makes its routes, of the kind that its flag --ingress-mode says: " +
			"change that, and it makes the others"}
	}
	var refused []report.HeldThing
	for _, c := range m.routes {
		claim := m.x.Snapshot.Claim(state.HostName(c.use.Host))
		switch {
		case claim == nil || claim.Deleting || len(claim.Parts) == 0 && claim.Unreadable == "":
			uses := m.x.Snapshot.HostUses[c.use.Host]
			i := slices.IndexFunc(uses, func(u state.Use) bool { return !u.HasLease || u.Lease.Owner != m.x.Group.Owner })
			if i >= 0 {
				by := state.Holder{Object: uses[i].String(), Since: uses[i].Since, Namespace: uses[i].Namespace}
				refused = append(refused, report.HeldThing{Kind: state.Host, Thing: c.use.Host, By: by})
			}
		case claim.Unreadable != "" || claim.Owner != m.x.Group.Owner:
			refused = append(refused, report.HeldThing{Kind: claim.Kind, Thing: claim.Thing, By: claim.HeldBy()})
		default:
			if part := claim.Part(state.RouteKey(c.use.Path)); part == nil || part.Lease.Group() != m.x.Group {
				c.why = "the lease does not hold " + lease.HostPath(c.use.Host, c.use.Path) + ": \"repair\" removes what was left behind"
			}
		}
	}
	return report.ErrorOfHeld(m.x.Request.Lease, refused)
}

// renderRoutes parses the old routes and renders their new forms. It sets why for routes that cannot be migrated, and
// reports what the new forms lack.
func (m *leaseMigration) renderRoutes() {
	around := m.surroundings()
	hash := m.hash()
	var lives, current []*render.Live
	var moving []*crossing
	for _, o := range m.current {
		if live, err := render.ReadRoute(o, m.x.Options.Config, around); err == nil {
			current = append(current, live)
		}
	}
	for _, c := range m.routes {
		if c.why != "" {
			continue
		}
		live, err := render.ReadRoute(c.old.Live, m.x.Options.Config, around)
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
	for i, r := range render.Migrate(lives, current, m.x.Options.Config, around) {
		c := moving[i]
		c.why = strings.Join(r.Refused, "; ")
		if c.objects = r.Objects; c.why != "" || m.superseded(c) {
			continue
		}
		for _, lost := range r.Lost {
			o := c.main()
			m.x.Event(report.Lacks, o.Kind.Singular, o.Namespace, o.Name, lost.String())
		}
	}
}

// findKinds refuses, before anything is written, kinds that the cluster does not serve.
func (m *leaseMigration) findKinds() error {
	var of []kinds.Kind
	for _, c := range m.routes {
		if c.why != "" { // report a missing kind even if the route cannot be migrated to it
			of = append(of, kinds.OfTarget(m.x.Options.Config.Target)[0])
			break
		}
	}
	for _, c := range m.routes {
		for _, o := range c.objects {
			if !slices.Contains(of, o.Kind) {
				of = append(of, o.Kind)
			}
		}
	}
	if slices.ContainsFunc(m.routes, func(c *crossing) bool { return c.why == "" }) {
		of = append(of, kinds.WrittenRecords(m.x.Options.Config)...)
	}
	var errs []error
	for _, kind := range of {
		if m.x.Snapshot.Lacks[kind] {
			errs = append(errs, &cluster.MissingKindError{Resource: kind.Resource()})
		}
	}
	return errors.Join(errs...)
}

// main returns the route itself among the objects of its new form.
func (c *crossing) main() render.Object {
	i := slices.IndexFunc(c.objects, func(o render.Object) bool {
		return slices.Contains(kinds.RouteKinds, o.Kind) && o.Name == c.old.Live.GetName()
	})
	return c.objects[i]
}

// hash returns the definition hash of the lease's objects, or, if Akash's provider wrote all of them, one made from the
// lease.
func (m *leaseMigration) hash() string {
	for _, o := range m.x.Snapshot.Written[m.x.Group] {
		if hash := o.Live.GetAnnotations()[lease.AnnotationDefinition]; hash != "" {
			return hash
		}
	}
	return lease.Hash("migrated " + m.x.Request.Lease.String())
}

// surroundings returns the lease's other objects that rendering needs.
func (m *leaseMigration) surroundings() render.Surroundings {
	namespace := m.x.Request.Lease.Namespace()
	s := render.Surroundings{
		Ports: map[string][]render.ServicePort{},
		Find: func(kind kinds.Kind, name string) *unstructured.Unstructured {
			if o := m.x.Snapshot.At(kind, namespace, name); o != nil && m.x.Snapshot.Ownership(o).Ours {
				return o
			}
			return nil
		},
	}
	for o := range m.x.Snapshot.Of(kinds.Service) {
		if o.GetNamespace() != namespace {
			continue
		}
		ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
		for _, v := range ports {
			if p, ok := v.(map[string]any); ok && (p["protocol"] == "TCP" || p["protocol"] == nil) {
				port, _ := p["port"].(int64)
				container, _ := p["targetPort"].(int64)
				name, _ := p["name"].(string)
				service := render.ServicePort{Name: name, Port: uint16(port), Container: uint16(container)}
				s.Ports[o.GetName()] = append(s.Ports[o.GetName()], service)
			}
		}
	}
	return s
}

// stayed returns the error of routes that could not be migrated, or nil.
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
	return &StayedError{Lease: m.x.Request.Lease, Routes: names}
}
