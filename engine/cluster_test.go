package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// The objects of the ledger's cluster are kept as an API server does it: writes are pinned, an apply of equal content changes no
// version, one field manager may not change what another one has applied, and what has finalizers stays until these are gone.

// stored is an object, with what its field manager has applied. It is never changed.
type stored struct {
	live    *unstructured.Unstructured
	manager string
	applied *unstructured.Unstructured
}

// apply applies an object over the one that a request has seen, or only says whether it would be refused.
func (l *ledger) apply(r engine.Request, dry bool) engine.Answer {
	on := engine.On[engine.OfRendered](r)
	k, body := engine.KeyOf(on.Apply), l.explored.rendered(on.Apply)
	was := l.objects[k]
	if on.Makes {
		was = nil
	}
	switch _, there := l.objects[namespaceKey(k.Namespace)]; {
	case !there && slices.ContainsFunc(l.tenants(), func(id lease.ID) bool { return id.Namespace() == k.Namespace }):
		return engine.Answer{Err: fmt.Errorf("namespaces %q not found", k.Namespace)}
	case was != nil && was.manager != on.Manager && !on.Force:
		return engine.Answer{Err: fmt.Errorf("conflict with %q", was.manager), Owned: true, Managers: []string{was.manager}}
	case l.breach != "applies are pinned" && !was.isVersion(on.Over):
		return engine.Answer{Stale: true, Err: errStale}
	}
	if err := l.admit(k, body); err != nil {
		return engine.Answer{Err: err}
	}
	if dry {
		return engine.Answer{}
	}
	if was != nil && was.manager == on.Manager && reflect.DeepEqual(was.applied, body) {
		return engine.Answer{Live: was.live}
	}
	return engine.Answer{Live: l.store(k, on.Manager, body, was), Made: was == nil}
}

// store keeps an object as a manager has applied it.
func (l *ledger) store(k engine.Key, manager string, applied *unstructured.Unstructured, was *stored) *unstructured.Unstructured {
	version := l.next(k.String())
	live := applied.DeepCopy()
	live.SetUID(types.UID(k.String() + " " + version))
	live.SetCreationTimestamp(metav1.Time{Time: l.now})
	if was != nil {
		live.SetUID(was.live.GetUID())
		live.SetCreationTimestamp(was.live.GetCreationTimestamp())
		live.SetFinalizers(was.live.GetFinalizers())
		live.SetDeletionTimestamp(was.live.GetDeletionTimestamp())
		if status := was.live.Object["status"]; status != nil {
			live.Object["status"] = status
		}
	}
	live.SetResourceVersion(version)
	live.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
		"manager": manager, "operation": "Apply", "apiVersion": live.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": fieldsOf(applied.Object),
	}}
	l.objects[k] = &stored{live, manager, applied}
	return live
}

// fieldsOf are the fields of an object, as managed fields name them. A list is one field.
func fieldsOf(of map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range of {
		below, _ := v.(map[string]any)
		if !slices.Contains([]string{"apiVersion", "kind", "name", "namespace"}, name) {
			out["f:"+name] = fieldsOf(below)
		}
	}
	return out
}

// isVersion reports whether an object is as a request has seen it; both are nil if there is none.
func (s *stored) isVersion(seen *unstructured.Unstructured) bool {
	if s == nil || seen == nil {
		return s == nil && seen == nil
	}
	return s.live.GetUID() == seen.GetUID() && s.live.GetResourceVersion() == seen.GetResourceVersion()
}

// admit says why the API server does not admit an object: the story refuses its kind for the lease; or a webhook, as that of ingress-nginx does it,
// because an Ingress of another namespace has its host and path.
func (l *ledger) admit(k engine.Key, body *unstructured.Unstructured) error {
	if why := l.refuses[k.Kind.Singular+" "+k.Namespace]; why != "" {
		return errors.New(why)
	}
	if !l.webhook || k.Kind != kinds.Ingress {
		return nil
	}
	for other, o := range l.objects {
		for _, a := range state.HostUses(body) {
			for _, b := range state.HostUses(o.live) {
				if other.Kind == kinds.Ingress && other.Namespace != k.Namespace && a.Host == b.Host && a.Path == b.Path {
					return fmt.Errorf("admission webhook denied the request: host %q and path %q is already defined in ingress %s/%s", a.Host, a.Path, other.Namespace, other.Name)
				}
			}
		}
	}
	return nil
}

// remove deletes an object as a request has seen it.
func (l *ledger) remove(o observed.Object) engine.Answer {
	k := engine.Key{Kind: o.Kind, Namespace: o.Live.GetNamespace(), Name: o.Live.GetName()}
	was := l.objects[k]
	switch {
	case was == nil:
		return engine.Answer{}
	case l.breach != "deletes are pinned" && !was.isVersion(o.Live):
		return engine.Answer{Stale: true, Err: errStale}
	}
	l.drop(k)
	return engine.Answer{}
}

// removePool deletes the pool of an address, with what announces it, as a command has read them.
func (l *ledger) removePool(read *observed.Snapshot, a netip.Addr) {
	for _, kind := range kinds.Pools {
		k := engine.Key{Kind: kind, Namespace: l.cfg.IP.MetalLBNamespace, Name: config.AddressPoolName(a)}
		if was := l.objects[k]; was != nil && was.isVersion(read.At(k.Kind, k.Namespace, k.Name)) {
			l.drop(k)
		}
	}
}

// touch writes an object as it is, unless it is gone or another deployment's by now.
func (l *ledger) touch(o observed.Object, nonce string) {
	k := engine.Key{Kind: o.Kind, Namespace: o.Live.GetNamespace(), Name: o.Live.GetName()}
	if was := l.objects[k]; was != nil && state.SameTenant(o.Live, was.live) {
		l.edit(k, func(live *unstructured.Unstructured) {
			annotations := live.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[lease.AnnotationTaken] = nonce
			live.SetAnnotations(annotations)
		})
	}
}

// drop deletes an object, or marks it for that if finalizers keep it.
func (l *ledger) drop(k engine.Key) {
	was := l.objects[k]
	if len(was.live.GetFinalizers()) == 0 {
		l.next(k.String())
		delete(l.objects, k)
		return
	}
	l.edit(k, func(live *unstructured.Unstructured) { live.SetDeletionTimestamp(&metav1.Time{Time: l.now}) })
}

// edit changes an object beside what its field manager has applied.
func (l *ledger) edit(k engine.Key, change func(live *unstructured.Unstructured)) {
	was := l.objects[k]
	live := was.live.DeepCopy()
	change(live)
	live.SetResourceVersion(l.next(k.String()))
	l.objects[k] = &stored{live, was.manager, was.applied}
}

func namespaceKey(name string) engine.Key { return engine.Key{Kind: kinds.Namespace, Name: name} }

// create creates an object, or says that there is one.
func (l *ledger) create(r engine.Request) engine.Answer {
	on := engine.On[engine.OfRendered](r)
	k := engine.KeyOf(on.Apply)
	if l.objects[k] != nil {
		return engine.Answer{}
	}
	return engine.Answer{Live: l.store(k, on.Manager, l.explored.rendered(on.Apply), nil), Made: true}
}

// namespaceOf is the namespace of a lease, with Akash's labels.
func namespaceOf(id lease.ID) render.Object {
	name := id.Namespace()
	return render.Object{Kind: kinds.Namespace, Name: name, Config: corev1.Namespace(name).WithLabels(state.LeaseNamespaceLabels(id))}
}

// serve lets a lease have a route of a host, or a ProviderHost, as somebody has written it before or takes no lock.
func (l *ledger) serve(host string, id lease.ID, of ...kinds.Kind) {
	all, err := render.Lease(definition(id, []string{host}), l.cfg, render.Addresses{"public": {netip.MustParseAddr("10.0.0.1")}})
	if err != nil {
		panic(err)
	}
	if l.objects[namespaceKey(id.Namespace())] == nil {
		l.store(namespaceKey(id.Namespace()), lease.FieldManager, render.Rendered(namespaceOf(id)), nil)
	}
	for _, o := range all {
		if slices.Contains(of, o.Kind) {
			l.store(engine.KeyOf(o), observed.ManagerOf(o.Kind, id.Group()), render.Rendered(o), nil)
		}
	}
}

func (l *ledger) manifestKey(id lease.ID) engine.Key {
	return engine.Key{Kind: kinds.Manifest, Namespace: l.cfg.ManifestNamespace, Name: id.Namespace()}
}

// manifest is the version of a lease's Manifest.
func (l *ledger) manifest(id lease.ID) *lease.Manifest {
	var m lease.Manifest
	if live := l.live(l.manifestKey(id)); live != nil {
		m = lease.Manifest{UID: string(live.GetUID()), ResourceVersion: live.GetResourceVersion()}
	}
	return &m
}

// writeManifest writes the Manifest of a lease, as Akash's provider does.
func (l *ledger) writeManifest(id lease.ID) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(kinds.Manifest.GroupVersionKind)
	o.SetNamespace(l.cfg.ManifestNamespace)
	o.SetName(id.Namespace())
	o.SetLabels(state.LeaseNamespaceLabels(id))
	l.store(l.manifestKey(id), "provider-services", o, nil)
}

// abandon deletes the namespace of a lease, with all that is in it.
func (l *ledger) abandon(id lease.ID) {
	for _, k := range l.keys() {
		if k == namespaceKey(id.Namespace()) || k.Namespace == id.Namespace() {
			delete(l.objects, k)
		}
	}
}

// silence deletes the routes of a host.
func (l *ledger) silence(host string) {
	for _, k := range l.keys() {
		if slices.ContainsFunc(state.HostUses(l.objects[k].live), func(u state.Use) bool { return u.Host == host }) {
			delete(l.objects, k)
		}
	}
}

// routes are the routes of a deployment group, or of all, that serve a host.
func (l *ledger) routes(host string) (out []observed.Object) {
	for _, k := range l.keys() {
		live := l.objects[k].live
		if slices.Contains(kinds.RouteKinds, k.Kind) && slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool { return u.Host == host }) {
			out = append(out, objectOf(k, live))
		}
	}
	return out
}

// objectOf is an object with the deployment group that its labels name.
func objectOf(k engine.Key, live *unstructured.Unstructured) observed.Object {
	id, _ := lease.IDFromLabels(live.GetLabels())
	return observed.Object{Kind: k.Kind, Live: live, Lease: id, Group: id.Group()}
}

// live is an object as it is, nil if there is none.
func (l *ledger) live(k engine.Key) *unstructured.Unstructured {
	if o := l.objects[k]; o != nil {
		return o.live
	}
	return nil
}

// keys are the keys of all objects, in one order.
func (l *ledger) keys() []engine.Key {
	return slices.SortedFunc(maps.Keys(l.objects), func(a, b engine.Key) int { return strings.Compare(a.String(), b.String()) })
}

// tenants are the leases whose namespaces have to be created.
func (l *ledger) tenants() (out []lease.ID) {
	for _, def := range l.said {
		out = append(out, def.Lease)
	}
	return out
}

// reading is what a command reads of everything: the claims and the definitions first, then the objects. The program reads the definitions
// a request later, so it does not notice a command of the lease that is announced, and has kept its definition, in between.
type reading struct {
	claims      []*state.Claim
	definitions map[string]*kept.Definition
	// sum names what was read.
	sum uint64
}

// readLedger reads the claims and the definitions, of one owner or of all.
func (l *ledger) readLedger(owner, own string) *reading {
	r := &reading{claims: l.list(owner, own), definitions: map[string]*kept.Definition{}}
	for g, d := range l.definitions {
		r.definitions[kept.Name(g)] = d
	}
	if l.explored != nil {
		r.sum = sumOfReading(r, owner)
	}
	return r
}

// readObjects reads the objects, of one owner or of all, after claims.
func (l *ledger) readObjects(r *reading, owner string) *observed.Snapshot {
	r.sum = sumOf(r.sum, l.sumOfObjects())
	return l.explored.read(r, func() *observed.Snapshot { return l.observe(r, owner) })
}

func (l *ledger) observe(r *reading, owner string) *observed.Snapshot {
	s := observed.NewSnapshot()
	if s.HoldersOnly, s.Definitions = true, r.definitions; l.closing {
		s.ClosedBy = "uninstall"
	}
	lists := map[string][]*listed.Object{}
	for _, k := range l.keys() {
		live := l.objects[k].live
		id, _ := lease.IDFromLabels(live.GetLabels())
		switch {
		case k.Kind == kinds.Namespace:
			s.PutNamespace(k.Name, &observed.Namespace{Alive: live.GetDeletionTimestamp() == nil, Tenant: id, HasTenant: true})
		case owner == "" || id.Owner == owner:
			lists[k.Kind.Plural] = append(lists[k.Kind.Plural], listed.New("", live))
		}
	}
	s.AddClaims(r.claims)
	s.Index(lists)
	return s
}
