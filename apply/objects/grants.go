package objects

import (
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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// AwaitGrants waits until each Service of the lease has, in its status, the addresses that were leased
// for it (in pool mode: an address). Nothing else means that MetalLB has granted them.
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
		live := r.Snapshot.Live[kinds.Service.Plural][r.Request.Lease.Namespace()+"/"+name]
		if !r.Changed() && live != nil && r.granted(live, want) {
			delete(waiting, name)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, max(r.Left(), min(r.Options.Wait, time.Second))) // time for one look
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
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &report.TimeoutError{After: r.Options.Wait.Round(time.Millisecond), Waiting: r.lacking(waiting, r.squatters(whole))}
	}
	return err
}

// granted tells of the addresses of a Service when it has all that are wanted.
func (r *Objects) granted(service *unstructured.Unstructured, want []netip.Addr) bool {
	var have []netip.Addr
	for _, u := range state.AddressUses(service) {
		if u.Granted {
			have = append(have, u.Address)
		}
	}
	for _, a := range want {
		if !slices.Contains(have, a) {
			return false
		}
	}
	if len(have) == 0 {
		return false
	}
	if r.Options.Config.IP.Mode == config.ModePool {
		r.granting.Lock()
		for _, a := range have {
			r.grants = append(r.grants, a.String())
		}
		r.granting.Unlock()
	}
	if !r.Changed() {
		return true
	}
	r.Event(report.Granted, kinds.Service.Singular, service.GetNamespace(), service.GetName(), addressText(have))
	return true
}

// squatters says of the addresses of the run which Services use them that are not their holders'. It tells
// nothing where Services cannot be read: the run has failed already.
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

func (r *Objects) lacking(waiting map[string][]netip.Addr, squatters map[netip.Addr][]string) []string {
	var out []string
	for name, want := range waiting {
		text := addressText(want)
		if text == "" {
			text = "an address"
		}
		var others []string
		for _, a := range want {
			others = append(others, squatters[a]...)
		}
		why := ""
		if len(others) > 0 {
			why = ": " + strings.Join(others, ", ")
		}
		out = append(out, fmt.Sprintf("service %s/%s to be granted %s by MetalLB%s (see: kubectl -n %s describe service %s)",
			r.Request.Lease.Namespace(), name, text, why, r.Request.Lease.Namespace(), name))
	}
	slices.Sort(out)
	return out
}

func addressText(as []netip.Addr) string {
	texts := make([]string, len(as))
	for i, a := range as {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}
