package render

import (
	"strings"

	"golang.org/x/net/publicsuffix"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// ownerPrefix is what external-dns puts before a name that has a CNAME record, for the TXT record that says that it is its own
// (external-dns: docs/registry/txt.md).
const ownerPrefix = "cname-"

// dnsWarnings tells of host names whose CNAME record a zone, or external-dns, cannot have.
func dnsWarnings(def *lease.Definition, cfg *config.ProviderConfig) (warnings lease.Problems) {
	for _, h := range namedHosts(def, cfg) {
		to := h.target(def, cfg, nil, nil).Host
		if to == "" {
			continue // addresses, or what the cluster publishes
		}
		if registered, err := publicsuffix.EffectiveTLDPlusOne(h.Name); err == nil && registered == h.Name {
			warnings.Warn(h.At, "%s is a registered domain, and its zone's own name can have no CNAME record (to %s), only addresses: name them in "+
				"dns.targets, or lease one for its service with the source address", h.Name, to)
		}
		label, _, _ := strings.Cut(h.Name, ".")
		if cfg.DNS.Form != config.DNSGardener && len(ownerPrefix+label) > validation.DNS1123LabelMaxLength {
			warnings.Warn(h.At, "external-dns cannot own %s: before the name of its TXT record it puts %q, and a label has at most %d characters; use a "+
				"first label of at most %d", h.Name, ownerPrefix, validation.DNS1123LabelMaxLength, validation.DNS1123LabelMaxLength-len(ownerPrefix))
		}
	}
	return warnings
}
