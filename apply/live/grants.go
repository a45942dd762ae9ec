package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Granted waits until the status of each Service of the lease has the addresses that were leased for it (in pool mode: any
// address): only the status shows that MetalLB has granted them. It returns those that MetalLB has chosen in pool mode.
func (l *Lease) Granted(ctx context.Context) (chosen []string, err error) {
	x, namespace := l.X, l.X.Request.Lease.Namespace()
	waiting := map[string][]netip.Addr{}
	for _, o := range l.Desired {
		if o.Kind == kinds.Service {
			waiting[o.Name] = nil
			for _, u := range state.AddressUses(render.Rendered(o)) {
				waiting[o.Name] = append(waiting[o.Name], u.Address)
			}
		}
	}
	grant := func(service *unstructured.Unstructured) {
		want, waits := waiting[service.GetName()]
		addresses := granted(service, want)
		if !waits || len(addresses) == 0 {
			return
		}
		delete(waiting, service.GetName())
		if x.Command.Options.Config.IP.Mode == config.ModePool {
			chosen = append(chosen, addresses...)
		}
		if x.Changed() {
			x.Event(report.Granted, kinds.Service.Singular, namespace, service.GetName(), strings.Join(addresses, ", "))
		}
	}
	for name := range waiting {
		if live := x.Snapshot.At(kinds.Service, namespace, name); !x.Changed() && live != nil {
			grant(live)
		}
	}
	if len(waiting) == 0 {
		return chosen, nil
	}
	defer x.Waits("MetalLB to grant the addresses of service/" + strings.Join(slices.Sorted(maps.Keys(waiting)), ", service/"))()
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, max(x.Left(), min(x.Command.Options.Wait, time.Second))) // enough for one LIST
	defer cancel()
	services := x.Command.Cluster.Dynamic.Resource(kinds.Service.Resource()).Namespace(namespace)
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
	_, err = watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil, func(e watch.Event) (bool, error) {
		service, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Deleted {
			return false, nil
		}
		grant(service)
		return len(waiting) == 0, nil
	})
	if err == nil || whole.Err() != nil { // the watch says of an interrupt that it timed out
		return chosen, whole.Err()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return chosen, x.TimedOut(report.ErrTimedOut, missingGrants(namespace, waiting, l.squatters(whole))...)
	}
	return chosen, err
}

// granted returns the addresses that a Service was granted, or nil if a wanted one is missing.
func granted(service *unstructured.Unstructured, want []netip.Addr) []string {
	var have []netip.Addr
	for _, u := range state.AddressUses(service) {
		if u.Granted {
			have = append(have, u.Address)
		}
	}
	if !sets.New(have...).HasAll(want...) {
		return nil
	}
	return addressTexts(have)
}

// squatters describes, by address of the run, the Services that use it and do not belong to its holder. It returns nil
// if it cannot read Services: the run has failed already.
func (l *Lease) squatters(ctx context.Context) map[netip.Addr][]string {
	services, err := l.X.Command.Cluster.Objects(ctx, kinds.Service.Resource(), "", metav1.ListOptions{})
	if err != nil {
		return nil
	}
	uses, out := map[netip.Addr][]state.Use{}, map[netip.Addr][]string{}
	for _, o := range services {
		for _, u := range state.ServiceUses(o) {
			uses[u.Address] = append(uses[u.Address], l.X.Snapshot.OfNamespace(u))
		}
	}
	for _, c := range l.Claims {
		if c == nil || c.Kind != state.Address {
			continue
		}
		for _, u := range c.Squatters(uses[c.Addr()]) {
			out[c.Addr()] = append(out[c.Addr()], u.Takes(c.Thing))
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
