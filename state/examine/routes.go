package examine

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// routes checks the configured kind of routes, and whether somebody serves it.
func (s *Seen) routes() []Line {
	switch s.Config.Target {
	case config.TargetHTTPRoute:
		return s.gatewayRoutes()
	case config.TargetRoute:
		return s.openShiftRoutes()
	}
	return s.ingresses()
}

// ingresses checks the IngressClass. Whether its controller answers is seen only by what it writes into the status of Ingresses.
func (s *Seen) ingresses() []Line {
	name := s.Config.Ingress.ClassName
	mend := "install its ingress controller, or configure another ingress.className"
	switch class := named(s.IngressClasses.Value, name); {
	case s.IngressClasses.Unread != nil:
		return []Line{s.unknown(s.IngressClasses.Unread)}
	case class == nil && len(s.IngressClasses.Value) == 0:
		return []Line{problem(mend, "there is no IngressClass %s (ingress.className), nor another one", name)}
	case class == nil:
		return []Line{problem(mend, "there is no IngressClass %s (ingress.className); there are %s", name, some(names(s.IngressClasses.Value)))}
	default:
		return s.ingressController(name, text(class, "spec", "controller"))
	}
}

func (s *Seen) ingressController(class, controller string) []Line {
	is := fmt.Sprintf("IngressClass %s names controller %s", class, controller)
	if s.Ingresses.Unread != nil {
		line := s.unknown(s.Ingresses.Unread)
		line.Text = is + "; whether it answers is not known: " + line.Text
		return []Line{line}
	}
	all, answered := 0, 0
	for _, o := range s.Ingresses.Value {
		if text(o, "spec", "ingressClassName") != class {
			continue
		}
		all++
		if addresses, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress"); len(addresses) > 0 {
			answered++
		}
	}
	switch {
	case all == 0:
		return []Line{ok("%s; no Ingress has the class yet, which would show whether it answers", is)}
	case answered == 0:
		return []Line{warning("check that the controller runs", "%s; none of the %d Ingresses seen with this class has an address in its status", is, all)}
	}
	return []Line{ok("%s; %d of the %d Ingresses seen with this class have an address in their status", is, answered, all)}
}

// gatewayKinds returns the kinds of the Gateway API, and of its implementation, that the configuration writes.
func gatewayKinds(g config.Gateway) []kinds.Kind {
	needed := []kinds.Kind{kinds.Gateway, kinds.HTTPRoute}
	if len(g.Listeners.Passthrough) > 0 {
		needed = append(needed, kinds.TLSRoute)
	}
	if g.Implementation == config.GatewayNGF {
		needed = append(needed, kinds.SnippetsFilter, kinds.ClientSettingsPolicy, kinds.ProxySettingsPolicy)
	}
	return needed
}

func (s *Seen) gatewayRoutes() []Line {
	g := s.Config.Gateway
	var lines []Line
	for _, k := range gatewayKinds(g) {
		mend := "install the Gateway API (https://gateway-api.sigs.k8s.io), or configure target ingress"
		if k.Group != kinds.Gateway.Group {
			mend = "install NGINX Gateway Fabric, or configure another gateway.implementation"
		}
		if line, served := s.serves(k, mend); !served {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		return lines
	}
	return s.gatewayServes()
}

// gatewayServes checks the Gateway, its class and its listeners.
func (s *Seen) gatewayServes() []Line {
	g := s.Config.Gateway
	switch {
	case s.Gateway.Unread != nil:
		return []Line{s.unknown(s.Gateway.Unread)}
	case s.Gateway.Value == nil:
		return []Line{problem("create it, or configure gateway.name and gateway.namespace", "there is no Gateway %s/%s", g.Namespace, g.Name)}
	}
	return append([]Line{s.gatewayClass(), s.gateway()}, s.listeners()...)
}

func (s *Seen) gatewayClass() Line {
	name := text(s.Gateway.Value, "spec", "gatewayClassName")
	switch class := s.GatewayClass; {
	case class.Unread != nil:
		return s.unknown(class.Unread)
	case class.Value == nil:
		return problem("install its controller, or name another class in the Gateway", "there is no GatewayClass %s, which the Gateway names", name)
	case !isTrue(class.Value, "Accepted"):
		return problem("kubectl describe gatewayclass "+name, "no controller has accepted GatewayClass %s%s", name, why(class.Value, "Accepted"))
	default:
		return ok("GatewayClass %s is accepted by %s", name, text(class.Value, "spec", "controllerName"))
	}
}

func (s *Seen) gateway() Line {
	g := s.Gateway.Value
	name := g.GetNamespace() + "/" + g.GetName()
	for _, kind := range []string{"Accepted", "Programmed"} {
		if !isTrue(g, kind) {
			return problem("kubectl -n "+g.GetNamespace()+" describe gateway "+g.GetName(), "Gateway %s is not %s%s", name, kind, why(g, kind))
		}
	}
	return ok("Gateway %s is programmed", name)
}

// listeners checks that the Gateway has the listeners that routes attach to.
func (s *Seen) listeners() (lines []Line) {
	var has []string
	all, _, _ := unstructured.NestedSlice(s.Gateway.Value.Object, "spec", "listeners")
	for _, l := range all {
		name, _ := state.Field(l, "name").(string)
		has = append(has, name)
	}
	wanted := s.Config.Gateway.Listeners
	for _, of := range []struct {
		key   string
		names []string
	}{{"http", wanted.HTTP}, {"https", wanted.HTTPS}, {"passthrough", wanted.Passthrough}} {
		absent := slices.DeleteFunc(slices.Clone(of.names), func(name string) bool { return slices.Contains(has, name) })
		if len(absent) > 0 {
			lines = append(lines, warning("add them to the Gateway, or change gateway.listeners."+of.key,
				"the Gateway has no listener %s (gateway.listeners.%s): routes that need them are not accepted", list(absent), of.key))
		}
	}
	return lines
}

// openShiftRoutes checks Routes, and what serves them.
func (s *Seen) openShiftRoutes() []Line {
	if line, served := s.serves(kinds.Route, "OpenShift brings it; configure target ingress or httproute elsewhere"); !served {
		return []Line{line}
	}
	return s.routers()
}

// routers checks the routers that serve OpenShift's Routes.
func (s *Seen) routers() []Line {
	if s.Routers.Unread != nil {
		return []Line{s.unknown(s.Routers.Unread)}
	}
	var lines []Line
	for _, o := range s.Routers.Value {
		name := o.GetNamespace() + "/" + o.GetName()
		if isTrue(o, "Available") {
			lines = append(lines, ok("IngressController %s is available", name))
		} else {
			lines = append(lines, problem("kubectl -n "+o.GetNamespace()+" describe ingresscontroller "+o.GetName(),
				"IngressController %s is not available%s", name, why(o, "Available")))
		}
	}
	if len(lines) == 0 {
		return []Line{warning("check that a router runs", "Routes are served, and no IngressController of OpenShift was seen")}
	}
	return lines
}
