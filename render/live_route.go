package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// openShiftRoute reads an OpenShift Route.
func (r *reader) openShiftRoute() error {
	o, err := as[routev1.Route](r.Route)
	if err != nil {
		return err
	}
	spec := o.Spec
	r.Host, r.Expose.Path = spec.Host, spec.Path
	if spec.WildcardPolicy == routev1.WildcardPolicySubdomain {
		_, domain, _ := strings.Cut(spec.Host, ".")
		r.Host = "*." + domain
	}
	if err := r.routeBackends(spec); err != nil {
		return err
	}
	if err := r.routeTLS(spec.TLS); err != nil {
		return err
	}
	if h := spec.HTTPHeaders; h != nil {
		r.Expose.Routing.RequestHeaders = routeRules(h.Actions.Request)
		r.Expose.Routing.ResponseHeaders = routeRules(h.Actions.Response)
	}
	return r.routeSettings()
}

// routeBackends finds the Service ports for the container port that a Route names.
func (r *reader) routeBackends(spec routev1.RouteSpec) error {
	if spec.Port == nil {
		return fmt.Errorf("it names no port")
	}
	all := []lease.Backend{}
	for _, to := range append([]routev1.RouteTargetReference{spec.To}, spec.AlternateBackends...) {
		if to.Kind != "Service" && to.Kind != "" {
			return fmt.Errorf("its backend is a %s", to.Kind)
		}
		port := r.servicePort(to.Name, spec.Port.TargetPort.IntValue(), spec.Port.TargetPort.StrVal)
		if port == 0 {
			return fmt.Errorf("which port of Service %s has the containers' port %s cannot be seen: the Service is not there, or has "+
				"no such port", to.Name, spec.Port.TargetPort.String())
		}
		weight, err := readWeight(to.Name, to.Weight, lease.DefaultWeight)
		if err != nil {
			return err
		}
		all = append(all, lease.Backend{Service: to.Name, Port: port, Weight: weight})
	}
	if err := r.shares(all); err != nil {
		return err
	}
	if container := spec.Port.TargetPort.IntValue(); container > 0 {
		r.Expose.Port = uint16(container)
	}
	return nil
}

// servicePort returns the port of a Service whose container port has that number or name, or 0.
func (r *reader) servicePort(service string, container int, name string) uint16 {
	for _, p := range r.Ports[service] {
		if name == "" && int(p.Container) == container || name != "" && p.Name == name {
			return p.Port
		}
	}
	return 0
}

func (r *reader) routeTLS(tls *routev1.TLSConfig) error {
	const prefix = "cert-manager.io/"
	name, kind, group := r.take(prefix+"issuer-name"), r.take(prefix+"issuer-kind"), r.take(prefix+"issuer-group")
	if tls == nil {
		return nil
	}
	if tls.DestinationCACertificate != "" {
		return fmt.Errorf("it holds the CA of its backend itself, which a lease definition cannot express")
	}
	r.plain = lease.InsecureNone
	out := r.tls()
	out.Termination, out.Insecure = lease.Termination(tls.Termination), lease.InsecurePolicy(tls.InsecureEdgeTerminationPolicy)
	if tls.ExternalCertificate != nil {
		out.SecretName = tls.ExternalCertificate.Name
	}
	switch {
	case name != "":
		out.Issuer = &lease.Issuer{Name: name, Kind: cmp.Or(kind, "Issuer"), Group: group}
	case tls.Certificate != "" || tls.Key != "":
		r.lose("tls.certificate", "a certificate never stands in a definition: put it into a Secret")
	}
	return nil
}

// routeSettings reads the annotations of OpenShift's router: those with a field in the definition, and those that a
// definition may set directly. It returns an error for one that decides who reaches what, if the definition cannot have
// its value: the router reads more of it, or lets everybody in.
func (r *reader) routeSettings() error {
	if text := r.annotations[routeTimeout]; text != "" && readSeconds(text, &r.Expose.HTTP.ReadTimeout) {
		r.take(routeTimeout)
	}
	sticky := lease.Sticky{Disabled: r.take(grammar.DisableCookie) == "true", Cookie: r.take(grammar.CookieName),
		SameSite: r.take(grammar.SameSite)}
	if sticky != (lease.Sticky{}) {
		r.Expose.Routing.Sticky = &sticky
	}
	for _, key := range slices.Sorted(maps.Keys(r.annotations)) {
		setting, known := grammar.Find(key)
		if !known {
			continue
		}
		if err := setting.Check(r.annotations[key]); err == nil {
			r.Expose.Routing.Annotations = append(r.Expose.Routing.Annotations, lease.RouteAnnotation{Key: key, Value: r.take(key)})
		} else if admits(key) && r.annotations[key] != "" {
			return fmt.Errorf("%s decides who reaches what, and %w", key, err)
		}
	}
	return nil
}

func routeRules(actions []routev1.RouteHTTPHeader) []lease.HeaderRule {
	var rules []lease.HeaderRule
	for _, a := range actions {
		rule := lease.HeaderRule{Name: a.Name, Delete: a.Action.Type == routev1.Delete}
		if a.Action.Set != nil {
			rule.Value = a.Action.Set.Value
		}
		rules = append(rules, rule)
	}
	return rules
}
