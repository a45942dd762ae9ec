package render

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// backends returns the services of the route with the ports of their Kubernetes Services, its own service first.
func (r route) backends() []lease.Backend {
	own := lease.Backend{Service: r.service, Port: r.port, Weight: r.weight()}
	if r.routing == nil || len(r.routing.Backends) == 0 {
		return []lease.Backend{own}
	}
	all := append(make([]lease.Backend, 0, 4), own)
	for _, b := range r.routing.Backends {
		if b.Port == 0 {
			b.Port = r.port
		}
		all = append(all, b)
	}
	return all
}

// weighted reports whether several services share the traffic.
func (r route) weighted() bool { return r.routing != nil && len(r.routing.Backends) > 0 }

// backendTLS is how a Gateway connects to a Service; the zero value is without TLS. The Gateway API has one
// BackendTLSPolicy per Service.
type backendTLS struct {
	// hostname is the name that the backend's certificate must have.
	hostname string
	// ca is the Secret with the CA; empty trusts the system's CAs.
	ca string
	// written is true once the policy has been rendered.
	written bool
}

// backendTLS returns how the route requires a service to be reached. A tenant's CA signs the name of the Service; a CA
// that the system trusts can sign only the host.
func (l *leased) backendTLS(r route, service string) backendTLS {
	tls := r.tls()
	switch {
	case tls == nil || tls.Termination != lease.Reencrypt:
		return backendTLS{}
	case tls.DestinationCASecretName != "":
		return backendTLS{hostname: l.backendName(service), ca: tls.DestinationCASecretName}
	}
	return backendTLS{hostname: r.host}
}

// findBackends collects how the Gateway connects to each Service, and refuses routes that require different ways for
// the same Service. It does nothing if no route re-encrypts.
func (l *leased) findBackends(all []route) {
	for _, r := range all {
		if t := r.tls(); t != nil && t.Termination == lease.Reencrypt && r.target == config.TargetHTTPRoute {
			l.backends = map[string]backendTLS{}
		}
	}
	if l.backends == nil {
		return
	}
	for _, r := range all {
		if r.target != config.TargetHTTPRoute || r.passthrough() {
			continue
		}
		for _, b := range r.backends() {
			want := l.backendTLS(r, b.Service)
			known, ok := l.backends[b.Service]
			if ok && known != want {
				l.refuse(r, r.tlsPlace(), "a Gateway reaches a service in one way for all its hosts and ports (BackendTLSPolicy), "+
					"but service %q is asked for with TLS and without, or for certificates of two names or CAs", b.Service)
			}
			l.backends[b.Service] = want
		}
	}
}

func (r route) tlsPlace() (at lease.Place) {
	if r.routing != nil {
		at = r.routing.At.TLS
	}
	return at
}

// appendBackendTLS appends the policies for the route's services, except those that an earlier route has appended.
func (l *leased) appendBackendTLS(objects []Object, r route) []Object {
	tls := r.tls()
	if tls == nil || tls.Termination != lease.Reencrypt {
		return objects
	}
	switch {
	case tls.DestinationCASecretName == "" && r.wildcard():
		l.refuse(r, r.routing.At.TLS,
			"the backend of a wildcard host has no one name for its certificate: name the CA (destinationCASecretName)")
	case tls.DestinationCASecretName != "" && l.cfg.Gateway.Implementation == config.GatewayStandard:
		l.warn(r, r.routing.At.TLS,
			"not every implementation of the Gateway API takes a backend's CA from a Secret; all take it from a ConfigMap only")
	case tls.DestinationCASecretName != "" && len(r.routing.Backends) > 0:
		l.refuse(r, r.routing.At.Backends, "NGINX Gateway Fabric wants certificates of one name from all services of a route, "+
			"but with a CA of the lease's each is to have its Service's: give each service a host of its own")
	}
	for _, b := range r.backends() {
		policy := l.backends[b.Service]
		if policy.written {
			continue
		}
		policy.written = true
		l.backends[b.Service] = policy
		objects = append(objects, l.backendTLSPolicy(b.Service, policy))
	}
	return objects
}

func (l *leased) backendTLSPolicy(service string, p backendTLS) Object {
	validation := gwac.BackendTLSPolicyValidation().WithHostname(gwv1.PreciseHostname(p.hostname))
	if p.ca == "" {
		validation.WithWellKnownCACertificates(gwv1.WellKnownCACertificatesSystem)
	} else {
		validation.WithCACertificateRefs(gwac.LocalObjectReference().WithGroup("").WithKind("Secret").WithName(gwv1.ObjectName(p.ca)))
	}
	return Object{Kind: kinds.BackendTLSPolicy, Namespace: l.namespace, Name: service,
		Config: gwac.BackendTLSPolicy(service, l.namespace).
			WithLabels(l.ownLabels()).
			WithAnnotations(l.annotations()).
			WithSpec(gwac.BackendTLSPolicySpec().
				WithTargetRefs(gwac.LocalPolicyTargetReferenceWithSectionName().
					WithGroup("").WithKind("Service").WithName(gwv1.ObjectName(service))).
				WithValidation(validation))}
}

// backendName returns the name that a backend's certificate must have if a CA of the lease verifies it: the name of the
// Service, which the tenant's CA can sign whatever the hosts are.
func (l *leased) backendName(service string) string { return service + "." + l.namespace + ".svc" }
