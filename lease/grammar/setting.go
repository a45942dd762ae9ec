// Package grammar judges the texts of a definition that are passed on to routers: header rules and
// the annotations of OpenShift's router. That router ignores what it cannot read, clips what is too
// large, and writes the rest into its configuration; here both are refused, with the reason.
package grammar

import (
	"fmt"
	"slices"
)

// Setting is an annotation of OpenShift's router that a definition may give its routes. No other
// annotation may be given: it could configure any router.
type Setting struct {
	Key string
	// Rule says which values there are, Example is one of them.
	Rule, Example string
	// HTTP is true for what the router does with requests: nothing, where it passes TLS through.
	HTTP bool
	// TLS is true for what the router does only where it ends TLS, Secure where it also takes no
	// requests without TLS.
	TLS, Secure bool
	// Needs is the setting that must be true for this one to count.
	Needs string
	judge func(value string) error
}

// The prefixes of the settings, as OpenShift's documentation has them.
const (
	haproxy = "haproxy.router.openshift.io/"
	router  = "router.openshift.io/"
)

// The settings that others depend on, or that are judged together.
const (
	RateLimit     = haproxy + "rate-limit-connections"
	Allowlist     = haproxy + "ip_allowlist"
	Whitelist     = haproxy + "ip_whitelist"
	CookieName    = router + "cookie_name"
	SameSite      = router + "cookie-same-site"
	DisableCookie = haproxy + "disable_cookies"
)

const (
	timeRule  = "a whole number from 1, then us, ms, s, m, h, d, or nothing for ms"
	countRule = "a whole number from 1"
	boolRule  = "true or false"
	listRule  = "addresses and CIDRs with spaces between them"
)

// settings are those that the router reads (openshift/router: haproxy-config.template).
var settings = []Setting{
	{Key: haproxy + "timeout", Rule: timeRule, Example: "30s", judge: timeSpec},
	{Key: haproxy + "timeout-tunnel", Rule: timeRule, Example: "1h", judge: timeSpec},
	{Key: router + "haproxy.health.check.interval", Rule: timeRule, Example: "5s", judge: timeSpec},
	{Key: haproxy + "balance", Rule: "roundrobin, leastconn, source or random", Example: "leastconn",
		judge: oneOf("roundrobin", "leastconn", "source", "random")},
	{Key: DisableCookie, Rule: boolRule, Example: "true", HTTP: true, judge: truth},
	{Key: haproxy + "h1-adjust-case", Rule: boolRule, Example: "true", HTTP: true, judge: truth},
	{Key: RateLimit, Rule: boolRule, Example: "true", judge: truth},
	{Key: RateLimit + ".concurrent-tcp", Rule: countRule, Example: "10", Needs: RateLimit, judge: count},
	{Key: RateLimit + ".rate-tcp", Rule: countRule, Example: "10", Needs: RateLimit, judge: count},
	{Key: RateLimit + ".rate-http", Rule: countRule, Example: "10", HTTP: true, Needs: RateLimit, judge: count},
	{Key: haproxy + "pod-concurrent-connections", Rule: countRule, Example: "100", judge: count},
	{Key: Allowlist, Rule: listRule, Example: "192.0.2.7 203.0.113.0/24", judge: addresses},
	{Key: Whitelist, Rule: listRule, Example: "192.0.2.7 203.0.113.0/24", judge: addresses},
	{Key: haproxy + "hsts_header", Rule: "max-age, includeSubDomains and preload, joined by ;",
		Example: "max-age=31536000;includeSubDomains;preload", HTTP: true, TLS: true, judge: hsts},
	{Key: haproxy + "set-forwarded-headers", Rule: "append, replace, if-none or never", Example: "append", HTTP: true,
		judge: oneOf("append", "replace", "if-none", "never")},
	{Key: haproxy + "rewrite-target", Rule: "/, then letters, digits and -._~/", Example: "/v2", HTTP: true, judge: rewrite},
	{Key: CookieName, Rule: "letters, digits, - and _", Example: "session-id", HTTP: true, judge: Cookie},
	{Key: SameSite, Rule: "Lax, Strict or None", Example: "Strict", HTTP: true, TLS: true, Secure: true,
		judge: oneOf("Lax", "Strict", "None")},
}

// Settings are all that a definition may give, in the order of the documentation.
func Settings() []Setting { return slices.Clone(settings) }

// Find is the setting of the key.
func Find(key string) (Setting, bool) {
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return settings[i], true
}

// Check says why the setting cannot have the value, or returns nil. The whole value must match.
func (s Setting) Check(value string) error {
	if value == "" {
		return fmt.Errorf("the value is empty; give one such as %q", s.Example)
	}
	if err := s.judge(value); err != nil {
		return fmt.Errorf("%w: it takes %s, such as %q", err, s.Rule, s.Example)
	}
	return nil
}
