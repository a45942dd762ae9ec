package apply

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// renderRecords renders the records with the values that the cluster publishes. Fresh ones are read
// now; else what was read at the beginning counts, and the Gateway, which that has not.
func (r *run) renderRecords(ctx context.Context, def *lease.Definition, fresh bool) (render.DNS, error) {
	records, err := render.Records(def, r.opts.Config, r.addresses, nil)
	if err != nil || len(records.Unknown) == 0 {
		return records, err
	}
	look := looker{run: r, fresh: fresh}
	published := render.Published{}
	for _, h := range records.Unknown {
		if published[h.Name], err = look.target(ctx, h); err != nil {
			return records, err
		}
	}
	return render.Records(def, r.opts.Config, r.addresses, published)
}

// looker finds where hosts are reached.
type looker struct {
	*run
	fresh bool
}

// gatewayCache is what the Gateway says, once it was read.
type gatewayCache struct {
	mu     sync.Mutex
	target *dns.Target
}

func (l *looker) target(ctx context.Context, h render.UnknownHost) (dns.Target, error) {
	switch {
	case h.Source == config.FromAddress:
		return l.granted(ctx, h.Endpoint)
	case h.Target == config.TargetHTTPRoute:
		return l.gatewayTarget(ctx)
	case h.Target == config.TargetRoute:
		return l.routeTarget(ctx, h.Name)
	}
	return l.ingressTarget(ctx, h.Name)
}

// granted are the addresses that MetalLB has granted to the lease's Services of an endpoint.
func (l *looker) granted(ctx context.Context, endpoint string) (dns.Target, error) {
	services, namespace := sortedValues(l.snapshot.live[kinds.Service.Plural]), l.req.Lease.Namespace()
	if l.fresh {
		var err error
		if services, err = l.cluster.Objects(ctx, kinds.Service.Resource(), namespace, metav1.ListOptions{LabelSelector: kinds.LeasedPort}); err != nil {
			return dns.Target{}, err
		}
	}
	var t dns.Target
	for _, s := range services {
		for _, u := range state.AddressUses(s) {
			if u.Granted && u.Namespace == namespace && u.SharingKey == lease.SharingKey(l.group.Owner, endpoint) {
				t.Addresses = append(t.Addresses, u.Address)
			}
		}
	}
	return t, nil
}

func (l *looker) gatewayTarget(ctx context.Context) (dns.Target, error) {
	cache := &l.snapshot.gateway
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.target != nil && !l.fresh {
		return *cache.target, nil
	}
	g := l.opts.Config.Gateway
	o, err := l.cluster.Get(ctx, kinds.Gateway, g.Namespace, g.Name)
	if err != nil {
		return dns.Target{}, err
	}
	t := dns.Target{}
	if o != nil {
		t = published(o, "status", "addresses")
	}
	cache.target = &t
	return t, nil
}

// ingressTarget is what the controller has written into the host's Ingress. It writes the same into
// all of a class, as a rule, so an Ingress that it has not seen yet will get what the others have, if
// they agree.
func (l *looker) ingressTarget(ctx context.Context, host string) (dns.Target, error) {
	own, err := l.ownRoute(ctx, kinds.Ingress, host)
	if err != nil {
		return dns.Target{}, err
	}
	class, path := l.opts.Config.Ingress.ClassName, []string{"status", "loadBalancer", "ingress"}
	if own != nil {
		if t := published(own, path...); !t.Empty() {
			return t, nil
		}
	}
	var found dns.Target
	for _, o := range l.snapshot.live[kinds.Ingress.Plural] {
		t := published(o, path...)
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

// ownRoute is the lease's route of the host's root, or nil.
func (l *looker) ownRoute(ctx context.Context, kind kinds.Kind, host string) (*unstructured.Unstructured, error) {
	name := lease.RouteName(host, "/")
	if l.fresh {
		return l.cluster.Get(ctx, kind, l.req.Lease.Namespace(), name)
	}
	return l.snapshot.live[kind.Plural][l.req.Lease.Namespace()+"/"+name], nil
}

// routeTarget is the name by which OpenShift's router says that it is reached.
func (l *looker) routeTarget(ctx context.Context, host string) (dns.Target, error) {
	own, err := l.ownRoute(ctx, kinds.Route, host)
	if own == nil || err != nil {
		return dns.Target{}, err
	}
	return published(own, "status", "ingress"), nil
}

// published reads a list of addresses in a status: of a Gateway ({type, value}), or of an Ingress or
// a Service ({ip} or {hostname}), or of a Route ({routerCanonicalHostname}).
func published(o *unstructured.Unstructured, path ...string) dns.Target {
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

// unknownText says for what a record waits.
func (r *run) unknownText(h render.UnknownHost) string {
	switch {
	case h.Source == config.FromAddress:
		return "its record is written once MetalLB has granted an address; apply again"
	case h.Target == config.TargetRoute:
		return "its record is written once a router has said in the Route's status where it is reached; apply again"
	case h.Target == config.TargetHTTPRoute:
		g := r.opts.Config.Gateway
		return fmt.Sprintf("its record is written once Gateway %s/%s has an address in its status; apply again", g.Namespace, g.Name)
	}
	return "its record is written once the ingress controller has said in the Ingress' status where it is reached; apply again"
}

func sortedValues[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, key := range sortedKeys(m) {
		out = append(out, m[key])
	}
	return out
}
