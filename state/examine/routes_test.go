package examine

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

func TestIngresses(t *testing.T) {
	ingress := func(class, status string) string {
		return "{kind: Ingress, metadata: {name: a}, spec: {ingressClassName: " + class + "}, status: " + status + "}"
	}
	const served = `{loadBalancer: {ingress: [{ip: 192.0.2.1}]}}`
	const is = "IngressClass akash-ingress-class names controller k8s.io/ingress-nginx"
	run(t, "routes", []check{
		{name: "nothing shows whether it answers", want: "ok: " + is + "; no Ingress has the class yet, which would show whether it answers"},
		{name: "it answers", with: func(s *Seen) {
			s.Ingresses = found(ingress("akash-ingress-class", served), ingress("akash-ingress-class", "{}"), ingress("other", served))
		}, want: "ok: " + is + "; 1 of the 2 Ingresses seen with this class have an address in their status"},
		{name: "it has not answered", with: func(s *Seen) { s.Ingresses = found(ingress("akash-ingress-class", "{}"), ingress("other", served)) },
			want: "warning: " + is + "; none of the 1 Ingresses seen with this class has an address in its status\n  check that the controller runs"},
		{name: "another class", with: func(s *Seen) { s.Config.Ingress.ClassName = "nginx" },
			want: "problem: there is no IngressClass nginx (ingress.className); there are akash-ingress-class\n  install its ingress controller, or configure another ingress.className"},
		{name: "refused", with: func(s *Seen) { s.IngressClasses = refused[[]Object]("list", "ingressclasses") },
			want: "unknown: you may not list ingressclasses\n  no role of this program allows it; let a cluster administrator run doctor"},
	})
}

func TestGateway(t *testing.T) {
	gateway := func(conditions, class string) func(*Seen) {
		return func(s *Seen) {
			s.Config.Target = config.TargetHTTPRoute
			s.Gateway.Value = object(`{kind: Gateway, metadata: {name: akash-gateway, namespace: akash-gateway}, spec: {gatewayClassName: nginx,
				listeners: [{name: http}, {name: https-wildcard}, {name: https-custom}]}, status: {conditions: ` + conditions + `}}`)
			if class != "" {
				s.GatewayClass.Value = object(`{kind: GatewayClass, spec: {controllerName: nginx.org/c}, status: {conditions: [` + class + `]}}`)
			}
		}
	}
	const accepted, programmed = `{type: Accepted, status: "True"}`, `[{type: Accepted, status: "True"}, {type: Programmed, status: "True"}]`
	const class, served = "ok: GatewayClass nginx is accepted by nginx.org/c\n", "ok: Gateway akash-gateway/akash-gateway is programmed"
	run(t, "routes", []check{
		{name: "programmed", with: gateway(programmed, accepted), want: class + served},
		{name: "not programmed", with: gateway(`[{type: Accepted, status: "True"}, {type: Programmed, status: "False", reason: Pending}]`, accepted),
			want: class + "problem: Gateway akash-gateway/akash-gateway is not Programmed (Pending)\n  kubectl -n akash-gateway describe gateway akash-gateway"},
		{name: "no controller", with: gateway(programmed, `{type: Accepted, status: Unknown, reason: Pending, message: Waiting for controller}`),
			want: "problem: no controller has accepted GatewayClass nginx (Pending: Waiting for controller)\n  kubectl describe gatewayclass nginx\n" + served},
		{name: "no class", with: gateway(programmed, ""),
			want: "problem: there is no GatewayClass nginx, which the Gateway names\n  install its controller, or name another class in the Gateway\n" + served},
		{name: "no listener", with: func(s *Seen) {
			gateway(programmed, accepted)(s)
			s.Config.Gateway.Listeners.HTTPS = []string{"https-wildcard", "tls", "more"}
		}, want: class + served + "\nwarning: the Gateway has no listener tls and more (gateway.listeners.https): routes that need them are not accepted\n  add them to the Gateway, or change gateway.listeners.https"},
		{name: "no Gateway", with: func(s *Seen) { s.Config.Target = config.TargetHTTPRoute },
			want: "problem: there is no Gateway akash-gateway/akash-gateway\n  create it, or configure gateway.name and gateway.namespace"},
		{name: "no Gateway API", with: func(s *Seen) {
			s.Config.Target = config.TargetHTTPRoute
			s.Served = nil
		}, want: "problem: gateways.gateway.networking.k8s.io is not installed\n  install the Gateway API (https://gateway-api.sigs.k8s.io), or configure target ingress\n" +
			"problem: httproutes.gateway.networking.k8s.io is not installed\n  install the Gateway API (https://gateway-api.sigs.k8s.io), or configure target ingress"},
	})
}

func TestOpenShift(t *testing.T) {
	route := func(s *Seen) { s.Config.Target = config.TargetRoute }
	run(t, "routes", []check{
		{name: "available", with: func(s *Seen) {
			route(s)
			s.Routers = found(`{metadata: {name: default, namespace: o}, status: {conditions: [{type: Available, status: "True"}]}}`)
		}, want: "ok: IngressController o/default is available"},
		{name: "not available", with: func(s *Seen) { route(s); s.Routers = found(`{metadata: {name: default, namespace: o}}`) },
			want: "problem: IngressController o/default is not available\n  kubectl -n o describe ingresscontroller default"},
		{name: "not OpenShift", with: func(s *Seen) { route(s); s.Served = nil },
			want: "problem: routes.route.openshift.io is not installed\n  OpenShift brings it; configure target ingress or httproute elsewhere"},
	})
}
