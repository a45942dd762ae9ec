package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// bring writes the new routes of a lease and waits until they are accepted.
func (m *migration) bring(ctx context.Context) error {
	if err := m.mayMove(); err != nil {
		return err
	}
	m.plan()
	var errs []error
	seen := map[string]bool{}
	for _, c := range m.routes {
		if c.why != "" {
			m.event(Left, c.old.kind.Singular, c.old.live.GetNamespace(), c.old.live.GetName(), c.why)
			continue
		}
		if err := m.writeRoute(ctx, c, seen); err != nil {
			errs = append(errs, err)
			continue
		}
		c.ready = true
	}
	errs = append(errs, m.accepted(ctx), m.confirm(ctx), m.stayed())
	return failures(errs)
}

// mayMove refuses a lease before anything is written: beside an operator that makes routes of its
// own kind, and with hosts that somebody else holds.
func (m *migration) mayMove() error {
	if m.snapshot.operators.hostname && len(m.routes) > 0 {
		return &OperatorError{Lease: m.req.Lease, Why: "Akash's hostname operator makes its routes, of the kind that its flag --ingress-mode says: " +
			"change that, and it makes the others"}
	}
	refused := &HeldError{Lease: m.req.Lease}
	for _, c := range m.routes {
		claim := m.snapshot.claims[state.HostName(c.use.Host)]
		switch {
		case claim == nil || claim.Deleting || len(claim.Parts) == 0 && claim.Unreadable == "":
			for _, u := range m.snapshot.hostUses[c.use.Host] {
				if u.HasLease && u.Lease.Owner != m.group.Owner || !u.HasLease {
					refused.Held = append(refused.Held, HeldThing{Kind: state.Host, Thing: c.use.Host, By: state.Holder{Object: u.String(), Since: u.Since, Namespace: u.Namespace}})
					break
				}
			}
		case claim.Unreadable != "" || claim.Owner != m.group.Owner:
			refused.Held = append(refused.Held, HeldThing{Kind: claim.Kind, Thing: claim.Thing, By: claim.HeldBy()})
		default:
			if part := claim.Part(state.RouteKey(c.use.Path)); part == nil || part.Lease.Group() != m.group {
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
func (m *migration) plan() {
	around := m.surroundings()
	hash := m.hash()
	var lives, beside []*render.Live
	var moving []*crossing
	for _, o := range m.there {
		if live, err := render.ReadRoute(o, m.opts.Config, around); err == nil {
			beside = append(beside, live)
		}
	}
	for _, c := range m.routes {
		if c.why != "" {
			continue
		}
		live, err := render.ReadRoute(c.old.live, m.opts.Config, around)
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
	for i, r := range render.Migrate(lives, beside, m.opts.Config, around) {
		c := moving[i]
		for _, refused := range r.Refused {
			if c.why != "" {
				c.why += "; "
			}
			c.why += refused
		}
		c.objects = r.Objects
		for _, lost := range r.Lost {
			o := c.main()
			m.event(Lacks, o.Kind.Singular, o.Namespace, o.Name, lost.String())
		}
	}
}

// main is the route itself among the objects of its new form.
func (c *crossing) main() render.Object {
	i := slices.IndexFunc(c.objects, func(o render.Object) bool {
		return slices.Contains(hostKinds, o.Kind) && o.Name == c.old.live.GetName()
	})
	return c.objects[i]
}

// hash is that of the definition of which the lease's objects are; where Akash's provider wrote all
// of them, one that stands for the lease.
func (m *migration) hash() string {
	for _, o := range m.snapshot.written[m.group] {
		return o.live.GetAnnotations()[lease.AnnotationDefinition]
	}
	return lease.Hash("migrated " + m.req.Lease.String())
}

// surroundings are what the cluster has beside the routes of the lease.
func (m *migration) surroundings() render.Surroundings {
	namespace := m.req.Lease.Namespace()
	s := render.Surroundings{
		Ports: map[string][]render.ServicePort{},
		Find: func(kind render.Kind, name string) *unstructured.Unstructured {
			return m.snapshot.live[kind.Plural][namespace+"/"+name]
		},
	}
	for _, name := range sortedKeys(m.snapshot.live[render.Service.Plural]) {
		o := m.snapshot.live[render.Service.Plural][name]
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

// writeRoute writes a route's new form, in the order in which it works from its first moment on.
func (m *migration) writeRoute(ctx context.Context, c *crossing, seen map[string]bool) error {
	if m.superseded(c) {
		return nil
	}
	for _, stage := range stages {
		var objects []render.Object
		for _, o := range c.objects {
			if slices.Contains(stage, o.Kind) && !seen[o.String()] {
				seen[o.String()] = true
				objects = append(objects, o)
			}
		}
		if err := m.writeAll(ctx, objects); err != nil {
			return err
		}
	}
	return nil
}

// superseded is true where the new form is there and was written later, from another definition:
// what it says holds.
func (m *migration) superseded(c *crossing) bool {
	live := m.snapshot.find(c.main())
	if live == nil {
		return false
	}
	was, is := c.old.live.GetAnnotations()[lease.AnnotationDefinition], live.GetAnnotations()[lease.AnnotationDefinition]
	return was != "" && is != "" && was != is && lastApplied(live).After(lastApplied(c.old.live))
}

// lastApplied is when this program last wrote an object.
func lastApplied(o *unstructured.Unstructured) time.Time {
	for _, f := range o.GetManagedFields() {
		if f.Manager == lease.FieldManager && f.Operation == metav1.ManagedFieldsOperationApply && f.Time != nil {
			return f.Time.Time
		}
	}
	return time.Time{}
}

// accepted waits until routers have accepted the new routes, all at a time. Those that are not leave
// their old ones in place.
func (m *migration) accepted(ctx context.Context) error {
	if m.opts.DryRun != "" || m.opts.Wait == 0 {
		return nil
	}
	var mu sync.Mutex
	var waiting []string
	var group errgroup.Group
	for _, c := range m.routes {
		if !c.ready {
			continue
		}
		group.Go(func() error {
			err := m.awaitAccepted(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			if timeout := (*TimeoutError)(nil); errors.As(err, &timeout) {
				waiting = append(waiting, timeout.Waiting...)
				err = nil
				c.ready = false
			}
			if err != nil {
				c.ready = false
			}
			return err
		})
	}
	err := group.Wait()
	if len(waiting) > 0 {
		slices.Sort(waiting)
		err = errors.Join(err, &TimeoutError{After: m.opts.Wait, Waiting: waiting})
	}
	return err
}

// awaitAccepted waits until each route of a new form is accepted and its backend found.
func (m *migration) awaitAccepted(ctx context.Context, c *crossing) error {
	for _, o := range c.objects {
		if !slices.Contains(reportingKinds, o.Kind) {
			continue
		}
		if err := m.awaitRoute(ctx, o, state.Serves); err != nil {
			return err
		}
	}
	return nil
}

// confirm reads the claims once more: a run that stood still may find that the lease has given up, or
// somebody else has got, what it has just routed.
func (m *migration) confirm(ctx context.Context) error {
	if m.opts.DryRun != "" {
		return nil
	}
	var errs []error
	for _, c := range m.routes {
		before := m.snapshot.claims[state.HostName(c.use.Host)]
		if c.why != "" || before == nil || len(m.made) == 0 {
			continue
		}
		claim, err := m.ledger.get(ctx, before.Name())
		if err != nil {
			c.ready = false
			errs = append(errs, err)
			continue
		}
		part := claim.Part(state.RouteKey(c.use.Path))
		if part != nil && !claim.Deleting && part.Lease.Group() == m.group {
			continue
		}
		c.ready = false
		m.takeBack(ctx, c)
		errs = append(errs, m.overtaken(&held{want: state.Hold{Kind: before.Kind, Thing: before.Thing}}))
	}
	return errors.Join(errs...)
}

// takeBack deletes what the run has made for a route.
func (m *migration) takeBack(ctx context.Context, c *crossing) {
	var others []madeObject
	mine := m.made[:0:0]
	for _, made := range m.made {
		if slices.ContainsFunc(c.objects, func(o render.Object) bool { return o.Kind == made.object.Kind && o.Name == made.object.Name }) {
			mine = append(mine, made)
		} else {
			others = append(others, made)
		}
	}
	m.made = mine
	m.retract(ctx)
	m.made = others
}

func (m *migration) stayed() error {
	var names []string
	for _, c := range m.routes {
		if c.why != "" {
			names = append(names, c.old.kind.Singular+"/"+c.old.live.GetName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &StayedError{Lease: m.req.Lease, Routes: names}
}

// end removes the old routes whose new ones are accepted, then what went with them.
func (m *migration) end(ctx context.Context, keep bool) error {
	if keep {
		m.tellDone("prepared")
		return nil
	}
	gone := map[*unstructured.Unstructured]bool{}
	for _, c := range m.routes {
		if !c.ready {
			continue
		}
		if err := m.removeOld(ctx, c.old); err != nil {
			return err
		}
		gone[c.old.live] = true
		if len(m.snapshot.records[c.use.Host]) > 0 {
			m.event(Left, "dns", "", c.use.Host, "its record leads where it did until the next apply")
		}
	}
	needed := m.needed(gone)
	for _, o := range m.companions {
		if needed[o.kind.Plural+"/"+o.live.GetName()] {
			continue
		}
		if err := m.remove(ctx, o, Deleted); err != nil {
			return err
		}
	}
	m.tellDone("migrated")
	return nil
}

// needed are the objects that belong to routes which stay.
func (m *migration) needed(gone map[*unstructured.Unstructured]bool) map[string]bool {
	needed := map[string]bool{}
	for _, c := range m.routes {
		if gone[c.old.live] || c.old.kind != render.HTTPRoute && c.old.kind != render.TLSRoute {
			continue
		}
		name := c.old.live.GetName()
		for _, kind := range slices.Concat(filterKinds, policyKinds) {
			needed[kind.Plural+"/"+name] = true
		}
		needed[render.HTTPRoute.Plural+"/"+lease.RedirectName(name)] = true
		for _, service := range state.Backends(c.old.live) {
			needed[render.BackendTLSPolicy.Plural+"/"+service] = true
		}
	}
	return needed
}

// tellDone ends the events of a lease of which no route had to stay.
func (m *migration) tellDone(how string) {
	if slices.ContainsFunc(m.routes, func(c *crossing) bool { return !c.ready }) {
		return
	}
	hosts := []string{}
	for _, c := range m.routes {
		hosts = append(hosts, c.use.Host)
	}
	for _, o := range m.there {
		for _, u := range state.HostUses(o) {
			hosts = append(hosts, u.Host)
		}
	}
	slices.Sort(hosts)
	m.send(Event{Time: time.Now(), Action: Done, Lease: m.req.Lease, Kind: "lease", Name: m.req.Lease.String(), Message: how,
		Summary: &Summary{Hosts: slices.Compact(hosts), Changed: m.changed, Took: time.Since(m.start)}})
}

// removeOld deletes an old route, whoever wrote it, as long as it is what was read: else its new form
// says something else.
func (m *migration) removeOld(ctx context.Context, o owned) error {
	live, name := o.live, o.live.GetNamespace()+"/"+o.live.GetName()
	if m.opts.DryRun == DryRunClient {
		m.event(Deleted, o.kind.Singular, live.GetNamespace(), live.GetName(), "")
		return nil
	}
	err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		err := m.cluster.deletePinned(ctx, o.kind, live.GetNamespace(), live.GetName(), live.GetUID(), live.GetResourceVersion(), m.opts.DryRun == DryRunServer)
		if err == nil {
			m.event(Deleted, o.kind.Singular, live.GetNamespace(), live.GetName(), "")
			return true, nil
		}
		if !isOvertaken(err) && !isUnclear(err) {
			return false, m.cluster.explain(err, "delete", o.kind.Resource())
		}
		now, err := m.cluster.get(ctx, o.kind, live.GetNamespace(), live.GetName())
		switch {
		case err != nil:
			return false, err
		case now == nil || now.GetUID() != live.GetUID():
			return true, nil
		case !sameRoute(now, o.live):
			return false, fmt.Errorf("%s %s was changed meanwhile; it stays, and the same command carries the change over", o.kind.Singular, name)
		}
		live = now
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s %s changes faster than it can be deleted; try again", o.kind.Singular, name)
	}
	return err
}

// sameRoute is true where nothing but the status has changed.
func sameRoute(a, b *unstructured.Unstructured) bool {
	return contains(a.Object["spec"], b.Object["spec"]) && contains(b.Object["spec"], a.Object["spec"]) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && maps.Equal(a.GetLabels(), b.GetLabels())
}
