package engine

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Akash's IP operator identifies a leased port without its service. It never deletes the Service of a former service name, and does
// not take over a Service of the same name that it has created for another endpoint (provider: operator/ip). So to point a
// ProviderLeasedIP at another service, it is deleted, the operator's Service has to go, and then it is created again.

// moves reports whether an object is a ProviderLeasedIP whose port moves to another service.
func (v view) moves(o render.Object) bool {
	if o.Kind != kinds.ProviderLeasedIP || !v.w.Objects.LeasesIPs() {
		return false
	}
	return v.w.Objects.NamesAnother(v.group, o) || v.w.Objects.At(KeyOf(o)) == nil && len(v.w.Objects.FormerServices(v.group, o)) > 0
}

// awaited are the objects that the lease wants, but for Services that Akash's IP operator never makes: the ProviderLeasedIP stays as it
// is declared for another service.
func (v view) awaited() []render.Object {
	if !v.w.Objects.LeasesIPs() {
		return v.wanted().objects
	}
	stay := map[string]bool{}
	for _, o := range v.wanted().objects {
		if k := KeyOf(o); v.staysDeclared(k) {
			stay[o.Name] = state.PortObjectOf(v.w.live(k).live).Service != state.PortObjectOf(render.Rendered(o)).Service
		}
	}
	return slices.DeleteFunc(slices.Clone(v.wanted().objects), func(o render.Object) bool {
		if o.Kind != kinds.Service {
			return false
		}
		s := state.ServiceObjectOf(render.Rendered(o))
		return stay[lease.LeasedIPName(s.SharingKey, s.Protocol, s.Port)]
	})
}

// movePorts deletes the ProviderLeasedIPs whose ports move, waits until the operator has deleted their Services, and creates them
// again.
func (v view) movePorts() Step {
	if v.want.Apply == nil {
		return Step{}
	}
	var moved []Desired
	for _, o := range v.wanted().objects {
		if v.moves(o) {
			moved = append(moved, Desired{Object: o, Manager: v.manager(o.Kind)})
		}
	}
	var former []Object
	for _, d := range moved {
		if s := v.clearPort(d); !s.idle() {
			return s
		}
		former = append(former, v.w.Objects.FormerServices(v.group, d.Object)...)
	}
	if s := v.await(former, func(o Object) string {
		namespace, name := o.Live.GetNamespace(), o.Live.GetName()
		return fmt.Sprintf("Akash's IP operator to remove service %s/%s, whose port moves to another service "+
			"or endpoint; the port stays claimed: the same command goes on. An operator that was down when the ProviderLeasedIP was deleted never removes it: "+
			"kubectl -n %s delete service %s", namespace, name, namespace, name)
	}); !s.idle() {
		return s
	}
	if s := v.orGiveBack(v.writeAll(moved)); !s.idle() {
		return s
	}
	return Step{Tells: v.tell(moved)}
}

// clearPort deletes a ProviderLeasedIP that names another service, if the API server would let this command create it again.
func (v view) clearPort(d Desired) Step {
	k := d.key()
	old := Object{Kind: k.Kind, Live: v.w.Objects.At(k), Group: v.group, Ours: true}
	if old.Live == nil || !v.w.Objects.NamesAnother(v.group, d.Object) || v.f.objects[old.uid()].deleted > 0 {
		return Step{}
	}
	_, checked := v.f.checked[k]
	switch r, refused := v.f.refusals[k]; {
	case !v.t.Settings.Waits:
	case refused:
		return v.giveBack(r.err)
	case !checked:
		return do(Request{Verb: CheckObject, Apply: d.Object, Manager: d.Manager, Makes: true, Why: "whether it could be created again"})
	}
	return v.removeAs(old, report.Deleted, "")
}
