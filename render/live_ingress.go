package render

import (
	"fmt"
	"strings"

	netv1 "k8s.io/api/networking/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// ingress reads an Ingress with one rule and one path, the form that this program and Akash's provider write.
func (r *reader) ingress() error {
	o, err := as[netv1.Ingress](r.Route)
	if err != nil {
		return err
	}
	spec := o.Spec
	if len(spec.Rules) != 1 || spec.Rules[0].HTTP == nil || len(spec.Rules[0].HTTP.Paths) != 1 || spec.DefaultBackend != nil {
		return fmt.Errorf("it does not have exactly one rule with one path")
	}
	rule, path := spec.Rules[0], spec.Rules[0].HTTP.Paths[0]
	if path.PathType != nil && *path.PathType != netv1.PathTypePrefix {
		return fmt.Errorf("its path is of type %s, not Prefix", *path.PathType)
	}
	if rule.Host == "" {
		return fmt.Errorf("it is for every host")
	}
	if path.Backend.Service == nil {
		return fmt.Errorf("it leads to no Service")
	}
	r.Host, r.Expose.Path = rule.Host, path.Path
	service := path.Backend.Service
	port := uint16(service.Port.Number)
	for _, p := range r.Ports[service.Name] {
		if port == 0 && p.Name == service.Port.Name {
			port = p.Port
		}
	}
	if port == 0 {
		return fmt.Errorf("it leads to port %q of Service %s, which is not there", service.Port.Name, service.Name)
	}
	r.setService(service.Name, port)
	r.nginx = r.Route.GetAnnotations()
	r.readNGINX(nginxPrefix, "proxy-body-size")
	r.ingressSticky()
	return r.ingressTLS(spec)
}

func (r *reader) ingressSticky() {
	affinity := r.take(nginxPrefix + "affinity")
	if affinity != "cookie" {
		if affinity != "" {
			r.lose(nginxPrefix+"affinity", "only \"cookie\" is supported, not %q", affinity)
		}
		return
	}
	r.Expose.Routing.Sticky = &lease.Sticky{
		Cookie: r.take(nginxPrefix + "session-cookie-name"), SameSite: r.take(nginxPrefix + "session-cookie-samesite"),
	}
}

// deciding are ingress-nginx's annotations that may decide which requests are accepted or where they go. Without them
// the route would behave differently, so a route that has one cannot be migrated.
var deciding = []string{
	"whitelist-source-range", "allowlist-source-range", "denylist-source-range", "satisfy",
	"auth-type", "auth-secret", "auth-url", "auth-snippet", "auth-tls-secret", "enable-global-auth", "enable-modsecurity",
	"modsecurity-snippet", "configuration-snippet", "server-snippet", "stream-snippet",
	"rewrite-target", "app-root", "use-regex", "server-alias", "upstream-vhost", "default-backend", "canary", "mirror-target",
	"permanent-redirect", "temporal-redirect", "from-to-www-redirect",
}

// ingressTLS reads the TLS settings.
func (r *reader) ingressTLS(spec netv1.IngressSpec) error {
	const prefix = nginxPrefix
	insecure := lease.InsecurePolicy("")
	if r.take(prefix+"ssl-redirect") == "false" {
		insecure = lease.InsecureAllow
	}
	if r.take(prefix+"force-ssl-redirect") == "true" {
		insecure = lease.InsecureRedirect
	}
	passthrough, protocol := r.take(prefix+"ssl-passthrough") == "true", strings.ToUpper(r.take(prefix+"backend-protocol"))
	if protocol != "" && protocol != "HTTP" && protocol != "HTTPS" {
		return fmt.Errorf("its backend speaks %s (%sbackend-protocol), which a lease definition cannot express", protocol, prefix)
	}
	for _, key := range deciding {
		if value := r.annotations[prefix+key]; value != "" {
			return fmt.Errorf("%s%s: %s decides who reaches what, which a lease definition cannot express", prefix, key, value)
		}
	}
	if !passthrough && protocol != "HTTPS" && len(spec.TLS) == 0 {
		if insecure == lease.InsecureRedirect {
			return fmt.Errorf("it redirects to TLS, and has no TLS of its own (spec.tls): something before the controller ends it")
		}
		return nil
	}
	tls := r.tls()
	tls.Insecure = insecure
	switch {
	case passthrough:
		tls.Termination = lease.Passthrough
		return nil
	case protocol == "HTTPS":
		tls.Termination = lease.Reencrypt
		if err := r.ingressCA(tls); err != nil {
			return err
		}
	default:
		tls.Termination = lease.Edge
	}
	if len(spec.TLS) > 0 {
		tls.SecretName = spec.TLS[0].SecretName
	}
	r.ingressIssuer(tls)
	return nil
}

// ingressCA reads how the backend's certificate is verified. It returns an error for any verification that a definition
// cannot express, because dropping it would weaken the route.
func (r *reader) ingressCA(tls *lease.TLS) error {
	secret, verify := r.take(nginxPrefix+"proxy-ssl-secret"), r.take(nginxPrefix+"proxy-ssl-verify")
	name := r.take(nginxPrefix + "proxy-ssl-name")
	r.take(nginxPrefix + "proxy-ssl-server-name")
	if secret == "" && verify != "on" {
		return nil
	}
	namespace, ca, _ := strings.Cut(secret, "/")
	if namespace != r.Lease.Namespace() || ca == "" || verify != "on" {
		return fmt.Errorf("%sproxy-ssl-secret %s: only a CA in the lease's namespace that is verified is supported", nginxPrefix,
			secret)
	}
	if want := r.Service + "." + namespace + ".svc"; name != want {
		return fmt.Errorf("%sproxy-ssl-name %s: the certificate is verified for %s", nginxPrefix, name, want)
	}
	tls.DestinationCASecretName = ca
	return nil
}

func (r *reader) ingressIssuer(tls *lease.TLS) {
	const prefix = "cert-manager.io/"
	cluster, name := r.take(prefix+"cluster-issuer"), r.take(prefix+"issuer")
	switch {
	case cluster != "":
		tls.Issuer = &lease.Issuer{Name: cluster, Kind: "ClusterIssuer"}
	case name != "":
		tls.Issuer = &lease.Issuer{Name: name, Kind: r.take(prefix + "issuer-kind"), Group: r.take(prefix + "issuer-group")}
		if tls.Issuer.Kind == "" && tls.Issuer.Group == "" {
			tls.Issuer.Kind = "Issuer"
		}
	}
	if tls.Issuer != nil && tls.SecretName == r.Route.GetName() {
		tls.SecretName = "" // the name of the Secret if the definition names none
	}
}
