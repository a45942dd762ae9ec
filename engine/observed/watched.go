package observed

import (
	"maps"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// Watched is a cluster as watches tell of it. A change costs what it touches, and a snapshot nothing.
type Watched struct {
	now *Snapshot
	// attached are the routes of somebody else that name parents, toGateways those of them that name Gateways.
	attached   map[place]*listed.Object
	toGateways map[place]bool
}

// place is the plural of an object's kind, and its key.
type place struct{ plural, key string }

// NewWatched returns an empty cluster.
func NewWatched() *Watched {
	return &Watched{NewSnapshot(), map[place]*listed.Object{}, map[place]bool{}}
}

// Reads says that there may be objects of a kind.
func (w *Watched) Reads(kind kinds.Kind) {
	if !w.now.HasRead(kind) {
		w.now.lists[kind.Plural] = list{}
	}
}

// PutClaim puts a claim in the place of the one of a name; nil for none.
func (w *Watched) PutClaim(name string, now *state.Claim) { w.now.PutClaim(name, now) }

// PutNamespace says how a namespace is; nil if it is gone. Whose the objects in it are follows.
func (w *Watched) PutNamespace(name string, meta *metav1.ObjectMeta, hasLedger bool) {
	var now *Namespace
	if meta != nil {
		now = namespaceOf(meta)
	}
	if hasLedger {
		if w.now.ClosedBy = ""; meta != nil {
			w.now.ClosedBy = meta.Annotations[lease.AnnotationClosing]
		}
	}
	set := func() { w.now.PutNamespace(name, now) }
	was, _ := w.now.Namespace(name)
	if now != nil && was.HasTenant == now.HasTenant && was.Tenant == now.Tenant && maps.Equal(was.Labels, now.Labels) {
		set()
		return
	}
	in := map[string][]*listed.Object{}
	for plural, l := range w.now.lists {
		for o := range l.all(name + "/") {
			if !strings.HasPrefix(o.Key, name+"/") {
				break
			}
			in[plural] = append(in[plural], o)
		}
	}
	w.anew(in, set)
}

// anew indexes objects anew after a change of that by which they are.
func (w *Watched) anew(of map[string][]*listed.Object, change func()) {
	each := func(there bool) {
		for plural, objects := range of {
			for _, o := range objects {
				w.now.index(plural, o, there)
			}
		}
	}
	each(false)
	change()
	each(true)
}

// Put puts an object in the place of the one of its name; nil for none.
func (w *Watched) Put(kind kinds.Kind, namespace, name string, now *unstructured.Unstructured) {
	at := place{kind.Plural, namespace + "/" + name}
	delete(w.attached, at)
	delete(w.toGateways, at)
	if now == nil {
		w.now.put(at.plural, at.key, nil)
		return
	}
	o := listed.New(at.key, now)
	w.now.put(at.plural, at.key, o)
	if to := admission.AttachedOf(now); len(to.Parents) > 0 && !state.OwnershipOf(now, lease.ID{}).Ours {
		if w.attached[at] = o; to.ToGateway() {
			w.toGateways[at] = true
		}
	}
}

// NeedsGateways reports whether a route of somebody else is attached to a Gateway: only then the listeners count.
func (w *Watched) NeedsGateways() bool { return len(w.toGateways) > 0 }

// SetGateways sets the listeners of Gateways, nil if none count.
func (w *Watched) SetGateways(now admission.Gateways) {
	if reflect.DeepEqual(w.now.Gateways, now) {
		return
	}
	routes := map[string][]*listed.Object{}
	for at, o := range w.attached {
		routes[at.plural] = append(routes[at.plural], o)
	}
	w.anew(routes, func() { w.now.Gateways = now })
}

// Snapshot returns the cluster as it is, for one command: it belongs to that, and stays as it is.
func (w *Watched) Snapshot() *Snapshot {
	now := w.now
	out := &Snapshot{
		Claims: now.Claims.share(), ClosedBy: now.ClosedBy, Written: now.Written.share(), Theirs: now.Theirs.share(), Shared: now.Shared.share(),
		Records: now.Records.share(), HostUses: now.HostUses.Share(), Addresses: now.Addresses.Share(), namespaces: now.namespaces.Share(),
		tenants: now.tenants.Share(), ports: now.ports.Share(), portsOf: now.portsOf.Share(), using: now.using.share(),
		lists: make(map[string]list, len(now.lists)), Lacks: map[kinds.Kind]bool{}, Gateways: now.Gateways,
	}
	for plural, l := range now.lists {
		l.since.Share()
		now.lists[plural], out.lists[plural] = l, l
	}
	out.ask()
	return out
}
