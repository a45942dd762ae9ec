package grammar

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
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

// addresses validates an allowlist. The router drops members that it cannot read and, if none is left, admits all
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
