// Package grammar validates texts of a definition that are passed to routers: header rules and the annotations of
// OpenShift's router. The router ignores values that it cannot read, clips values that are too large, and writes the
// rest into its configuration. This package rejects both with a reason.
package grammar

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTime is HAProxy's longest time; OpenShift's router clips longer ones.
const maxTime = math.MaxInt32 // milliseconds

// units maps the units of a time to microseconds.
var units = map[string]uint64{
	"us": 1, "": 1e3, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6, "d": 86400e6,
}

// timeSpec validates a time of HAProxy.
func timeSpec(value string) error {
	digits := strings.TrimRight(value, "usmhd")
	unit, known := units[value[len(digits):]]
	if !known || !isNumber(digits) {
		return fmt.Errorf("%q is not a time", clip(value))
	}
	// ParseUint returns the largest number on overflow.
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > maxTime*1000/unit {
		return fmt.Errorf("%q is longer than %dms (24d20h31m), and the router would shorten it", clip(value), maxTime)
	}
	return nil
}

// isNumber reports whether s is a whole number from 1 without leading zeros.
func isNumber(s string) bool {
	return s != "" && s[0] != '0' && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// count validates a limit. The router would also accept numbers with a sign, and 0, which admits nothing or means no
// limit.
func count(value string) error {
	if n, err := strconv.ParseUint(value, 10, 64); !isNumber(value) || err != nil || n > math.MaxInt32 {
		return fmt.Errorf("%q is not a number from 1 to %d", clip(value), math.MaxInt32)
	}
	return nil
}

// truth validates a boolean. The router reads everything that it does not know as false.
func truth(value string) error {
	if _, err := strconv.ParseBool(value); err != nil {
		return fmt.Errorf("%q is neither true nor false", clip(value))
	}
	return nil
}

func oneOf(words ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("%q is not one of its values", clip(value))
		}
		return nil
	}
}

// addresses validates an allowlist. The router drops members that it cannot read and, if none is free, admits all
// clients. Therefore one invalid member makes the whole list invalid.
func addresses(value string) error {
	if strings.Trim(value, " \t") != value {
		return fmt.Errorf("the list begins or ends with a space, and the router would let everybody in")
	}
	for member := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ' ' || r == '\t' }) {
		if err := address(member); err != nil {
			return err
		}
	}
	return nil
}

func address(member string) error {
	a, err := netip.ParseAddr(member)
	prefix := netip.Prefix{}
	if strings.Contains(member, "/") {
		prefix, err = netip.ParsePrefix(member)
		a = prefix.Addr()
	}
	switch {
	case err != nil || a.Zone() != "":
		return fmt.Errorf("%q is neither an address nor a CIDR", clip(member))
	case a.Is4In6():
		return fmt.Errorf("%q is an IPv4 address as IPv6; write it as IPv4", clip(member))
	case prefix.IsValid() && prefix.Masked() != prefix:
		return fmt.Errorf("%q has host bits set; write %s, or %s for the one address", clip(member), prefix.Masked(), a)
	}
	return nil
}

// hsts validates a Strict-Transport-Security header: max-age and, each at most once, the two directives that the router
// knows.
func hsts(value string) error {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(value, ";") {
		name, argument, has := strings.Cut(strings.Trim(part, " \t"), "=")
		name = strings.ToLower(strings.TrimRight(name, " \t"))
		age := strings.TrimLeft(argument, " \t")
		if quoted, ok := strings.CutPrefix(age, `"`); ok {
			age, ok = strings.CutSuffix(quoted, `"`)
			has = has && ok
		}
		isAge := name == "max-age" && has && age != "" && !strings.ContainsFunc(age, func(r rune) bool { return r < '0' || r > '9' })
		if !isAge && (has || name != "includesubdomains" && name != "preload") {
			return fmt.Errorf("%q is not a directive of the header", clip(part))
		}
		if seen[name] {
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
	}
	if !seen["max-age"] {
		return fmt.Errorf("max-age is missing")
	}
	if strings.Trim(value, " \t") != value {
		return fmt.Errorf("the header begins or ends with a space")
	}
	return nil
}

// rewrite validates the path that replaces the route's path. It rejects characters with a meaning in HAProxy's
// configuration or in a request line, although the router would accept them.
func rewrite(value string) error {
	if value[0] != '/' {
		return fmt.Errorf("%q does not begin with /", clip(value))
	}
	if strings.ContainsFunc(value, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("-._~/", r) }) {
		return fmt.Errorf("%q has a character that may not stand in it", clip(value))
	}
	return nil
}

// Cookie returns an error if a cookie cannot have the name.
func Cookie(name string) error {
	const most = 128
	if len(name) > most {
		return fmt.Errorf("the name of the cookie has %d characters; at most %d are allowed", len(name), most)
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isAlphanumeric(r) && r != '-' && r != '_' }) {
		return fmt.Errorf("%q is not the name of a cookie", clip(name))
	}
	return nil
}

// clip shortens a value for a message.
func clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

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

// The limits of header rules (openshift/api: route's HTTPHeaders).
const (
	MaxHeaderRules = 20
	maxHeaderName  = 255
	maxHeaderValue = 16384
)

// reservedHeaders may not be changed, because the router sets them (openshift/library-go: route validation).
var reservedHeaders = []string{"strict-transport-security", "proxy", "cookie", "set-cookie"}

// HeaderName returns an error if no header rule can have the header.
func HeaderName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the header's name is empty")
	case len(name) > maxHeaderName:
		return fmt.Errorf("the header's name has %d characters; at most %d are allowed", len(name), maxHeaderName)
	case strings.ContainsFunc(name, func(r rune) bool { return !isTokenRune(r) }):
		return fmt.Errorf("%q is not the name of a header (letters, digits and !#$%%&'*+-.^_`|~), such as X-Frame-Options", name)
	case slices.Contains(reservedHeaders, strings.ToLower(name)):
		return fmt.Errorf("the header %q may not be changed; nor may %s", name, strings.Join(reservedHeaders, ", "))
	}
	return nil
}

// isTokenRune reports whether a header's name may contain r (RFC 9110: token).
func isTokenRune(r rune) bool { return isAlphanumeric(r) || strings.ContainsRune("!#$%&'*+-.^_`|~", r) }

// HeaderValue returns an error if a header cannot be set to the value. The grammar is that of OpenShift's Routes: text
// in which "%%" is a percent sign, and those HAProxy expressions that read a header of the same direction or the
// client's certificate: %[req.hdr(Name)], %[res.hdr(Name)] and %[ssl_c_der], each optionally followed by ",lower" and
// ",base64" inside the brackets and preceded by flags such as {+Q}.
func HeaderValue(value string, response bool) error {
	switch {
	case value == "":
		return fmt.Errorf("the header's value is empty; action Delete removes a header")
	case len(value) > maxHeaderValue:
		return fmt.Errorf("the header's value has %d bytes; at most %d are allowed", len(value), maxHeaderValue)
	}
	direction := "req"
	if response {
		direction = "res"
	}
	if i := strings.IndexFunc(value, unicode.IsControl); i >= 0 {
		c, _ := utf8.DecodeRuneInString(value[i:])
		return fmt.Errorf("the header's value has the control character %q", c)
	}
	for rest := value; rest != ""; {
		switch c := rest[0]; {
		case c != '%':
			rest = rest[1:]
		case strings.HasPrefix(rest, "%%"):
			rest = rest[2:]
		default:
			n := expression(rest, direction)
			if n == 0 {
				return fmt.Errorf("the header's value has a %% that begins no expression; write %%%% for the sign, or one such as "+
					"%%[%s.hdr(Host)] or %%{+Q}[ssl_c_der,base64]", direction)
			}
			rest = rest[n:]
		}
	}
	return nil
}

// expression returns the length of the expression at the start of s, or 0 if there is none.
func expression(s, direction string) int {
	rest := s[1:]
	if after, ok := strings.CutPrefix(rest, "{"); ok {
		flags, tail, closed := strings.Cut(after, "}")
		if !closed || !isFlags(flags) {
			return 0
		}
		rest = tail
	}
	after, ok := strings.CutPrefix(rest, "[")
	inner, tail, closed := strings.Cut(after, "]")
	if !ok || !closed {
		return 0
	}
	fetch, converters, _ := strings.Cut(inner, ",")
	if strings.Contains(inner, ",") && !isConverters(converters) || !isFetch(fetch, direction) {
		return 0
	}
	return len(s) - len(tail)
}

// isFlags reports whether s is a comma-separated list of Q, X and E, each with an optional sign.
func isFlags(s string) bool {
	for flag := range strings.SplitSeq(s, ",") {
		if len(flag) == 2 && (flag[0] == '+' || flag[0] == '-') {
			flag = flag[1:]
		}
		if flag != "Q" && flag != "X" && flag != "E" {
			return false
		}
	}
	return true
}

func isConverters(s string) bool {
	for converter := range strings.SplitSeq(s, ",") {
		if converter != "lower" && converter != "base64" {
			return false
		}
	}
	return true
}

func isFetch(s, direction string) bool {
	if s == "ssl_c_der" {
		return true
	}
	name, ok := strings.CutPrefix(s, direction+".hdr(")
	name, closed := strings.CutSuffix(name, ")")
	return ok && closed && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !isAlphanumeric(r) && r != '-' })
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
