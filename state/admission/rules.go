package admission

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The reasons for which a route is not admitted, as OpenShift's router has them.
const (
	ReasonNotAdmitted    = "RouteNotAdmitted"
	ReasonAlreadyClaimed = "HostAlreadyClaimed"
	ReasonNoHost         = "NoHostValue"
	ReasonInvalidHost    = "InvalidHost"
	// ReasonNoShard is ours: where shards are configured, no router looks at a route that none of
	// them selects, and says so nowhere.
	ReasonNoShard = "NoShard"
)

// Verdict is the answer for a route. Reason and Message are empty for one that is admitted. A message
// names no other tenant's namespace, object or host.
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

// Rules are what the provider's configuration says of routes.
type Rules struct {
	denied, allowed map[string]bool
	wildcards       bool
	// ownership gives the owner of a host all its paths, and the wildcard above it.
	ownership bool
	shards    []config.Shard
}

// NewRules takes the rules from the configuration. hosts.blocked is none of them: it says which
// hosts leases get, and the provider's own routes are on hosts that they do not.
func NewRules(cfg *config.ProviderConfig) Rules {
	return Rules{
		denied: setOf(cfg.Hosts.DeniedDomains), allowed: setOf(cfg.Hosts.AllowedDomains),
		wildcards: cfg.Hosts.Wildcards, ownership: cfg.Hosts.NamespaceOwnership, shards: cfg.Shards,
	}
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// policy is the router's first check: denied domains, then allowed ones, then wildcards. A route
// without a host has no domain to judge.
func (rules *Rules) policy(r *Route) Verdict {
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

// within is true for a host that is one of the domains or below one of them.
func within(host string, domains map[string]bool) bool {
	for len(domains) > 0 {
		if domains[host] {
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

// hostName is the router's check of the host itself.
func hostName(r *Route) Verdict {
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

// hostProblems says what is wrong with a host in the words of OpenShift's validation.
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
