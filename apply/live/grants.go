package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Granted waits until the status of each Service of the lease has the addresses that were leased for it (in pool mode: any
// address): only the status shows that MetalLB has granted them. It returns those that MetalLB has chosen in pool mode.
func (l *Lease) Granted(ctx context.Context) (chosen []string, err error) {
	services := slices.DeleteFunc(slices.Clone(l.Desired), func(o render.Object) bool { return o.Kind != kinds.Service })
	slices.SortFunc(services, func(a, b render.Object) int { return cmp.Compare(a.Name, b.Name) })
	has := map[string]bool{}
	err = l.await(ctx, services, naming("MetalLB to grant the addresses of "), func(o render.Object, live *unstructured.Unstructured) (string, report.Event, error) {
		addresses := granted(live, wantedOf(o))
		if len(addresses) == 0 {
			return toBeGranted(o, nil), report.Event{}, nil
		}
		if has[o.Name] = true; l.X.Command.Options.Config.IP.Mode == config.ModePool {
			chosen = append(chosen, addresses...)
		}
		return "", report.Event{Action: report.Granted, Message: strings.Join(addresses, ", ")}, nil
	})
	if late, ok := errors.AsType[*report.TimeoutError](err); ok {
		squatters := l.squatters(ctx)
		late.Waiting = nil
		for _, o := range services {
			if !has[o.Name] {
				late.Waiting = append(late.Waiting, toBeGranted(o, squatters))
			}
		}
	}
	return chosen, err
}

// wantedOf returns the addresses that were leased for a rendered Service.
func wantedOf(o render.Object) (want []netip.Addr) {
	for _, u := range state.AddressUses(render.Rendered(o)) {
		want = append(want, u.Address)
	}
	return want
}

// granted returns the addresses that a Service was granted, or nil if a wanted one is missing.
func granted(service *unstructured.Unstructured, want []netip.Addr) []string {
	if service == nil {
		return nil
	}
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

// toBeGranted describes a Service that waits for its addresses, and who uses these.
func toBeGranted(o render.Object, squatters map[netip.Addr][]string) string {
	want, why := wantedOf(o), ""
	var others []string
	for _, a := range want {
		others = append(others, squatters[a]...)
	}
	if len(others) > 0 {
		why = ": " + strings.Join(others, ", ")
	}
	return fmt.Sprintf("service %s/%s to be granted %s by MetalLB%s (see: kubectl -n %s describe service %s)",
		o.Namespace, o.Name, cmp.Or(strings.Join(addressTexts(want), ", "), "an address"), why, o.Namespace, o.Name)
}

func addressTexts(addresses []netip.Addr) []string {
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = a.String()
	}
	return texts
}
