package render

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// gatewayPrefix is the prefix of the annotations that Akash's provider writes on HTTPRoutes.
const gatewayPrefix = "nginx.org/"

// GatewayAnnotations converts the HTTP options in an Ingress's annotations to annotations of an HTTPRoute, as Akash's
// provider does (provider: migrations/ingress_to_httproute.go): it rounds numbers up, copies the size and the failure
// cases unchanged, and uses Akash's defaults for missing and unreadable values.
func GatewayAnnotations(ingress map[string]string) map[string]string {
	from := func(key string) string { return ingress[nginxPrefix+key] }
	number := func(key string, otherwise int64) string {
		return strconv.FormatInt(wholeNumber(from(key), otherwise), 10)
	}
	a := map[string]string{
		gatewayPrefix + "client-max-body-size":      "1m",
		gatewayPrefix + "proxy-read-timeout":        number("proxy-read-timeout", 60),
		gatewayPrefix + "proxy-send-timeout":        number("proxy-send-timeout", 60),
		gatewayPrefix + "proxy-next-upstream-tries": number("proxy-next-upstream-tries", 3),
	}
	if size := from("proxy-body-size"); size != "" {
		a[gatewayPrefix+"client-max-body-size"] = size
	}
	if cases := from("proxy-next-upstream"); cases != "" {
		a[gatewayPrefix+"proxy-next-upstream"] = cases
	}
	if wholeNumber(from("proxy-next-upstream-timeout"), 0) > 0 {
		a[gatewayPrefix+"proxy-next-upstream-timeout"] = number("proxy-next-upstream-timeout", 0) + "s"
	}
	return a
}

// wholeNumber reads a number and rounds it up. It returns otherwise if the text is not a number.
func wholeNumber(text string, otherwise int64) int64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > math.MaxUint32 {
		return otherwise
	}
	return int64(math.Ceil(n))
}

// readNGINX reads the HTTP options from nginx's annotations with the prefix. body is the key of the body size.
func (r *reader) readNGINX(prefix, body string) {
	o := &r.Expose.HTTP
	option := func(key string, read func(text string) bool) {
		text, given := r.annotations[prefix+key]
		if given && read(text) {
			r.take(prefix + key)
		}
	}
	option(body, func(s string) bool { return readSize(s, &o.MaxBodySize) })
	option("proxy-read-timeout", func(s string) bool { return readSeconds(s, &o.ReadTimeout) })
	option("proxy-send-timeout", func(s string) bool { return readSeconds(s, &o.SendTimeout) })
	option("proxy-next-upstream-timeout", func(s string) bool {
		return s == "0" || readSeconds(s, &o.NextTimeout)
	})
	option("proxy-next-upstream-tries", func(s string) bool {
		n := wholeNumber(s, 0)
		o.NextTries = uint32(n)
		return n > 0
	})
	option("proxy-next-upstream", func(s string) bool { return readCases(s, &o.NextCases) })
}

// readSeconds reads a duration in nginx's format: seconds without a unit, or a number with a unit.
func readSeconds(text string, into *time.Duration) bool {
	if n := wholeNumber(text, 0); n > 0 {
		*into = time.Duration(n) * time.Second
		return true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d%time.Millisecond != 0 {
		return false
	}
	*into = d
	return true
}

// readSize reads a size in nginx's format. A definition cannot express 0, which means unlimited.
func readSize(text string, into *uint32) bool {
	digits, unit := strings.ToLower(text), uint64(1)
	for suffix, factor := range map[string]uint64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = rest, factor
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 || n*unit > math.MaxUint32 {
		return false
	}
	*into = uint32(n * unit)
	return true
}

// readCases reads the failures after which nginx tries another backend. A definition can express only those that Akash
// accepts.
func readCases(text string, into *[]string) bool {
	var cases []string
	for _, c := range strings.Fields(text) {
		c = strings.TrimPrefix(c, "http_")
		if !lease.IsNextCase(c) {
			return false
		}
		cases = append(cases, c)
	}
	*into = cases
	return len(cases) > 0
}
