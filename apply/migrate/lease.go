package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// crossing is a route that moves to its new form.
type crossing struct {
	old     observed.Owned
	use     state.Use
	live    *render.Live
	objects []render.Object
	// why is the reason for leaving the route as it is, if there is one.
	why string
	// ready is true while nothing keeps the route: in the end, the old one is gone.
	ready bool
	// stays is until when resolvers may return the old route, lag how long that is after its host's records have
	// changed.
	stays time.Time
	lag   time.Duration
}

// changed is why a route stays that is not as it was when its new form was made of it.
const changed = "it was changed meanwhile; the same command carries the change over"

// name is what people call the old route.
func (c *crossing) name() string { return c.old.Kind.Singular + "/" + c.old.Live.GetName() }

func (c *crossing) key() engine.Key {
	return engine.Key{Kind: c.old.Kind, Namespace: c.old.Live.GetNamespace(), Name: c.old.Live.GetName()}
}

// main returns the route itself among the objects of its new form.
func (c *crossing) main() render.Object {
	i := slices.IndexFunc(c.objects, func(o render.Object) bool {
		return slices.Contains(kinds.RouteKinds, o.Kind) && o.Name == c.old.Live.GetName()
	})
	return c.objects[i]
}

// leave keeps the old route, and tells why.
func (m *leaseMigration) leave(c *crossing, why string) {
	c.why, c.ready = why, false
	m.left = append(m.left, c.name())
	m.x.Event(report.Left, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(), why)
}

// newRoutes returns the new forms of the routes.
func (m *leaseMigration) newRoutes() (*engine.Move, error) {
	for _, c := range m.routes {
		c.ready = true
		if now := m.x.Snapshot.At(c.old.Kind, c.old.Live.GetNamespace(), c.old.Live.GetName()); now != nil && now.GetUID() == c.old.Live.GetUID() {
			c.old.Live = now // a person may have been asked since it was read
		}
	}
	m.look()
	if err := m.checkMovable(); err != nil {
		return nil, err
	}
	m.renderRoutes()
	if err := m.findKinds(); err != nil {
		return nil, err
	}
	out := &engine.Move{}
	for _, c := range m.ready() {
		if c.why != "" {
			m.leave(c, c.why)
			continue
		}
		live := m.x.Snapshot.Find(c.main())
		objects, isThere := applied(c.objects), m.superseded(c)
		if isThere {
			if why := m.leadsElsewhere(c, live); why != "" {
				m.leave(c, why)
				continue
			}
			objects = m.cancelled(c.main().Kind, live)
			m.x.Event(report.Unchanged, c.main().Kind.Singular, c.main().Namespace, c.main().Name, "it is there already")
		}
		out.Routes = append(out.Routes, m.moving(c, objects))
	}
	return out, nil
}

// applied returns objects as this program applies them.
func applied(objects []render.Object) (out []engine.Desired) {
	for _, o := range objects {
		out = append(out, engine.Desired{Object: o, Manager: lease.FieldManager})
	}
	return out
}

// moving returns what a transaction does for a route.
func (m *leaseMigration) moving(c *crossing, objects []engine.Desired) engine.Moving {
	host := state.HostName(c.use.Host)
	part := m.x.Snapshot.Claim(host).Part(state.RouteKey(c.use.Path))
	return engine.Moving{
		Old:  engine.Object{Kind: c.old.Kind, Live: c.old.Live, Group: m.x.Group, Lease: m.x.Request.Lease, Ours: true},
		Host: c.use.Host, Ground: engine.Ground{Name: host, Key: state.RouteKey(c.use.Path)},
		Held: part != nil && part.Lease.Group() == m.x.Group,
		New:  engine.KeyOf(c.main()), Was: m.x.Snapshot.Find(c.main()), Objects: objects,
	}
}

// look takes the routes as they were read now. One that has changed since it was last seen is not moved further.
func (m *leaseMigration) look() {
	for _, c := range m.ready() {
		now := m.x.Snapshot.At(c.old.Kind, c.old.Live.GetNamespace(), c.old.Live.GetName())
		if !engine.SameRoute(now, c.old.Live) {
			m.leave(c, changed)
			continue
		}
		c.old.Live = now
	}
}

// endRoutes returns what is to be done to end the old routes: those to which resolvers may still lead somebody stay. A new route that is
// not as the command has written it is not written again.
func (m *leaseMigration) endRoutes() (*engine.Move, error) {
	m.look()
	m.renderRoutes()
	out, stays := &engine.Move{Ends: true}, []*crossing{}
	for _, c := range m.routes {
		if c.ready && c.why != "" {
			m.leave(c, c.why)
		}
		if !c.ready || !m.x.Command.Passed(c.stays) {
			stays = append(stays, c)
			continue
		}
		if why := m.leadsElsewhere(c, m.x.Snapshot.Find(c.main())); why != "" {
			m.leave(c, why)
			stays = append(stays, c)
			continue
		}
		objects := slices.DeleteFunc(applied(c.objects), func(d engine.Desired) bool {
			live := m.x.Snapshot.Find(d.Object)
			return !cluster.Unchanged(observed.KeepsTaken(d.Object, live, lease.FieldManager), live, lease.FieldManager)
		})
		moving := m.moving(c, objects)
		if c.lag > 0 {
			moving.Message = m.x.Command.Would(c.lag.String() + " after its DNS records lead to the new route")
		}
		out.Routes = append(out.Routes, moving)
	}
	out.Companions = m.companions(stays)
	return out, nil
}

// checkMovable refuses a lease before anything is written: if Akash's hostname operator creates its routes, or somebody
// else holds its hosts. It sets why for routes whose part the lease does not hold.
func (m *leaseMigration) checkMovable() error {
	if m.x.Snapshot.Operators.Hostname && len(m.routes) > 0 {
		return &report.OperatorError{Lease: m.x.Request.Lease, Why: "Akash's hostname operator makes its routes, of the kind that its flag --ingress-mode says: " +
			"change that, and it makes the others"}
	}
	var refused []report.HeldThing
	for _, c := range m.ready() {
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

// current returns the lease's routes that have the target's kind already.
func (m *leaseMigration) current() (out []*unstructured.Unstructured) {
	for _, kind := range kinds.OfTarget(m.x.Command.Options.Config.Target) {
		for o := range m.x.Snapshot.Of(kind) {
			id, ours := isOf(m.x.Snapshot, o)
			if _, isRoute := roleOf(m.x.Command.Options.Config.Target, kind, o); ours && isRoute && id == m.x.Request.Lease {
				out = append(out, o)
			}
		}
	}
	return out
}

// renderRoutes parses the old routes and renders their new forms. It sets why for routes that cannot be migrated, and
// reports what the new forms lack.
func (m *leaseMigration) renderRoutes() {
	around := m.surroundings()
	hash := m.hash()
	var lives, current []*render.Live
	var moving []*crossing
	for _, o := range m.current() {
		if live, err := render.ReadRoute(o, m.x.Command.Options.Config, around); err == nil {
			current = append(current, live)
		}
	}
	for _, c := range m.ready() {
		if c.why != "" {
			continue
		}
		live, err := render.ReadRoute(c.old.Live, m.x.Command.Options.Config, around)
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
	for i, r := range render.Migrate(lives, current, m.x.Command.Options.Config, around) {
		c := moving[i]
		c.why = strings.Join(r.Refused, "; ")
		first := c.objects == nil
		if c.objects = r.Objects; c.why != "" || !first || m.superseded(c) {
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
			of = append(of, kinds.OfTarget(m.x.Command.Options.Config.Target)[0])
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
		of = append(of, kinds.WrittenRecords(m.x.Command.Options.Config)...)
	}
	var errs []error
	for _, kind := range of {
		if m.x.Snapshot.Lacks[kind] {
			errs = append(errs, &cluster.MissingKindError{Resource: kind.Resource()})
		}
	}
	return errors.Join(errs...)
}

// superseded reports whether the new form exists and has to stay as it is: Akash's provider wrote it for the lease, or
// it was written from another definition since (timestamps have whole seconds).
func (m *leaseMigration) superseded(c *crossing) bool {
	live := m.x.Snapshot.Find(c.main())
	if live == nil {
		return false
	}
	if m.byAkash(live) {
		return true
	}
	was, is := c.old.Live.GetAnnotations()[lease.AnnotationDefinition], live.GetAnnotations()[lease.AnnotationDefinition]
	if records.ResidualTTL(c.old.Live) > 0 {
		return was != is // the old one was last written to note that it goes
	}
	return was != "" && is != "" && was != is && !lastApplied(live).Before(lastApplied(c.old.Live))
}

// byAkash reports whether Akash's provider has written a route for the lease.
func (m *leaseMigration) byAkash(live *unstructured.Unstructured) bool {
	if live == nil {
		return false
	}
	id, ok := lease.IDFromLabels(live.GetLabels())
	return ok && id.Group() == m.x.Group && m.x.Snapshot.Ownership(live).Shared
}

// leadsElsewhere returns why the new route that Akash's provider wrote does not stand for the old one: it takes other requests, or
// leads to something else. Otherwise, and for a route of this program, it returns "".
func (m *leaseMigration) leadsElsewhere(c *crossing, live *unstructured.Unstructured) string {
	if !m.byAkash(live) {
		return ""
	}
	to := ""
	switch now, err := render.ReadRoute(live, m.x.Command.Options.Config, m.surroundings()); {
	case err != nil:
		to = err.Error()
	case now.LeadsTo() != c.live.LeadsTo():
		to = "it leads " + now.LeadsTo()
	default:
		return ""
	}
	o := c.main()
	return fmt.Sprintf("it leads %s, and %s %s/%s of Akash's provider does not: %s. If that is right, delete this one; otherwise: kubectl -n %s delete %s %s",
		c.live.LeadsTo(), o.Kind.Singular, o.Namespace, o.Name, to, o.Namespace, o.Kind.Singular, o.Name)
}

// lastApplied returns when this program last wrote an object.
func lastApplied(o *unstructured.Unstructured) time.Time {
	if e, ok := managed.Applied(o, lease.FieldManager); ok && e.Time != nil {
		return e.Time.Time
	}
	return time.Time{}
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

// stayed returns the error of routes that were left as they are since it was called last, or nil.
func (m *leaseMigration) stayed() error {
	names := m.left
	if m.left = nil; len(names) == 0 {
		return nil
	}
	return &StayedError{Lease: m.x.Request.Lease, Routes: names}
}

// companions returns the objects that accompany routes of the other kinds and that no route needs which stays.
func (m *leaseMigration) companions(stays []*crossing) (out []engine.Object) {
	if m.x.Command.Options.Config.Target == config.TargetHTTPRoute {
		return nil
	}
	needed := map[string]bool{}
	for _, c := range stays {
		if c.old.Kind != kinds.HTTPRoute && c.old.Kind != kinds.TLSRoute {
			continue
		}
		name := c.old.Live.GetName()
		for _, kind := range slices.Concat(kinds.Filters, kinds.Policies) {
			needed[kind.Plural+"/"+name] = true
		}
		needed[kinds.HTTPRoute.Plural+"/"+lease.RedirectName(name)] = true
		for _, service := range state.Backends(c.old.Live) {
			needed[kinds.BackendTLSPolicy.Plural+"/"+service] = true
		}
	}
	for _, kind := range slices.Concat(kinds.RouteKinds, kinds.Filters, kinds.Policies) {
		for live := range m.x.Snapshot.Of(kind) {
			id, ours := isOf(m.x.Snapshot, live)
			if _, isRoute := roleOf(m.x.Command.Options.Config.Target, kind, live); !ours || isRoute || id != m.x.Request.Lease || needed[kind.Plural+"/"+live.GetName()] {
				continue
			}
			o := observed.Owned{Kind: kind, Live: live, Group: m.x.Group}
			out = append(out, engine.Object{Kind: kind, Live: live, Group: m.x.Group, Lease: id, Ours: true, Stays: m.x.Snapshot.Stays(o)})
		}
	}
	return out
}

// annotated returns the apply of an object as this program has applied it, with and without some annotations.
func annotated(kind kinds.Kind, live *unstructured.Unstructured, with map[string]string, without ...string) render.Object {
	o := executor.AppliedOnly(live)
	o.SetUID("")
	o.SetResourceVersion("")
	annotations := merged(o.GetAnnotations(), with)
	for _, name := range without {
		delete(annotations, name)
	}
	o.SetAnnotations(annotations)
	return cluster.Applicable(kind, o)
}

// cancelled returns the apply that removes the annotations of an earlier migration from a route, which was to delete it; none if there
// are none.
func (m *leaseMigration) cancelled(kind kinds.Kind, live *unstructured.Unstructured) []engine.Desired {
	if records.ResidualTTL(live) == 0 {
		return nil
	}
	o := annotated(kind, live, nil, lease.AnnotationDNSTTL, externalController(m.x.Command.Options))
	return []engine.Desired{{Object: o, Manager: lease.FieldManager, Message: "it stays"}}
}
