package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Apply says which objects a lease wants beside its claims.
type Apply struct {
	// Definition is what the lease routes, Kinds are the kinds of objects that it needs, whoever writes them.
	Definition *lease.Definition
	Kinds      []kinds.Kind
	// Heal is true for a definition that the ledger keeps: the lease claims nothing anew, and gives up nothing that was not
	// applied. Lost is true where a command heals that has lost its turn: it gives up nothing, because who came after it may rely on it.
	Heal, Lost bool
	// Target is the kind of routes that the command has chosen; empty for that of the configuration. The kept definition has it.
	Target string
	// Source is the name of the source that names the lease; empty for none. The kept definition has it.
	Source string
	// Workloads is the definition of what the lease runs; nil if that is left alone.
	Workloads *lease.Definition
	// Only are the changes that may be made, of a plan; nil if there is none.
	Only []plan.Change
}

// Write is what is written as it is to be, and nothing else: objects, in their order, and the records of a host, whoever has changed these.
// What the deployment group has of the host's records beside them goes.
type Write struct {
	Objects []Desired
	Records []render.Object
}

// Desired is an object as a lease wants it, and the field manager that applies it. Message is what a person is told of the write. Takes is true
// if fields are taken from whoever has set them.
type Desired struct {
	Object  render.Object
	Manager string
	Message string
	Takes   bool
}

func (d Desired) key() Key { return KeyOf(d.Object) }

// wanted is what a lease wants of objects, by its definition and what it holds.
type wanted struct {
	// granted is the definition without what others hold.
	granted *lease.Definition
	// objects are those of the routes and ports, keys their names, uses the hosts that each routes, shared the pools of the addresses.
	objects []render.Object
	keys    map[Key]bool
	uses    map[Key][]state.Use
	shared  []render.Object
	// stages are the objects that the lease writes itself, by kinds.Stages, without the ports that move. grounds are the parts of
	// claims that the objects serve.
	stages  [][]Desired
	grounds map[allocation]bool
	err     error
}

// Applied is what became of the objects that a lease wants.
type Applied struct {
	// Definition is the definition without what others hold, Desired are its objects that there are to be, Records its DNS records.
	Definition *lease.Definition
	Desired    []render.Object
	Records    []render.Object
	// Unknown are the hosts whose record has no value yet.
	Unknown []render.UnknownHost
	// Stays is true if an old route stays, because its successor is not known to serve. Unlike is true if an operator of
	// Akash's gives a route other options.
	Stays, Unlike bool
	// Began is when the lease has begun to wait for what it has written, the zero time if it has not.
	Began time.Time
	// Stuck names the records that were still there when their time was over.
	Stuck []string
}

// withheld returns the hosts with paths, and the names of the ports, that others of the owner hold, or that the lease has
// given up since its definition was kept.
func (v view) withheld() (hosts, ports map[string]bool) {
	hosts, ports = map[string]bool{}, map[string]bool{}
	add := func(h state.Hold, p state.Part) {
		if !h.Kind.HasPorts() {
			hosts[lease.HostPath(h.Thing, p.Path)] = true
			return
		}
		protocol, port := p.ProtocolPort()
		ports[lease.LeasedIPName(h.SharingKey, protocol, port)] = true
	}
	for _, h := range v.things {
		for _, w := range v.taking(h).Withheld {
			add(h, w.Part)
		}
	}
	for _, g := range v.gone {
		add(g.hold, g.hold.Parts[0])
	}
	return hosts, ports
}

// addresses returns the addresses of the lease's IP endpoints, by name.
func (v view) addresses() render.Addresses {
	out := render.Addresses{}
	if v.t.Settings.Config.IP.Mode == config.ModePool {
		return out
	}
	for _, e := range v.want.Request.Endpoints {
		if as := v.addressesOf(e); len(as) > 0 {
			out[e.Name] = slices.SortedFunc(slices.Values(as), netip.Addr.Compare)
		}
	}
	return out
}

// wanted returns what the lease wants of objects. It is rendered once for the same input.
func (v view) wanted() *wanted {
	if v.memo.wanted != nil {
		return v.memo.wanted
	}
	if v.want.Apply == nil {
		v.past.wanted = cmp.Or(v.past.wanted, &wanted{})
		return v.past.wanted
	}
	hosts, ports := v.withheld()
	addresses := v.addresses()
	key := fmt.Sprint(slices.Sorted(maps.Keys(hosts)), slices.Sorted(maps.Keys(ports)), addresses, v.w.read, len(v.f.taken))
	if v.past.wanted == nil || v.past.wantedOf != key {
		v.past.wanted, v.past.wantedOf = v.rendered(state.Granted(v.want.Apply.Definition, hosts, ports), addresses), key
	}
	v.memo.wanted = v.past.wanted
	return v.memo.wanted
}

// rendered renders what a lease wants of objects.
func (v view) rendered(granted *lease.Definition, addresses render.Addresses) *wanted {
	w := &wanted{granted: granted, keys: map[Key]bool{}, uses: map[Key][]state.Use{}, grounds: map[allocation]bool{}, stages: make([][]Desired, len(kinds.Stages))}
	w.objects, w.err = render.Lease(granted, v.t.Settings.Config, addresses)
	w.objects = slices.DeleteFunc(w.objects, v.isLeftAlone)
	for i, o := range w.objects {
		w.objects[i] = render.Converted(o)
	}
	if w.err == nil && slices.ContainsFunc(w.objects, func(o render.Object) bool { return o.Kind == kinds.Service || o.Kind == kinds.ProviderLeasedIP }) {
		w.shared, w.err = v.w.shared.PoolsFor(v.t.Settings.Config, addresses)
	}
	for _, o := range w.objects {
		w.keys[KeyOf(o)], w.uses[KeyOf(o)] = true, state.HostUses(render.Look(o))
		for _, g := range v.grounds(o) {
			w.grounds[allocation{g.Name, g.Served.Key}] = true
		}
		if theirs, _, _ := v.theirs(o); theirs || v.moves(o) {
			continue
		}
		i := slices.IndexFunc(kinds.Stages, func(stage []kinds.Kind) bool { return slices.Contains(stage, o.Kind) })
		w.stages[i] = append(w.stages[i], Desired{Object: o, Manager: v.manager(o.Kind)})
	}
	return w
}

// manager returns the field manager under which the lease applies an object of a kind: Akash's claim-like objects are written
// by the claimant, so that a second claimant's write conflicts instead of overwriting.
func (v view) manager(kind kinds.Kind) string {
	if slices.Contains(kinds.ClaimLike, kind) {
		return v.group.FieldManager()
	}
	return lease.FieldManager
}

// theirs reports whether one of Akash's operators makes an object; live is what it has made, unlike says how that will differ.
func (v view) theirs(o render.Object) (theirs bool, live *unstructured.Unstructured, unlike string) {
	now := v.w.Snapshot
	if !now.Operators.Theirs(o) {
		return false, nil, ""
	}
	return true, now.Made(o), now.UnlikeOf(v.want.Apply.Definition, v.id, o)
}

// stages returns the objects to write in their order: the namespace and what the lease runs, then the pools of its addresses,
// then the others stage by stage.
func (v view) stages() (out [][]Desired) {
	if v.want.Move != nil {
		return movedStages(v.going())
	}
	if v.want.Write != nil {
		for _, d := range v.want.Write.Objects {
			out = append(out, []Desired{d})
		}
		return out
	}
	w := v.wanted()
	if v.want.Apply.Workloads == nil && len(w.objects) == 0 {
		return nil
	}
	namespace := Desired{Object: namespaceOf(v.id), Manager: lease.FieldManager}
	if v.want.Apply.Workloads != nil {
		out = append(out, []Desired{namespace})
		for _, stage := range v.f.running.is.Stages {
			out = append(out, v.running(stage))
		}
	}
	if len(w.objects) == 0 {
		return out
	}
	for _, o := range w.shared {
		out = append(out, []Desired{{Object: o, Manager: lease.FieldManager}})
	}
	if v.want.Apply.Workloads == nil {
		out = append(out, []Desired{namespace})
	}
	return append(out, w.stages...)
}

// namespaceOf returns the namespace of a lease, with the labels that Akash's provider gives it.
func namespaceOf(id lease.ID) render.Object {
	body := &unstructured.Unstructured{}
	body.SetGroupVersionKind(kinds.Namespace.GroupVersionKind)
	body.SetName(id.Namespace())
	body.SetLabels(state.LeaseNamespaceLabels(id))
	return render.Object{Kind: kinds.Namespace, Name: id.Namespace(), Config: body}
}

// unfit refuses, before anything is claimed, kinds that the cluster does not serve, what Akash's operators would stop at, and a
// kept definition that has changed.
func (v view) unfit() Step {
	apply := v.want.Apply
	if apply == nil || v.hasTaken() || v.f.wrote > 0 {
		return Step{}
	}
	if err := v.w.Snapshot.Fits(v.t.Settings.Config, apply.Definition, v.want.Request); err != nil {
		return v.giveBack(err)
	}
	if err := errors.Join(v.w.Snapshot.Missing(apply.Kinds...)...); err != nil {
		return v.giveBack(err)
	}
	d, _ := v.kept()
	if apply.Heal && !d.Says(apply.Definition) || v.follows() && !d.IsVersion(v.want.Transfer.Kept) {
		return v.giveBack(report.ErrChanged)
	}
	// Only what a crashed command was about to make is made: that has written the definition.
	wrote := func(a *state.Announcement) bool { return a.Names(v.group) && a.Nonce == state.NonceOf(d.Run) }
	if n, _ := v.w.Snapshot.Namespace(v.id.Namespace()); apply.Heal && !n.Alive && v.w.Turn.Alone > 0 && !slices.ContainsFunc(v.w.Turn.Fenced, wrote) {
		return v.giveBack(&report.NamespaceGoneError{Lease: v.id})
	}
	if err := v.f.running.is.Err; err != nil {
		return v.giveBack(err)
	}
	return Step{}
}
