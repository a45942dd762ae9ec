package admission

import (
	"fmt"
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
