package render

import (
	"strconv"
	"strings"
	"time"

	netv1 "k8s.io/api/networking/v1"
	netac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// ingress routes a host as Akash's provider does in ingress mode (provider:
// cluster/kube/client_ingress.go). Its hostname operator stops at an Ingress with more than one
// rule or path.
func (l *leased) ingress(r route) Object {
	backend := netac.IngressBackend().WithService(netac.IngressServiceBackend().
		WithName(r.service).
		WithPort(netac.ServiceBackendPort().WithNumber(int32(r.port))))
	path := netac.HTTPIngressPath().
		WithPath("/").
		WithPathType(netv1.PathTypePrefix).
		WithBackend(backend)
	config := netac.Ingress(r.host, l.namespace).
		WithLabels(l.labels).
		WithAnnotations(l.ingressAnnotations(r.http)).
		WithSpec(netac.IngressSpec().
			WithIngressClassName(l.cfg.Ingress.ClassName).
			WithRules(netac.IngressRule().
				WithHost(r.host).
				WithHTTP(netac.HTTPIngressRuleValue().WithPaths(path))))
	return Object{Kind: Ingress, Namespace: l.namespace, Name: r.host, Config: config}
}

// ingressAnnotations are the HTTP options for ingress-nginx. All are always there.
func (l *leased) ingressAnnotations(o lease.HTTPOptions) map[string]string {
	const prefix = "nginx.ingress.kubernetes.io/"
	a := l.annotations()
	a[prefix+"proxy-body-size"] = strconv.FormatUint(uint64(o.MaxBodySize), 10)
	a[prefix+"proxy-read-timeout"] = seconds(o.ReadTimeout)
	a[prefix+"proxy-send-timeout"] = seconds(o.SendTimeout)
	a[prefix+"proxy-next-upstream"] = nextCases(o.NextCases)
	a[prefix+"proxy-next-upstream-timeout"] = seconds(o.NextTimeout)
	a[prefix+"proxy-next-upstream-tries"] = strconv.FormatUint(uint64(o.NextTries), 10)
	return a
}

// seconds are whole seconds, rounded up: nginx knows no smaller unit here, and 0 would mean
// something else.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// nextCases is the list in nginx's spelling, in which an HTTP status has a prefix.
func nextCases(cases []string) string {
	texts := make([]string, len(cases))
	for i, c := range cases {
		if c != "" && c[0] >= '1' && c[0] <= '5' {
			c = "http_" + c
		}
		texts[i] = c
	}
	return strings.Join(texts, " ")
}
