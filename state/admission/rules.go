package admission

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The reasons of OpenShift's router for not admitting a route.
const (
	ReasonNotAdmitted    = "RouteNotAdmitted"
	ReasonAlreadyClaimed = "HostAlreadyClaimed"
	ReasonNoHost         = "NoHostValue"
	ReasonInvalidHost    = "InvalidHost"
	// ReasonExtendedValidation is that of a Route whose TLS HAProxy could not serve.
	ReasonExtendedValidation = "ExtendedValidationFailed"
	// ReasonNoShard is not the router's: if shards are configured, no router looks at a route that none of them
	// selects.
	ReasonNoShard = "NoShard"
	// ReasonNoListener is that of the Gateway API for a route whose host no listener of its Gateways has.
	ReasonNoListener = "NoMatchingListenerHostname"
	// ReasonNotAllowed is that of the Gateway API for a route that no listener of its Gateways allows.
	ReasonNotAllowed = "NotAllowedByListeners"
)

// Verdict is the decision about a route. Reason and Message are empty if it is admitted. Messages name no namespace,
// object or host of another tenant.
type Verdict struct {
	Admitted bool
	Reason   string
	Message  string
}

var admitted = Verdict{Admitted: true}

func notAdmitted(message string) Verdict { return Verdict{Reason: ReasonNotAdmitted, Message: message} }

func alreadyClaimed(format string, args ...any) Verdict {
	return Verdict{Reason: ReasonAlreadyClaimed, Message: fmt.Sprintf(format, args...)}
}

// Rules are the rules for routes in the provider's configuration.
type Rules struct {
	denied, allowed sets.Set[string]
	wildcards       bool
	// ownership gives the owner of a host all its paths and the wildcard above it.
	ownership bool
	shards    []config.Shard
}

// NewRules reads the rules from the configuration. It ignores hosts.blocked, which limits the hosts of leases: the
// provider's own routes use such hosts.
func NewRules(cfg *config.ProviderConfig) Rules {
	return Rules{
		denied: sets.New(cfg.Hosts.DeniedDomains...), allowed: sets.New(cfg.Hosts.AllowedDomains...),
		wildcards: cfg.Hosts.Wildcards, ownership: cfg.Hosts.NamespaceOwnership, shards: cfg.Shards,
	}
}

// checkPolicy is the router's first check: denied domains, allowed domains, wildcards. A route without a host has no
// domain to check.
func (rules *Rules) checkPolicy(r *Route) Verdict {
	switch {
	case r.Host == "":
	case within(r.Host, rules.denied):
		return notAdmitted("host in list of denied domains")
	case len(rules.allowed) > 0 && !within(r.Host, rules.allowed):
		return notAdmitted("host not in the allowed list of domains")
	}
	switch r.Wildcard {
	case WildcardNone:
		return admitted
	case WildcardSubdomain, WildcardBelow:
		if rules.wildcards {
			return admitted
		}
		return notAdmitted("wildcard routes are not allowed")
	}
	return notAdmitted("unknown wildcard policy " + string(r.Wildcard))
}

// within reports whether the host is one of the domains or below one of them.
func within(host string, domains sets.Set[string]) bool {
	for len(domains) > 0 {
		if domains.Has(host) {
			return true
		}
		i := strings.IndexByte(host, '.')
		if i <= 0 {
			break
		}
		host = host[i+1:]
	}
	return false
}

// checkHost is the router's check of the host name.
func checkHost(r *Route) Verdict {
	host := r.Host
	if host == "" {
		return Verdict{Reason: ReasonNoHost, Message: "no host value was defined for the route"}
	}
	if domain, ok := strings.CutPrefix(host, "*."); ok && r.Wildcard != WildcardNone && r.Kind != KindRoute {
		host = domain
	}
	if lease.IsHostName(host) {
		return admitted
	}
	return Verdict{Reason: ReasonInvalidHost, Message: "host name validation errors: " + hostProblems(r.Host, host)}
}

// hostProblems describes what is wrong with a host in the words of OpenShift's validation.
func hostProblems(written, host string) string {
	var problems []string
	at := field.NewPath("spec", "host")
	add := func(detail string) { problems = append(problems, field.Invalid(at, written, detail).Error()) }
	if len(validation.IsDNS1123Subdomain(host)) > 0 {
		add("host must conform to DNS 952 subdomain conventions")
	}
	for label := range strings.SplitSeq(host, ".") {
		for _, detail := range validation.IsDNS1123Label(label) {
			add(detail)
		}
	}
	return strings.Join(problems, ", ")
}

// tlsConfig is the TLS of a Route.
type tlsConfig struct {
	termination, insecure                                   string
	certificate, key, caCertificate, destinationCertificate string
}

// tlsOf reads the TLS of a Route, with the API server's defaults: a file may have a Route that is not in a cluster yet.
func tlsOf(spec any) *tlsConfig {
	m, ok := value(spec, "tls").(map[string]any)
	if !ok {
		return nil
	}
	c := &tlsConfig{
		termination: text(m, "termination"), insecure: text(m, "insecureEdgeTerminationPolicy"),
		certificate: text(m, "certificate"), key: text(m, "key"), caCertificate: text(m, "caCertificate"),
		destinationCertificate: text(m, "destinationCACertificate"),
	}
	switch {
	case c.termination == "" && c.destinationCertificate == "", c.termination == "Edge":
		c.termination = edge
	case c.termination == "Reencrypt":
		c.termination = reencrypt
	case c.termination == "Passthrough":
		c.termination = passthrough
	}
	return c
}

const (
	edge        = "edge"
	reencrypt   = "reencrypt"
	passthrough = "passthrough"
)

// tlsErrors collects what the router's extended validation says of the TLS of a Route.
type tlsErrors struct {
	*tlsConfig
	errs field.ErrorList
}

// validate returns what the router's extended validation says of the TLS of a Route, in its words; "" if it is valid.
// The values of certificates and keys are never repeated.
func (c *tlsConfig) validate() string {
	if c == nil {
		return ""
	}
	v := tlsErrors{tlsConfig: c}
	v.checkTermination()
	v.checkInsecure()
	roots := v.checkCA()
	v.checkCertificate(roots)
	v.checkKey()
	if c.destinationCertificate != "" {
		v.checkBundle("destinationCACertificate", c.destinationCertificate, "destination CA certificate")
	}
	if err := v.errs.ToAggregate(); err != nil {
		return err.Error()
	}
	return ""
}

// redacted are the values of fields in messages.
var redacted = map[string]string{
	"certificate": "redacted certificate data", "key": "redacted key data", "caCertificate": "redacted ca certificate data",
	"destinationCACertificate": "redacted destination ca certificate data",
}

func (v *tlsErrors) add(name, message string) {
	v.errs = append(v.errs, field.Invalid(field.NewPath("spec", "tls", name), redacted[name], message))
}

func (v *tlsErrors) report(name string, err error) {
	if err != nil {
		v.add(name, err.Error())
	}
}

func (v *tlsErrors) checkTermination() {
	switch v.termination {
	case reencrypt:
	case edge:
		if v.destinationCertificate != "" {
			v.add("destinationCACertificate", "edge termination does not support destination certificates")
		}
	case passthrough:
		for _, f := range []struct{ name, value string }{
			{"certificate", v.certificate}, {"key", v.key}, {"caCertificate", v.caCertificate},
			{"destinationCACertificate", v.destinationCertificate},
		} {
			if f.value != "" {
				v.add(f.name, "passthrough termination does not support certificates")
			}
		}
	default:
		v.errs = append(v.errs, field.NotSupported(field.NewPath("spec", "tls", "termination"), v.termination,
			[]string{edge, passthrough, reencrypt}))
	}
}

func (v *tlsErrors) checkInsecure() {
	accepted, words := []string{"None", "Allow", "Redirect"}, "None, Allow, Redirect"
	switch v.termination {
	case edge, reencrypt:
	case passthrough:
		accepted, words = []string{"None", "Redirect"}, "None, Redirect"
	default:
		return
	}
	if v.insecure != "" && !slices.Contains(accepted, v.insecure) {
		v.errs = append(v.errs, field.Invalid(field.NewPath("spec", "tls", "insecureEdgeTerminationPolicy"), v.insecure,
			fmt.Sprintf("invalid value for InsecureEdgeTerminationPolicy option, acceptable values are %s, or empty", words)))
	}
}

// checkBundle checks the certificates of CAs, and returns those that can be parsed.
func (v *tlsErrors) checkBundle(name, bundle, what string) []*x509.Certificate {
	certificates, err := certificatesOf(bundle)
	if err != nil {
		v.add(name, fmt.Sprintf("failed to parse %s: %v", what, err))
		return nil
	}
	_, err = cleaned(bundle)
	v.report(name, err)
	v.report(name, checkSignatures(certificates))
	return certificates
}

// checkCA returns the CAs by which the certificate is verified; nil if the Route names none.
func (v *tlsErrors) checkCA() *x509.CertPool {
	if v.caCertificate == "" {
		return nil
	}
	roots := x509.NewCertPool()
	for _, c := range v.checkBundle("caCertificate", v.caCertificate, "CA certificate") {
		roots.AddCert(c)
	}
	return roots
}

func (v *tlsErrors) checkCertificate(roots *x509.CertPool) {
	if v.certificate == "" {
		return
	}
	certificates, err := certificatesOf(v.certificate)
	if err == nil {
		err = checkSignatures(certificates)
	}
	if err == nil && roots != nil {
		err = checkChain(certificates[0], roots)
	}
	clean := v.certificate
	if err == nil {
		clean, err = cleaned(v.certificate)
	}
	if v.report("certificate", err); err == nil {
		v.certificate = clean
	}
}

// checkKey checks the key, and that it is the certificate's. It may stand beside the certificate.
func (v *tlsErrors) checkKey() {
	if v.key != "" {
		clean, err := cleaned(v.key)
		if v.report("key", err); err == nil {
			v.key = clean
		}
	}
	if v.certificate == "" {
		return
	}
	certificates, key := split(v.certificate)
	if key += v.key; key == "" {
		v.errs = append(v.errs, field.Invalid(field.NewPath("spec", "tls", "key"), "", "no key specified"))
		return
	}
	v.report("key", checkOnly(key, "PRIVATE KEY"))
	v.report("certificate", checkOnly(certificates, "CERTIFICATE"))
	v.report("key", checkPair(certificates, key))
}
