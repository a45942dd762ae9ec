// Package grammar validates texts of a definition that are passed to routers: header rules and the annotations of
// OpenShift's router. The router ignores values that it cannot read, clips values that are too large, and writes the
// rest into its configuration. This package rejects both with a reason.
package grammar

import (
	"fmt"
	"slices"
)

// Setting is an annotation of OpenShift's router that a definition may set. Definitions may set no other annotations,
// because those could configure any router.
type Setting struct {
	Key string
	// Rule describes the valid values; Example is one of them.
	Rule, Example string
	// HTTP is true if the setting is about HTTP requests. The router ignores it when it passes TLS through.
	HTTP bool
	// TLS is true if the router applies the setting only when it terminates TLS; Secure, only when it also rejects or
	// redirects requests without TLS.
	TLS, Secure bool
	// Needs is the setting that must be true for the router to apply this one.
	Needs string
	// check validates a value that is not empty.
	check func(value string) error
}

// The prefixes of the settings in OpenShift's documentation.
const (
	haproxy = "haproxy.router.openshift.io/"
	router  = "router.openshift.io/"
)

// The settings that other settings depend on, that exclude each other, or that decide who reaches what.
const (
	RateLimit     = haproxy + "rate-limit-connections"
	Allowlist     = haproxy + "ip_allowlist"
	Whitelist     = haproxy + "ip_whitelist"
	RewriteTarget = haproxy + "rewrite-target"
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

// settings are the settings that the router reads (openshift/router: haproxy-config.template).
var settings = []Setting{
	{Key: haproxy + "timeout", Rule: timeRule, Example: "30s", check: timeSpec},
	{Key: haproxy + "timeout-tunnel", Rule: timeRule, Example: "1h", check: timeSpec},
	{Key: router + "haproxy.health.check.interval", Rule: timeRule, Example: "5s", check: timeSpec},
	{Key: haproxy + "balance", Rule: "roundrobin, leastconn, source or random", Example: "leastconn",
		check: oneOf("roundrobin", "leastconn", "source", "random")},
	{Key: DisableCookie, Rule: boolRule, Example: "true", HTTP: true, check: truth},
	{Key: haproxy + "h1-adjust-case", Rule: boolRule, Example: "true", HTTP: true, check: truth},
	{Key: RateLimit, Rule: boolRule, Example: "true", check: truth},
	{Key: RateLimit + ".concurrent-tcp", Rule: countRule, Example: "10", Needs: RateLimit, check: count},
	{Key: RateLimit + ".rate-tcp", Rule: countRule, Example: "10", Needs: RateLimit, check: count},
	{Key: RateLimit + ".rate-http", Rule: countRule, Example: "10", HTTP: true, Needs: RateLimit, check: count},
	{Key: haproxy + "pod-concurrent-connections", Rule: countRule, Example: "100", check: count},
	{Key: Allowlist, Rule: listRule, Example: "192.0.2.7 203.0.113.0/24", check: addresses},
	{Key: Whitelist, Rule: listRule, Example: "192.0.2.7 203.0.113.0/24", check: addresses},
	{Key: haproxy + "hsts_header", Rule: "max-age, includeSubDomains and preload, joined by ;",
		Example: "max-age=31536000;includeSubDomains;preload", HTTP: true, TLS: true, check: hsts},
	{Key: haproxy + "set-forwarded-headers", Rule: "append, replace, if-none or never", Example: "append", HTTP: true,
		check: oneOf("append", "replace", "if-none", "never")},
	{Key: RewriteTarget, Rule: "/, then letters, digits and -._~/", Example: "/v2", HTTP: true, check: rewrite},
	{Key: CookieName, Rule: "letters, digits, - and _", Example: "session-id", HTTP: true, check: Cookie},
	{Key: SameSite, Rule: "Lax, Strict or None", Example: "Strict", HTTP: true, TLS: true, Secure: true,
		check: oneOf("Lax", "Strict", "None")},
}

// Settings returns all settings, in the order of the documentation.
func Settings() []Setting { return slices.Clone(settings) }

// Find returns the setting with the key.
func Find(key string) (Setting, bool) {
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return settings[i], true
}

// Check returns an error if the setting cannot have the value.
func (s Setting) Check(value string) error {
	if value == "" {
		return fmt.Errorf("the value is empty; give one such as %q", s.Example)
	}
	if err := s.check(value); err != nil {
		return fmt.Errorf("%w: it takes %s, such as %q", err, s.Rule, s.Example)
	}
	return nil
}
