package operators

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// hostnameOperator makes a route of each ProviderHost.
type hostnameOperator struct {
	operator
	// connected is the lease for which a host is routed, as this turn of the loop knows it.
	connected map[string]lease.ID
}

var (
	errConnection = errors.New("the hostname connection is invalid")
	errNotFound   = errors.New("resource not found")
)

func (o *hostnameOperator) run(ctx context.Context, synced func()) {
	o.loop(ctx, synced, func(ctx context.Context) error {
		if err := o.connections(ctx); err != nil {
			return err
		}
		return o.follow(ctx, Hosts, synced, func(ctx context.Context, event watch.EventType, ph *unstructured.Unstructured) error {
			if event == watch.Deleted {
				return o.deleted(ctx, ph)
			}
			return o.applied(ctx, ph)
		})
	})
}

func (o *hostnameOperator) routes() schema.GroupVersionResource {
	if o.options.Gateway {
		return HTTPRoutes
	}
	return Ingresses
}

// connections reads what is routed. One route of another form stops the operator.
func (o *hostnameOperator) connections(ctx context.Context) error {
	o.connected = map[string]lease.ID{}
	list, err := o.client.Resource(o.routes()).List(ctx, metav1.ListOptions{LabelSelector: o.selector()})
	if err != nil {
		return err
	}
	for i := range list.Items {
		r := &list.Items[i]
		id, labelled := lease.IDFromLabels(r.GetLabels())
		host, sound := o.routed(r)
		if !labelled || !sound {
			return fmt.Errorf("%w: %s/%s", errConnection, r.GetNamespace(), r.GetName())
		}
		o.connected[host] = id
	}
	return nil
}

// routed is the host of a route that has exactly one rule with one path, or one rule of one host.
func (o *hostnameOperator) routed(r *unstructured.Unstructured) (host string, sound bool) {
	rules, _, _ := unstructured.NestedSlice(r.Object, "spec", "rules")
	if len(rules) != 1 {
		return "", false
	}
	if o.options.Gateway {
		hosts, _, _ := unstructured.NestedStringSlice(r.Object, "spec", "hostnames")
		if len(hosts) != 1 {
			return "", false
		}
		return hosts[0], true
	}
	rule, _ := rules[0].(map[string]any)
	host, _, _ = unstructured.NestedString(rule, "host")
	paths, _, _ := unstructured.NestedSlice(rule, "http", "paths")
	return host, len(paths) == 1
}

// applied routes the host of a ProviderHost that was added or changed.
func (o *hostnameOperator) applied(ctx context.Context, ph *unstructured.Unstructured) error {
	id, ok := lease.IDFromLabels(ph.GetLabels())
	if !ok {
		return fmt.Errorf("providerhost %s has not the labels of a lease", ph.GetName())
	}
	if o.ignores(id) {
		return nil
	}
	err := o.connect(ctx, ph.GetName(), id, ph)
	o.failed(id, err != nil && (apierrors.IsNotFound(err) || strings.Contains(err.Error(), "not found")))
	return err
}

func (o *hostnameOperator) connect(ctx context.Context, host string, id lease.ID, ph *unstructured.Unstructured) error {
	service, _, _ := unstructured.NestedString(ph.Object, "spec", "service_name")
	port, _, _ := unstructured.NestedInt64(ph.Object, "spec", "external_port")
	manifest, err := o.get(ctx, Manifests, o.options.ManifestNamespace, id.Namespace())
	switch {
	case err != nil:
		return err
	case manifest == nil:
		return fmt.Errorf("%w: manifest for %s", errNotFound, id)
	case !exposes(manifest, service, port):
		return fmt.Errorf("%w: no service expose for %s:%d of %s", errNotFound, service, port, id)
	}
	if before, routed := o.connected[host]; routed && before != id {
		if err := o.remove(ctx, host, before, false); err != nil {
			return err
		}
	}
	if err := o.route(ctx, host, id, service, port); err != nil {
		return err
	}
	o.connected[host] = id
	return nil
}

// exposes is true where the Manifest has the service, with instances, and a global port.
func exposes(manifest *unstructured.Unstructured, service string, port int64) bool {
	services, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "group", "services")
	for _, v := range services {
		s, _ := v.(map[string]any)
		if count, _ := s["count"].(int64); s["name"] != service || count == 0 {
			continue
		}
		list, _, _ := unstructured.NestedSlice(s, "expose")
		for _, v := range list {
			e, _ := v.(map[string]any)
			external, _ := e["external_port"].(int64)
			if external == 0 {
				external, _ = e["port"].(int64)
			}
			if e["global"] == true && external == port {
				return true
			}
		}
		return false
	}
	return false
}

func (o *hostnameOperator) deleted(ctx context.Context, ph *unstructured.Unstructured) error {
	id, ok := lease.IDFromLabels(ph.GetLabels())
	if !ok {
		return fmt.Errorf("providerhost %s has not the labels of a lease", ph.GetName())
	}
	if err := o.remove(ctx, ph.GetName(), id, true); err != nil {
		return err
	}
	delete(o.connected, ph.GetName())
	return nil
}

// remove deletes a host's route: an Ingress by the lease's labels, so that one that is not there is no
// error; an HTTPRoute by its name, whatever its labels.
func (o *hostnameOperator) remove(ctx context.Context, host string, id lease.ID, allowMissing bool) error {
	in := o.client.Resource(o.routes()).Namespace(id.Namespace())
	if !o.options.Gateway {
		return in.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{
			LabelSelector: leaseSelector(id), FieldSelector: "metadata.name=" + host,
		})
	}
	err := in.Delete(ctx, host, metav1.DeleteOptions{})
	if allowMissing && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// route makes the route, or writes the whole of it over the one that is there.
func (o *hostnameOperator) route(ctx context.Context, host string, id lease.ID, service string, port int64) error {
	made := ingress(host, id, service, port)
	if o.options.Gateway {
		made = httpRoute(host, id, service, port)
	}
	live, err := o.get(ctx, o.routes(), made.GetNamespace(), host)
	if err != nil {
		return err
	}
	if live == nil {
		return o.create(ctx, o.routes(), made)
	}
	return o.replace(ctx, o.routes(), live, made)
}

// ingress is what a host is routed by, with the default HTTP options.
func ingress(host string, id lease.ID, service string, port int64) *unstructured.Unstructured {
	return object(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
		metadata: {name: %q, namespace: %s, labels: {%s}, annotations: {
			nginx.ingress.kubernetes.io/proxy-read-timeout: "60", nginx.ingress.kubernetes.io/proxy-send-timeout: "60",
			nginx.ingress.kubernetes.io/proxy-next-upstream-tries: "3", nginx.ingress.kubernetes.io/proxy-body-size: "1048576",
			nginx.ingress.kubernetes.io/proxy-next-upstream-timeout: "0", nginx.ingress.kubernetes.io/proxy-next-upstream: "error timeout"}},
		spec: {ingressClassName: akash-ingress-class, rules: [{host: %q, http: {paths: [
			{path: /, pathType: Prefix, backend: {service: {name: %s, port: {number: %d}}}}]}}]}}`,
		host, id.Namespace(), labels(id), host, service, port)
}

// httpRoute is the same in gateway mode.
func httpRoute(host string, id lease.ID, service string, port int64) *unstructured.Unstructured {
	return object(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {name: %q, namespace: %s, labels: {%s}, annotations: {
			nginx.org/client-max-body-size: "1048576", nginx.org/proxy-read-timeout: "60", nginx.org/proxy-send-timeout: "60",
			nginx.org/proxy-next-upstream-tries: "3", nginx.org/proxy-next-upstream: "error timeout", nginx.org/proxy-buffer-size: 16k}},
		spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: akash-gateway, namespace: akash-gateway}],
			hostnames: [%q], rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: %s, port: %d}]}]}}`,
		host, id.Namespace(), labels(id), host, service, port)
}
