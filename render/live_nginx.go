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

// GatewayAnnotations are the HTTP options of an Ingress's annotations as Akash's provider carries
// them over to an HTTPRoute (provider: migrations/ingress_to_httproute.go): numbers are rounded up, a
// size and the outcomes stay as they are written, and where nothing readable is said its defaults
// stand.
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

// wholeNumber is a number rounded up, or the other one where the text is none.
func wholeNumber(text string, otherwise int64) int64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > math.MaxUint32 {
		return otherwise
	}
	return int64(math.Ceil(n))
}

// readNGINX reads the HTTP options from nginx's annotations, of either prefix.
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

// readSeconds reads a time as nginx writes it: seconds without a unit, or with one.
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

// readSize reads a size as nginx writes it. Without a limit (0) there is no word for it.
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

// readCases reads the outcomes after which nginx tries another backend. Only those that Akash knows
// have a word.
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
