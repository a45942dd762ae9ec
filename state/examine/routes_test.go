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
	run(t, "routes", []check{
		{name: "nothing shows whether it answers"},
		{name: "it answers", with: func(s *Seen) {
			s.Ingresses = found(ingress("akash-ingress-class", served), ingress("akash-ingress-class", "{}"), ingress("other", served))
		}},
		{name: "it has not answered", with: func(s *Seen) { s.Ingresses = found(ingress("akash-ingress-class", "{}"), ingress("other", served)) }},
		{name: "another class", with: func(s *Seen) { s.Config.Ingress.ClassName = "nginx" }},
		{name: "refused", with: func(s *Seen) { s.IngressClasses = refused[[]Object]("list", "ingressclasses") }},
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
	run(t, "routes", []check{
		{name: "programmed", with: gateway(programmed, accepted)},
		{name: "not programmed", with: gateway(`[{type: Accepted, status: "True"}, {type: Programmed, status: "False", reason: Pending}]`, accepted)},
		{name: "no controller", with: gateway(programmed, `{type: Accepted, status: Unknown, reason: Pending, message: Waiting for controller}`)},
		{name: "no class", with: gateway(programmed, "")},
		{name: "no listener", with: func(s *Seen) {
			gateway(programmed, accepted)(s)
			s.Config.Gateway.Listeners.HTTPS = []string{"https-wildcard", "tls", "more"}
		}},
		{name: "no Gateway", with: func(s *Seen) { s.Config.Target = config.TargetHTTPRoute }},
		{name: "no Gateway API", with: func(s *Seen) {
			s.Config.Target = config.TargetHTTPRoute
			s.Served = nil
		}},
	})
}

func TestOpenShift(t *testing.T) {
	route := func(s *Seen) { s.Config.Target = config.TargetRoute }
	run(t, "routes", []check{
		{name: "available", with: func(s *Seen) {
			route(s)
			s.Routers = found(`{metadata: {name: default, namespace: o}, status: {conditions: [{type: Available, status: "True"}]}}`)
		}},
		{name: "not available", with: func(s *Seen) { route(s); s.Routers = found(`{metadata: {name: default, namespace: o}}`) }},
		{name: "not OpenShift", with: func(s *Seen) { route(s); s.Served = nil }},
	})
}
