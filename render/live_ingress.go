package render

import (
	"fmt"
	"slices"
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
	if err := r.ingressClass(spec); err != nil {
		return err
	}
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

// ingressClass returns an error if the Ingress is not of the configured IngressClass: another controller serves it, to
// others. The annotation is stronger than the field.
func (r *reader) ingressClass(spec netv1.IngressSpec) error {
	class := r.take("kubernetes.io/ingress.class")
	if class == "" && spec.IngressClassName != nil {
		class = *spec.IngressClassName
	}
	if want := r.cfg.Ingress.ClassName; class != "" && class != want {
		return fmt.Errorf("it is of the IngressClass %q, not of %q as in the provider's configuration (ingress.className)",
			class, want)
	}
	return nil
}

// ingressTLS reads the TLS settings.
func (r *reader) ingressTLS(spec netv1.IngressSpec) error {
	const prefix = nginxPrefix
	insecure := lease.InsecurePolicy("")
	if !r.takeNginxBool("ssl-redirect", true) {
		insecure = lease.InsecureAllow
	}
	if r.takeNginxBool("force-ssl-redirect", false) {
		insecure = lease.InsecureRedirect
	}
	passthrough, protocol := r.takeNginxBool("ssl-passthrough", false), strings.ToUpper(r.take(prefix+"backend-protocol"))
	if protocol != "" && protocol != "HTTP" && protocol != "HTTPS" {
		return fmt.Errorf("its backend speaks %s (%sbackend-protocol), which a lease definition cannot express", protocol, prefix)
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
	case len(spec.TLS) > 0 && r.namesHost(spec.TLS):
		r.plain = lease.InsecureRedirect
	case len(spec.TLS) > 0 && insecure == "":
		return fmt.Errorf("whether it redirects to TLS cannot be seen: its TLS (spec.tls) does not name %s", r.Host)
	case !passthrough:
		r.plain = lease.InsecureAllow
	}
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

// namesHost reports whether the TLS of an Ingress is for its host. ingress-nginx then redirects requests without TLS,
// also if there is no certificate.
func (r *reader) namesHost(all []netv1.IngressTLS) bool {
	return slices.ContainsFunc(all, func(tls netv1.IngressTLS) bool {
		return slices.ContainsFunc(tls.Hosts, func(host string) bool { return strings.EqualFold(host, r.Host) })
	})
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
