package examine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/manifests"
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

// besideOperators is the page about what follows from Akash's operators.
const besideOperators = "docs/akash-operators.md"

// operators checks Akash's provider and its operators.
func (s *Seen) operators() []Line {
	namespace := s.Namespaces[manifests.OperatorsNamespace]
	switch {
	case namespace.Unread == nil && namespace.Value == nil:
		return []Line{ok("there is no namespace %s: none of Akash's operators runs, and this program writes routes and Services", manifests.OperatorsNamespace)}
	case s.Operators.Unread != nil:
		line := s.unknown(s.Operators.Unread)
		line.Text = "whether Akash's operators run is not known: " + line.Text
		return []Line{line}
	}
	var lines []Line
	runs := func(names ...string) Object {
		i := slices.IndexFunc(s.Operators.Value, func(o Object) bool { return slices.Contains(names, o.GetName()) && replicas(o) > 0 })
		if i < 0 {
			return nil
		}
		if o := s.Operators.Value[i]; !isReady(o) {
			lines = append(lines, warning("kubectl -n "+o.GetNamespace()+" describe "+lower(o)+" "+o.GetName(), "%s %s has no ready pod", lower(o), o.GetName()))
		}
		return s.Operators.Value[i]
	}
	if o := runs(manifests.HostnameOperators...); o != nil {
		lines = append(lines, hostnameOperator(s.Config, o))
	}
	if o := runs(manifests.IPOperators...); o != nil {
		lines = append(lines, ipOperator(s.Config, o))
	}
	if o := runs("akash-provider"); o != nil {
		lines = append(lines, ok("Akash's provider runs (%s %s): it declares hosts and ports of leases too, and its objects are not changed (%s)", lower(o), o.GetName(), besideOperators))
	}
	if len(lines) == 0 {
		return []Line{ok("none of Akash's operators runs in namespace %s: this program writes routes and Services", manifests.OperatorsNamespace)}
	}
	return lines
}

func hostnameOperator(cfg *config.ProviderConfig, o Object) Line {
	if cfg.DNS.Form == config.DNSAnnotations {
		return problem("configure dns.form endpoint, or stop the operator: "+manifests.StopOperator(o.GetName()),
			"Akash's hostname operator runs (%s), and knows no annotations for external-dns (dns.form): apply is refused", o.GetName())
	}
	return ok("Akash's hostname operator runs (%s): apply leaves the routes that it supports to it (%s)", o.GetName(), besideOperators)
}

func ipOperator(cfg *config.ProviderConfig, o Object) Line {
	if cfg.IP.Mode != config.ModePool {
		return problem("configure ip.mode pool, or stop the operator: "+manifests.StopOperator(o.GetName()),
			"Akash's IP operator runs (%s), and lets MetalLB choose the addresses: apply of leased ports is refused with ip.mode %s", o.GetName(), cfg.IP.Mode)
	}
	return ok("Akash's IP operator runs (%s): apply leaves the Services of leased ports to it (%s)", o.GetName(), besideOperators)
}

// replicas returns how many pods a Deployment or a StatefulSet is to have; one if it does not say.
func replicas(o Object) int64 {
	if n, set, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); set {
		return n
	}
	return 1
}

func isReady(o Object) bool {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
	return n > 0
}

// reconciler checks whether a reconciler works, if one was installed or has been elected before.
func (s *Seen) reconciler() []Line {
	var lines, unread []Line
	for _, o := range s.Elections.Value {
		if line, elects := election(o, s.Now); elects {
			lines = append(lines, line)
		}
	}
	for _, u := range []*Unread{s.Elections.Unread, s.Reconciler.Unread} {
		if u != nil {
			unread = append(unread, s.unknown(u))
		}
	}
	switch deployment := s.Reconciler.Value; {
	case len(lines) > 0:
		return lines
	case len(unread) > 0:
		return unread[:1]
	case deployment == nil:
		return []Line{ok("none is installed; nothing needs one")}
	case replicas(deployment) == 0:
		return []Line{ok("it is scaled to 0; nothing needs one")}
	default:
		return []Line{problem("kubectl -n "+deployment.GetNamespace()+" logs deployment/"+deployment.GetName(),
			"it is installed, and none is elected: nothing is put back")}
	}
}

// longest is more than any reconciler is elected for at a time.
const longest = time.Minute

// election returns who holds the Lease of an election, since when, and for which sources. elects is false if nobody has renewed it in time.
func election(o Object, now time.Time) (line Line, elects bool) {
	holder, of := text(o, "spec", "holderIdentity"), o.GetLabels()[state.LabelInstance]
	renewed, err := time.Parse(time.RFC3339Nano, text(o, "spec", "renewTime"))
	seconds, _, _ := unstructured.NestedInt64(o.Object, "spec", "leaseDurationSeconds")
	over := renewed.Add(time.Duration(min(seconds, int64(longest/time.Second)*2)) * time.Second)
	switch {
	case err != nil || holder == "":
		return line, false
	case seconds > int64(longest/time.Second) || renewed.After(now.Add(longest)):
		return problem("kubectl -n "+o.GetNamespace()+" delete lease.coordination.k8s.io "+o.GetName(),
			"lease %s says that %s is elected for %d seconds from %s: no reconciler writes that, and none is elected until then", o.GetName(), holder, seconds,
			renewed.UTC().Format(time.RFC3339)), true
	case now.After(over):
		return line, false
	}
	since, _, _ := strings.Cut(text(o, "spec", "acquireTime"), ".")
	line = ok("%s is elected since %sZ", holder, strings.TrimSuffix(since, "Z"))
	if of != "" {
		line.Text += ", for " + of
	}
	return line, true
}
