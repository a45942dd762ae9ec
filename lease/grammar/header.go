package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// The limits of header rules (openshift/api: route's HTTPHeaders).
const (
	MaxHeaderRules = 20
	maxHeaderName  = 255
	maxHeaderValue = 16384
)

// reservedHeaders may not be changed: the router itself answers for them (openshift/library-go:
// route validation).
var reservedHeaders = []string{"strict-transport-security", "proxy", "cookie", "set-cookie"}

// HeaderName says why a header rule cannot be about the header, or returns nil.
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

// isTokenRune is true for what may stand in a header's name (RFC 9110: token).
func isTokenRune(r rune) bool { return isAlphanumeric(r) || strings.ContainsRune("!#$%&'*+-.^_`|~", r) }

// HeaderValue says why a header cannot be set to the value, or returns nil. The grammar is that of
// OpenShift's Routes: plain text, "%%" for a percent sign, and of HAProxy's expressions the ones
// that read a header of the same direction or the client's certificate:
// %[req.hdr(Name)], %[res.hdr(Name)], %[ssl_c_der], each with ",lower" and ",base64" behind it and
// flags such as {+Q} before it.
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
	for rest := value; rest != ""; {
		switch c := rest[0]; {
		case c < ' ' || c == 0x7f:
			return fmt.Errorf("the header's value has the control character %q", c)
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

// expression is the length of the expression at the beginning of s, or 0.
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

// isFlags is true for letters of Q, X and E with a sign before them or not, joined by commas.
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
