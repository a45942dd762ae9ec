package migrate

import (
	"errors"
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
	m.x.Event(report.Kept, c.old.Kind.Singular, c.old.Live.GetNamespace(), c.old.Live.GetName(), why)
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
	if out.Companions = m.companions(stays); len(stays) == 0 {
		out.Target = &m.x.Command.Options.Target
	}
	return out, nil
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
