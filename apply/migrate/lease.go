package migrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// crossing is a route that moves to its new form.
type crossing struct {
	old observed.Object
	use state.Use
	// objects are those of its new form, leadsTo says what it serves.
	objects []render.Object
	leadsTo string
	// why is the reason for leaving the route as it is, if there is one.
	why string
	// ready is true while nothing keeps the route: in the end, the old one is gone.
	ready bool
	// hides is true if DNS leads away from the old route. stays is until when resolvers may return it, lag how long that is after its host's
	// records are served.
	hides bool
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
		Old:  c.old,
		Host: c.use.Host, Claim: host, Key: state.RouteKey(c.use.Path),
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
	out := &engine.Move{Ends: true, Companions: m.companions()}
	for _, c := range m.routes {
		if c.ready && c.why == "" {
			c.why = m.leadsElsewhere(c, m.x.Snapshot.Find(c.main()))
		}
		if c.ready && c.why != "" {
			m.leave(c, c.why)
		}
		if !c.ready || !m.x.Command.Passed(c.stays) {
			out.Stay = append(out.Stay, c.key())
			continue
		}
		moving := m.moving(c, slices.DeleteFunc(applied(c.objects), func(d engine.Desired) bool {
			live := m.x.Snapshot.Find(d.Object)
			return !plan.Unchanged(observed.KeepsTaken(d.Object, live, lease.FieldManager), live, lease.FieldManager)
		}))
		if c.lag > 0 {
			moving.Message = m.x.Command.Would(c.lag.String() + " after its DNS records lead to the new route")
		}
		out.Routes = append(out.Routes, moving)
	}
	if len(out.Stay) == 0 {
		out.Target = &m.x.Command.Options.Target
	}
	return out, nil
}

// renderRoutes renders the new forms of the old routes: from the definition that the ledger keeps, or as Akash's hostname operator has
// written the route. It sets why for routes that cannot be migrated, and reports what the new forms lack.
func (m *leaseMigration) renderRoutes() {
	def, unread := m.definition()
	are, akashs := map[string]kinds.Kind{}, map[string]render.AkashRoute{}
	for _, o := range m.current() {
		are[o.Live.GetName()] = o.Kind
	}
	for _, c := range m.ready() {
		if c.why == "" {
			are[c.old.Live.GetName()] = c.old.Kind
			c.why = m.made(c, def, unread, akashs)
		}
	}
	forms := render.Migrate(def, slices.Collect(maps.Values(akashs)), m.x.Command.Options.Config, are)
	for _, c := range m.ready() {
		r := forms[c.old.Live.GetName()]
		akash, isAkashs := akashs[c.old.Live.GetName()]
		switch {
		case c.why != "":
			continue
		case r == nil:
			c.why = "its lease's definition does not route " + lease.HostPath(c.use.Host, c.use.Path) + applyFirst
			continue
		case isAkashs && r.LeadsTo != akash.LeadsTo():
			c.why = fmt.Sprintf("it leads %s, and by its lease's definition %s%s", akash.LeadsTo(), r.LeadsTo, applyFirst)
			continue
		}
		first := c.objects == nil
		c.objects, c.leadsTo, c.why = r.Objects, r.LeadsTo, strings.Join(r.Refused, "; ")
		if c.why != "" || !first || m.superseded(c) {
			continue
		}
		for _, lost := range r.Lost {
			o := c.main()
			m.x.Event(report.Lacks, o.Kind.Singular, o.Namespace, o.Name, lost)
		}
	}
}

// applyFirst is the advice for a route that is not as its lease's definition has it.
const applyFirst = ": apply the definition first"

// definition returns the definition that the ledger keeps for the lease; one without routes if there is none, or it cannot be read.
func (m *leaseMigration) definition() (*lease.Definition, error) {
	none := &lease.Definition{Lease: m.x.Request.Lease, Hash: m.hash()}
	d := m.x.Snapshot.Definitions[kept.Name(m.x.Group)]
	if d == nil {
		return none, nil
	}
	def, err := d.Decode()
	if err != nil {
		return none, err
	}
	return def, nil
}

// made returns why the new form of an old route is not made of the kept definition; "" if it is. It adds the route to akashs if it is to
// be read as Akash's hostname operator writes it: that one has written it, or an earlier migration of what that one has written.
func (m *leaseMigration) made(c *crossing, def *lease.Definition, unread error, akashs map[string]render.AkashRoute) string {
	name := c.old.Live.GetName()
	from, isKept := definitionOf(c.old.Live), m.x.Snapshot.Definitions[kept.Name(m.x.Group)] != nil
	succeeds := func(o observed.Object) bool { return o.Live.GetName() == name && definitionOf(o.Live) == def.Hash }
	switch {
	case unread != nil:
		return unread.Error()
	case from != "" && isKept && (from == def.Hash || slices.ContainsFunc(m.current(), succeeds)):
		return altered(c.old, m.x.Command.Options.Config)
	case !isKept, m.x.Snapshot.Ownership(c.old.Live).Shared:
		akash, err := m.readAkash(c.old.Live)
		if akashs[name] = akash; err != nil && !isKept {
			return "the ledger keeps no definition of its lease, and " + err.Error() + applyFirst
		} else if err != nil {
			return err.Error() + applyFirst
		}
		return ""
	}
	return "the ledger keeps another definition of its lease than the one that it was made of" + applyFirst
}

func definitionOf(o *unstructured.Unstructured) string {
	return o.GetAnnotations()[lease.AnnotationDefinition]
}

// readAkash reads a route as Akash's hostname operator writes it.
func (m *leaseMigration) readAkash(o *unstructured.Unstructured) (render.AkashRoute, error) {
	var to lease.Backend
	for _, u := range state.HostUses(o) {
		to = lease.Backend{Service: u.Service, Port: u.Port}
	}
	var container int64
	if service := m.x.Snapshot.At(kinds.Service, o.GetNamespace(), to.Service); service != nil {
		ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
		for _, v := range ports {
			p, _ := v.(map[string]any)
			if port, _ := p["port"].(int64); uint16(port) == to.Port && (p["protocol"] == "TCP" || p["protocol"] == nil) {
				container, _ = p["targetPort"].(int64)
			}
		}
	}
	return render.ReadAkashRoute(o, to, uint16(container), m.x.Command.Options.Config)
}

// altered says what somebody else has set of a route of this program: its new form does not have it. It returns "" if that is nothing.
func altered(o observed.Object, cfg *config.ProviderConfig) string {
	spec, _ := o.Live.Object["spec"].(map[string]any)
	issued := o.Kind == kinds.Route && o.Live.GetAnnotations()["cert-manager.io/issuer-name"] != ""
	for e := range managed.Of(o.Live) {
		if e.Ours() || e.Manager == managed.Akash || e.Delivers() {
			continue
		}
		var set []string
		for _, of := range []string{"annotations", "labels"} {
			values, _, _ := unstructured.NestedStringMap(o.Live.Object, "metadata", of)
			for key := range e.Names("metadata", of) {
				if render.Routes(key, values[key], cfg) {
					set = append(set, fmt.Sprintf("its %s %s: %s", strings.TrimSuffix(of, "s"), key, lease.Clip(values[key])))
				}
			}
		}
		for field := range spec {
			if e.Owns("spec", field) && (field != "tls" || !issued) { // cert-manager writes the certificate into a Route
				set = append(set, "its spec."+field)
			}
		}
		if slices.Sort(set); len(set) > 0 {
			return fmt.Sprintf("%s has set %s, which may decide who reaches what: write it into the lease's definition and apply that, or take it back", e.Manager, set[0])
		}
	}
	return ""
}

// findKinds refuses, before anything is written, kinds that the cluster does not serve.
func (m *leaseMigration) findKinds() error {
	var of []kinds.Kind
	for _, c := range m.routes {
		if c.why != "" { // report a missing kind even if the route cannot be migrated to it
			of = append(of, kinds.OfTarget(m.x.Command.Options.Config.Target)[0])
		} else {
			of = append(of, kinds.WrittenRecords(m.x.Command.Options.Config)...)
		}
		for _, o := range c.objects {
			of = append(of, o.Kind)
		}
	}
	slices.SortFunc(of, func(a, b kinds.Kind) int { return strings.Compare(a.Singular, b.Singular) })
	of = slices.Compact(of)
	return errors.Join(m.x.Snapshot.Missing(of...)...)
}

// hash returns the definition hash of the lease's objects, or, if Akash's provider wrote all of them, one made from the
// lease.
func (m *leaseMigration) hash() string {
	for _, o := range m.x.Snapshot.Written.Of(m.x.Group) {
		if hash := o.Live.GetAnnotations()[lease.AnnotationDefinition]; hash != "" {
			return hash
		}
	}
	return lease.Hash("migrated " + m.x.Request.Lease.String())
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
