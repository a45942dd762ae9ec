// Package published reads the addresses and host names at which routers are reached, as the cluster publishes them: the
// addresses that MetalLB has assigned, and the status of Gateways, Ingresses and Routes.
package published

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Reader finds the targets of a lease's hosts.
type Reader struct {
	Cluster *cluster.Cluster
	Config  *config.ProviderConfig
	Lease   lease.ID
	// Live are the objects as they were read. Fresh reads them again instead.
	Live  *observed.Snapshot
	Fresh bool
}

// Targets returns the targets of hosts, by the names of their records.
func (r *Reader) Targets(ctx context.Context, unknown []render.UnknownHost) (render.Published, error) {
	targets := render.Published{}
	for _, h := range unknown {
		var err error
		if targets[h.Name], err = r.Target(ctx, h); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// Target returns the target of a host. It is empty if it is not published yet.
func (r *Reader) Target(ctx context.Context, h render.UnknownHost) (dns.Target, error) {
	switch {
	case h.Source == config.FromAddress:
		return r.granted(ctx, h.Endpoint)
	case h.Target == config.TargetHTTPRoute:
		return r.GatewayTarget(ctx)
	case h.Target == config.TargetRoute:
		return r.routeTarget(ctx, h.Name)
	}
	return r.ingressTarget(ctx, h.Name)
}

// granted returns the addresses that MetalLB has assigned to the lease's Services of an endpoint.
func (r *Reader) granted(ctx context.Context, endpoint string) (dns.Target, error) {
	namespace := r.Lease.Namespace()
	var services []*unstructured.Unstructured
	if !r.Fresh {
		services = slices.Collect(r.Live.Of(kinds.Service))
	} else {
		var err error
		opts := metav1.ListOptions{LabelSelector: kinds.LeasedPort}
		if services, err = r.Cluster.Objects(ctx, kinds.Service.Resource(), namespace, opts); err != nil {
			return dns.Target{}, err
		}
	}
	var t dns.Target
	for _, s := range services {
		for _, u := range state.AddressUses(s) {
			if u.Granted && u.Namespace == namespace && u.SharingKey == lease.SharingKey(r.Lease.Owner, endpoint) {
				t.Addresses = append(t.Addresses, u.Address)
			}
		}
	}
	return t, nil
}

// GatewayTarget returns the target of the configured Gateway.
func (r *Reader) GatewayTarget(ctx context.Context) (dns.Target, error) {
	return r.Live.Gateway.Target(r.Fresh, func() (dns.Target, error) {
		o, err := r.Cluster.Get(ctx, kinds.Gateway, r.Config.Gateway.Namespace, r.Config.Gateway.Name)
		if o == nil || err != nil {
			return dns.Target{}, err
		}
		return In(o, "status", "addresses"), nil
	})
}

// ingressTarget returns the target in the status of the host's Ingress. A controller usually writes the same into all
// Ingresses of a class. So for an Ingress that it has not processed yet, ingressTarget returns the target of the
// others, if they agree.
func (r *Reader) ingressTarget(ctx context.Context, host string) (dns.Target, error) {
	own, err := r.ownRoute(ctx, kinds.Ingress, host)
	if err != nil {
		return dns.Target{}, err
	}
	class, path := r.Config.Ingress.ClassName, []string{"status", "loadBalancer", "ingress"}
	if own != nil {
		if t := In(own, path...); !t.Empty() {
			return t, nil
		}
	}
	var found dns.Target
	for o := range r.Live.Of(kinds.Ingress) {
		t := In(o, path...)
		name, _, _ := unstructured.NestedString(o.Object, "spec", "ingressClassName")
		switch {
		case name != class || t.Empty():
		case found.Empty():
			found = t
		case fmt.Sprint(found) != fmt.Sprint(t):
			return dns.Target{}, nil
		}
	}
	return found, nil
}

// ownRoute returns the lease's route for the host's root path, or nil.
func (r *Reader) ownRoute(ctx context.Context, kind kinds.Kind, host string) (*unstructured.Unstructured, error) {
	name := lease.RouteName(host, "/")
	if r.Fresh {
		return r.Cluster.Get(ctx, kind, r.Lease.Namespace(), name)
	}
	return r.Live.At(kind, r.Lease.Namespace(), name), nil
}

// routeTarget returns the canonical host name of OpenShift's router in the status of the host's Route.
func (r *Reader) routeTarget(ctx context.Context, host string) (dns.Target, error) {
	own, err := r.ownRoute(ctx, kinds.Route, host)
	if own == nil || err != nil {
		return dns.Target{}, err
	}
	return In(own, "status", "ingress"), nil
}

// In parses a list of addresses in a status: of a Gateway ({type, value}), an Ingress or a Service ({ip} or
// {hostname}), or a Route ({routerCanonicalHostname}).
func In(o *unstructured.Unstructured, path ...string) dns.Target {
	list, _, _ := unstructured.NestedSlice(o.Object, path...)
	var values []string
	for _, e := range list {
		m, _ := e.(map[string]any)
		for _, name := range []string{"value", "ip", "hostname", "routerCanonicalHostname"} {
			if v, ok := m[name].(string); ok && v != "" {
				values = append(values, v)
				break
			}
		}
	}
	return dns.ParseTarget(values)
}
