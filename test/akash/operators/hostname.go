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
		return follow(ctx, &o.operator, synced, source[connection]{resource: Hosts, scratch: true, read: connectionOf, handle: o.handle})
	})
}

func (o *hostnameOperator) handle(ctx context.Context, event watch.EventType, c connection) error {
	switch {
	case event == watch.Deleted:
		return o.deleted(ctx, c)
	case o.ignores(c.lease):
		return nil
	}
	err := o.connect(ctx, c)
	o.failed(c.lease, err != nil && (apierrors.IsNotFound(err) || strings.Contains(err.Error(), "not found")))
	return err
}

// connection is what a ProviderHost says.
type connection struct {
	host    string
	lease   lease.ID
	service string
	port    int64
}

// connectionOf reads a ProviderHost, whose name and labels do not matter. Addresses have to be right.
func connectionOf(ph *unstructured.Unstructured) (connection, error) {
	spec, _, _ := unstructured.NestedMap(ph.Object, "spec")
	text := func(field string) string { s, _ := spec[field].(string); return s }
	number := func(field string) int64 { n, _ := spec[field].(int64); return n }
	c := connection{
		host: text("hostname"), service: text("service_name"), port: number("external_port"),
		lease: lease.ID{Owner: text("owner"), DSeq: uint64(number("dseq")), GSeq: uint32(number("gseq")), OSeq: uint32(number("oseq")), Provider: text("provider")},
	}
	return c, errors.Join(address(c.lease.Owner), address(c.lease.Provider))
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

// routed is the host of an Ingress that has exactly one rule with one path, or the first of an HTTPRoute whose first rule
// leads to a port.
func (o *hostnameOperator) routed(r *unstructured.Unstructured) (host string, sound bool) {
	rules, _, _ := unstructured.NestedSlice(r.Object, "spec", "rules")
	if o.options.Gateway {
		hosts, _, _ := unstructured.NestedStringSlice(r.Object, "spec", "hostnames")
		if len(hosts) == 0 || len(rules) == 0 {
			return "", false
		}
		rule, _ := rules[0].(map[string]any)
		backends, _, _ := unstructured.NestedSlice(rule, "backendRefs")
		if len(backends) == 0 {
			return "", false
		}
		backend, _ := backends[0].(map[string]any)
		return hosts[0], backend["port"] != nil
	}
	if len(rules) != 1 {
		return "", false
	}
	rule, _ := rules[0].(map[string]any)
	host, _, _ = unstructured.NestedString(rule, "host")
	paths, _, _ := unstructured.NestedSlice(rule, "http", "paths")
	return host, len(paths) == 1
}

// connect routes the host of a ProviderHost that was added or changed.
func (o *hostnameOperator) connect(ctx context.Context, c connection) error {
	manifest, err := o.get(ctx, Manifests, o.options.ManifestNamespace, c.lease.Namespace())
	switch {
	case err != nil:
		return err
	case manifest == nil:
		return fmt.Errorf("%w: manifest for %s", errNotFound, c.lease)
	}
	expose, found := exposes(manifest, c.service, c.port)
	if !found {
		return fmt.Errorf("%w: no service expose for %s:%d of %s", errNotFound, c.service, c.port, c.lease)
	}
	if before, routed := o.connected[c.host]; routed && before != c.lease {
		if err := o.remove(ctx, c.host, before, false); err != nil {
			return err
		}
		delete(o.connected, c.host)
	}
	if err := o.route(ctx, c, optionsOf(expose)); err != nil {
		return err
	}
	o.connected[c.host] = c.lease
	return nil
}

// exposes is the global port of a service with instances in the Manifest.
func exposes(manifest *unstructured.Unstructured, service string, port int64) (map[string]any, bool) {
	services, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "group", "services")
	for _, v := range services {
		s, _ := v.(map[string]any)
		if s["name"] != service {
			continue
		}
		if count, _ := s["count"].(int64); count == 0 {
			return nil, false
		}
		list, _, _ := unstructured.NestedSlice(s, "expose")
		for _, v := range list {
			e, _ := v.(map[string]any)
			external, _ := e["external_port"].(int64)
			if external == 0 {
				external, _ = e["port"].(int64)
			}
			if e["global"] == true && external == port {
				return e, true
			}
		}
		return nil, false
	}
	return nil, false
}

func (o *hostnameOperator) deleted(ctx context.Context, c connection) error {
	if err := o.remove(ctx, c.host, c.lease, true); err != nil {
		return err
	}
	delete(o.connected, c.host)
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
func (o *hostnameOperator) route(ctx context.Context, c connection, h HTTPOptions) error {
	if o.options.Gateway {
		return o.put(ctx, HTTPRoutes, httpRoute(c, h))
	}
	return o.put(ctx, Ingresses, ingress(c, h))
}

// optionsOf are the HTTP options of a port of the Manifest, or the operator's own defaults where it has none.
func optionsOf(expose map[string]any) HTTPOptions {
	of, _, _ := unstructured.NestedMap(expose, "http_options")
	number := func(field string) int64 { n, _ := of[field].(int64); return n }
	if number("max_body_size") == 0 {
		return HTTPOptions{MaxBodySize: 1048576, ReadTimeout: 60000, SendTimeout: 60000, NextTries: 3, NextTimeout: 60000, NextCases: []string{"error", "timeout"}}
	}
	cases, _, _ := unstructured.NestedStringSlice(of, "next_cases")
	return HTTPOptions{
		MaxBodySize: number("max_body_size"), ReadTimeout: number("read_timeout"), SendTimeout: number("send_timeout"),
		NextTries: number("next_tries"), NextTimeout: number("next_timeout"), NextCases: cases,
	}
}

// seconds rounds milliseconds up.
func seconds(ms int64) int64 { return (ms + 999) / 1000 }

// cases are the cases in which the next server is tried, as nginx names them.
func (h HTTPOptions) cases() string {
	named := make([]string, len(h.NextCases))
	for i, c := range h.NextCases {
		if strings.ContainsAny(c[:1], "12345") {
			c = "http_" + c
		}
		named[i] = c
	}
	return strings.Join(named, " ")
}

// ingress is what a host is routed by.
func ingress(c connection, h HTTPOptions) *unstructured.Unstructured {
	return object(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
		metadata: {name: %q, namespace: %s, labels: {%s}, annotations: {
			nginx.ingress.kubernetes.io/proxy-read-timeout: "%d", nginx.ingress.kubernetes.io/proxy-send-timeout: "%d",
			nginx.ingress.kubernetes.io/proxy-next-upstream-tries: "%d", nginx.ingress.kubernetes.io/proxy-body-size: "%d",
			nginx.ingress.kubernetes.io/proxy-next-upstream-timeout: "%d", nginx.ingress.kubernetes.io/proxy-next-upstream: %q}},
		spec: {ingressClassName: akash-ingress-class, rules: [{host: %q, http: {paths: [
			{path: /, pathType: Prefix, backend: {service: {name: %s, port: {number: %d}}}}]}}]}}`,
		c.host, c.lease.Namespace(), labels(c.lease),
		seconds(h.ReadTimeout), seconds(h.SendTimeout), h.NextTries, h.MaxBodySize, seconds(h.NextTimeout), h.cases(),
		c.host, c.service, c.port)
}

// httpRoute is the same in gateway mode.
func httpRoute(c connection, h HTTPOptions) *unstructured.Unstructured {
	more := ""
	if h.NextTimeout > 0 {
		more += fmt.Sprintf(`, nginx.org/proxy-next-upstream-timeout: "%ds"`, seconds(h.NextTimeout))
	}
	if len(h.NextCases) > 0 {
		more += fmt.Sprintf(`, nginx.org/proxy-next-upstream: %q`, h.cases())
	}
	return object(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
		metadata: {name: %q, namespace: %s, labels: {%s}, annotations: {
			nginx.org/client-max-body-size: "%d", nginx.org/proxy-read-timeout: "%d", nginx.org/proxy-send-timeout: "%d",
			nginx.org/proxy-next-upstream-tries: "%d", nginx.org/proxy-buffer-size: 16k%s}},
		spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: akash-gateway, namespace: akash-gateway}],
			hostnames: [%q], rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: %s, port: %d}]}]}}`,
		c.host, c.lease.Namespace(), labels(c.lease),
		h.MaxBodySize, seconds(h.ReadTimeout), seconds(h.SendTimeout), h.NextTries, more, c.host, c.service, c.port)
}
