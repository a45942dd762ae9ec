package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// AwaitGrants waits until the status of each Service of the lease has the addresses that were leased for it (in pool
// mode: any address): only the status shows that MetalLB has granted them.
func (r *Objects) AwaitGrants(ctx context.Context, desired []render.Object) error {
	waiting := map[string][]netip.Addr{}
	for _, o := range desired {
		if o.Kind == kinds.Service {
			waiting[o.Name] = nil
			for _, u := range state.AddressUses(cluster.Rendered(o)) {
				waiting[o.Name] = append(waiting[o.Name], u.Address)
			}
		}
	}
	for name, want := range waiting {
		live := r.Snapshot.At(kinds.Service, r.Request.Lease.Namespace(), name)
		if !r.Changed() && live != nil && r.granted(live, want) {
			delete(waiting, name)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, max(r.Left(), min(r.Options.Wait, time.Second))) // enough for one LIST
	defer cancel()
	services := r.Cluster.Dynamic.Resource(kinds.Service.Resource()).Namespace(r.Request.Lease.Namespace())
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB
			return services.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB
			return services.Watch(ctx, o)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil, func(e watch.Event) (bool, error) {
		service, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Deleted {
			return false, nil
		}
		if want, ok := waiting[service.GetName()]; ok && r.granted(service, want) {
			delete(waiting, service.GetName())
		}
		return len(waiting) == 0, nil
	})
	if err == nil || whole.Err() != nil { // the watch says of an interrupt that it timed out
		return whole.Err()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		texts := missingGrants(r.Request.Lease.Namespace(), waiting, r.squatters(whole))
		return &report.TimeoutError{After: r.Options.Wait.Round(time.Millisecond), Waiting: texts}
	}
	return err
}

// granted reports whether a Service has all wanted addresses, and at least one, and sends an event then.
func (r *Objects) granted(service *unstructured.Unstructured, want []netip.Addr) bool {
	var have []netip.Addr
	for _, u := range state.AddressUses(service) {
		if u.Granted {
			have = append(have, u.Address)
		}
	}
	if len(have) == 0 || !sets.New(have...).HasAll(want...) {
		return false
	}
	if r.Options.Config.IP.Mode == config.ModePool {
		r.grants = append(r.grants, addressTexts(have)...)
	}
	if r.Changed() {
		r.Event(report.Granted, kinds.Service.Singular, service.GetNamespace(), service.GetName(), strings.Join(addressTexts(have), ", "))
	}
	return true
}

// squatters describes, by address of the run, the Services that use it and do not belong to its holder. It returns nil
// if it cannot read Services: the run has failed already.
func (r *Objects) squatters(ctx context.Context) map[netip.Addr][]string {
	services, err := r.Cluster.Objects(ctx, kinds.Service.Resource(), "", metav1.ListOptions{})
	if err != nil {
		return nil
	}
	uses, out := map[netip.Addr][]state.Use{}, map[netip.Addr][]string{}
	for _, o := range services {
		for _, u := range state.ServiceUses(o) {
			uses[u.Address] = append(uses[u.Address], r.Snapshot.OfNamespace(u))
		}
	}
	for _, h := range r.Holds {
		if h.Claim == nil || h.Claim.Kind != state.Address {
			continue
		}
		for _, u := range h.Claim.Squatters(uses[h.Claim.Addr()]) {
			out[h.Claim.Addr()] = append(out[h.Claim.Addr()], u.Takes(h.Claim.Thing))
		}
	}
	return out
}

// missingGrants describes the Services of a namespace that wait for addresses, and who uses these. The texts are
// sorted.
func missingGrants(namespace string, waiting map[string][]netip.Addr, squatters map[netip.Addr][]string) []string {
	var out []string
	for name, want := range waiting {
		var others []string
		for _, a := range want {
			others = append(others, squatters[a]...)
		}
		why := ""
		if len(others) > 0 {
			why = ": " + strings.Join(others, ", ")
		}
		out = append(out, fmt.Sprintf("service %s/%s to be granted %s by MetalLB%s (see: kubectl -n %s describe service %s)",
			namespace, name, cmp.Or(strings.Join(addressTexts(want), ", "), "an address"), why, namespace, name))
	}
	slices.Sort(out)
	return out
}

func addressTexts(addresses []netip.Addr) []string {
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = a.String()
	}
	return texts
}
