package render

import (
	"strconv"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// httpRoute routes a host as Akash's provider does in gateway mode (provider:
// cluster/kube/gateway). It names no listener, so it attaches to every one that accepts the host.
func (l *leased) httpRoute(r route) Object {
	parent := gwac.ParentReference().
		WithGroup(gwv1.Group(gwv1.GroupVersion.Group)).
		WithKind("Gateway").
		WithName(gwv1.ObjectName(l.cfg.Gateway.Name)).
		WithNamespace(gwv1.Namespace(l.cfg.Gateway.Namespace))
	rule := gwac.HTTPRouteRule().
		WithMatches(gwac.HTTPRouteMatch().WithPath(gwac.HTTPPathMatch().
			WithType(gwv1.PathMatchPathPrefix).
			WithValue("/"))).
		WithBackendRefs(gwac.HTTPBackendRef().
			WithName(gwv1.ObjectName(r.service)).
			WithPort(gwv1.PortNumber(r.port)))
	config := gwac.HTTPRoute(r.host, l.namespace).
		WithLabels(l.labels).
		WithAnnotations(l.httpRouteAnnotations(r.http)).
		WithSpec(gwac.HTTPRouteSpec().
			WithParentRefs(parent).
			WithHostnames(gwv1.Hostname(r.host)).
			WithRules(rule))
	return Object{Kind: HTTPRoute, Namespace: l.namespace, Name: r.host, Config: config}
}

// httpRouteAnnotations are the HTTP options as Akash's gateway provider writes them.
func (l *leased) httpRouteAnnotations(o lease.HTTPOptions) map[string]string {
	const prefix = "nginx.org/"
	a := l.annotations()
	a[prefix+"client-max-body-size"] = strconv.FormatUint(uint64(o.MaxBodySize), 10)
	a[prefix+"proxy-read-timeout"] = seconds(o.ReadTimeout)
	a[prefix+"proxy-send-timeout"] = seconds(o.SendTimeout)
	a[prefix+"proxy-next-upstream-tries"] = strconv.FormatUint(uint64(o.NextTries), 10)
	a[prefix+"proxy-next-upstream"] = nextCases(o.NextCases)
	if o.NextTimeout > 0 {
		a[prefix+"proxy-next-upstream-timeout"] = seconds(o.NextTimeout) + "s"
	}
	if size := l.cfg.Gateway.ProxyBufferSize; size != "" {
		a[prefix+"proxy-buffer-size"] = size
	}
	return a
}
