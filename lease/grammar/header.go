package grammar

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
