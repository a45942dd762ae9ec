package lease

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease/grammar"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

func (c *checker) sticky(r *Routing) {
	if r.Sticky == nil {
		return
	}
	s, at := r.Sticky, r.At.Sticky
	if s.Disabled && (s.Cookie != "" || s.SameSite != "") {
		c.problems.Add(at, "sticky is disabled, so it has no cookie and no sameSite")
	}
	if s.Cookie != "" {
		if err := grammar.Cookie(s.Cookie); err != nil {
			c.problems.Add(at, "%v (letters, digits, \"-\" and \"_\")", err)
		}
	}
	c.sameSite(r)
}

func (c *checker) headers(rules []HeaderRule, direction string, response bool, at Place) {
	if len(rules) > grammar.MaxHeaderRules {
		c.problems.Add(at, "there are %d rules for the headers of a %s; at most %d are allowed", len(rules), direction,
			grammar.MaxHeaderRules)
	}
	seen := map[string]bool{}
	for _, rule := range rules {
		if c.missing(rule.Name == "") {
			continue
		}
		if err := grammar.HeaderName(rule.Name); err != nil {
			c.problems.Add(rule.At, "%v", err)
			continue
		}
		if name := strings.ToLower(rule.Name); seen[name] {
			c.problems.Add(rule.At, "there are two rules for the header %q of a %s", rule.Name, direction)
		} else {
			seen[name] = true
		}
		switch {
		case c.missing(rule.Value == ""):
		case bool(rule.Delete) && rule.Value != "":
			c.problems.Add(rule.At, "a header that is deleted has no value")
		case !bool(rule.Delete):
			if err := grammar.HeaderValue(rule.Value, response); err != nil {
				c.problems.Add(rule.At, "%v", err)
			}
		}
	}
}

// maxAnnotations is the limit for all annotations together, in bytes. It is half of the 256 KiB that an object may
// have, which leaves room for this program's own annotations.
const maxAnnotations = 128 << 10

// annotations validates the settings of OpenShift's router: each value, and the other settings that each one requires.
func (c *checker) annotations(r *Routing) {
	given := make(map[string]string, len(r.Annotations))
	size := 0
	for _, a := range r.Annotations {
		size += len(a.Key) + len(a.Value)
		if _, twice := given[a.Key]; twice {
			c.problems.Add(a.At, "the annotation %q is given twice", Clip(a.Key))
		}
		given[a.Key] = a.Value
	}
	if size > maxAnnotations {
		c.problems.Add(r.At.Annotations, "the annotations have %d bytes together; at most %d are allowed", size, maxAnnotations)
	}
	for _, a := range r.Annotations {
		setting, ok := grammar.Find(a.Key)
		if !ok {
			c.problems.Add(a.At, "%s", unknownAnnotation(a.Key))
			continue
		}
		if err := setting.Check(a.Value); err != nil {
			c.problems.Add(a.At, "%v", err)
			continue
		}
		if why := ignored(setting, r, given); why != "" {
			c.problems.Add(a.At, "%s", why)
		}
	}
}

// ignored returns the reason why the router would ignore a valid setting, or "".
func ignored(s grammar.Setting, r *Routing, given map[string]string) string {
	passthrough := r.TLS != nil && r.TLS.Termination == Passthrough
	switch {
	case s.HTTP && passthrough:
		return "with passthrough the router sees no requests, and ignores this"
	case s.TLS && r.TLS == nil:
		return "the router ignores this where it does not end TLS; add tls"
	case s.Secure && r.TLS.Insecure == InsecureAllow:
		return "the router ignores this where requests without TLS are allowed (insecure: Allow)"
	case s.Needs != "" && !isTrue(given[s.Needs]):
		return "the router ignores this without " + s.Needs + `: "true"`
	case s.Key == grammar.Whitelist && given[grammar.Allowlist] != "":
		return "the router ignores this beside " + grammar.Allowlist + "; give one of the two"
	case r.Sticky != nil && (s.Key == grammar.CookieName || s.Key == grammar.SameSite || s.Key == grammar.DisableCookie):
		return "sticky says this too; give one of the two"
	case (s.Key == grammar.CookieName || s.Key == grammar.SameSite) && isTrue(given[grammar.DisableCookie]):
		return "the router ignores this with " + grammar.DisableCookie
	}
	return ""
}

// isTrue reports whether OpenShift's router reads the value as true.
func isTrue(value string) bool {
	return slices.Contains([]string{"1", "t", "T", "true", "TRUE", "True"}, value)
}

// replacements lists annotations that other tools read, and the field of a definition that sets them.
var replacements = []struct{ prefix, field string }{
	{"route.openshift.io/termination", "tls.termination"},
	{"route.openshift.io/destination-ca-certificate-secret", "tls.destinationCASecretName"},
	{"route.openshift.io/reconcile-labels", "labels"},
	{"cert-manager.io/", "tls.issuer"},
	{"kubernetes.io/tls-acme", "tls.issuer"},
}

// unknownAnnotation returns the message for an annotation that is not allowed. It looks for misspelt keys by the part
// after the domain.
func unknownAnnotation(key string) string {
	for _, r := range replacements {
		if strings.HasPrefix(key, r.prefix) {
			return "the annotation " + Clip(key) + " is set by " + r.field
		}
	}
	text := "the annotation " + Clip(key) + " may not be given: only settings of OpenShift's router may, since others could " +
		"configure any router"
	known := map[string]string{}
	for _, s := range grammar.Settings() {
		known[s.Key[strings.LastIndex(s.Key, "/")+1:]] = s.Key
	}
	name := key[strings.LastIndex(key, "/")+1:]
	if best := suggest.Nearest(name, slices.Sorted(maps.Keys(known))); best != "" {
		text += "; did you mean " + known[best] + "?"
	}
	return text
}

// sameSite validates the cookie's attribute. Browsers drop cookies with SameSite=None that arrive without TLS.
func (c *checker) sameSite(r *Routing) {
	switch r.Sticky.SameSite {
	case "", "Lax", "Strict":
	case "None":
		if r.TLS == nil || r.TLS.Insecure == InsecureAllow {
			c.problems.Add(r.At.Sticky, "sameSite None needs tls, without insecure: Allow: browsers take such cookies over TLS only")
		}
	default:
		c.problems.Add(r.At.Sticky, "unknown sameSite %q; Lax, Strict and None are known", Clip(r.Sticky.SameSite))
	}
}

// maxLabels limits the labels of a route.
const maxLabels = 64

func (c *checker) labels(r *Routing) {
	if len(r.Labels) > maxLabels {
		c.problems.Add(r.At.Labels, "there are %d labels; at most %d are allowed", len(r.Labels), maxLabels)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		value := r.Labels[key]
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			c.problems.Add(r.At.Labels, "%q is not a label: %s", Clip(key), problems[0])
		} else if domain := ReservedDomain(key); domain != "" {
			c.problems.Add(r.At.Labels, "the label %q is not yours to set: %s is reserved", key, domain)
		}
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			c.problems.Add(r.At.Labels, "%q is not the value of a label: %s", Clip(value), problems[0])
		}
	}
}

// reservedDomains are the domains of labels that mark ownership: those of Akash, Kubernetes and this program; of
// cert-manager, which labels the routes of its solvers; of tools that prune the objects that they consider theirs (Argo
// CD, Flux, Helm, kapp, Fleet, Crossplane, OLM); and of Gardener, MetalLB and Velero.
var reservedDomains = []string{
	LabelManaged, "kubernetes.io", "k8s.io", "cert-manager.io", "argoproj.io", "fluxcd.io", "helm.sh", "k14s.io", "cattle.io",
	"crossplane.io", "coreos.com", "gardener.cloud", "metallb.io", "metallb.universe.tf", "velero.io",
}

// ReservedDomain returns "the domain D" if the label is in a reserved domain D, or "" if a definition may set the
// label. Akash has a label that is just the domain, without a slash.
func ReservedDomain(key string) string {
	domain, _, _ := strings.Cut(key, "/")
	for _, reserved := range reservedDomains {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			return "the domain " + reserved
		}
	}
	return ""
}
