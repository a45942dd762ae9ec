package grammar_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

func TestHeaderName(t *testing.T) {
	for name, want := range map[string]string{
		"X-Frame-Options": "", "host": "", "a": "", "X_1.~!#$%&'*+^`|": "", strings.Repeat("a", 255): "",
		"":                          "is empty",
		strings.Repeat("a", 256):    "has 256 characters",
		"X Frame":                   "not the name of a header",
		"X-Frame:":                  "not the name of a header",
		"X-Größe":                   "not the name of a header",
		"a\n":                       "not the name of a header",
		"(a)":                       "not the name of a header",
		"Cookie":                    "may not be changed",
		"SET-COOKIE":                "may not be changed",
		"proxy":                     "may not be changed",
		"Strict-Transport-Security": "may not be changed",
	} {
		expect(t, fmt.Sprintf("name %q", name), grammar.HeaderName(name), want)
	}
}

// headerValues has for each value what is wrong with it, DIR standing for the direction. The verdicts
// are those of OpenShift's validation.
var headerValues = map[string]string{
	"a": "", "abc def": "", `abc\ def`: "", `"a" 'b'`: "", " T ": "", "1;mode=block": "", "text/plain,text/html": "", "http:??//url": "",
	"%%": "", "%%%%%%0": "", "50%% off": "", "größer": "", "${VARIABLE": "", "{+Q}[ssl_c_der]": "",
	"%[DIR.hdr(Host)]": "", "%[DIR.hdr(X-A)] if foo": "", "%[DIR.hdr(Host),lower]": "", "%[DIR.hdr(Host),lower,base64]": "",
	"%[ssl_c_der,base64]": "", "%{+Q}[ssl_c_der,base64]": "", "%{Q,-X,+E}[ssl_c_der]": "", "a%[DIR.hdr(a)]%%%[DIR.hdr(b)]c": "",
	strings.Repeat("v", 16384): "",

	"":                            "is empty",
	strings.Repeat("v", 16385):    "has 16385 bytes",
	"\r":                          "control character",
	"a\r\nSet-Cookie: b":          "control character",
	"\tT":                         "control character",
	"a\x7f":                       "control character",
	"a\x00":                       "control character",
	"%":                           "begins no expression",
	"%%%":                         "begins no expression",
	"%T":                          "begins no expression",
	"%[]":                         "begins no expression",
	"%[%[]]":                      "begins no expression",
	"%{+Q}":                       "begins no expression",
	"%{+Q}foo":                    "begins no expression",
	"%{}[ssl_c_der]":              "begins no expression",
	"%{+Z}[ssl_c_der]":            "begins no expression",
	"%{Q,}[ssl_c_der]":            "begins no expression",
	"%{Q[DIR.hdr(host)]":          "begins no expression",
	"%{{Q}[DIR.hdr(host)]":        "begins no expression",
	"%Q}[DIR.hdr(host)]":          "begins no expression",
	"%[DIR.hdr()]":                "begins no expression",
	"%[DIR.hdr(%)]":               "begins no expression",
	"%[DIR.hdr(a b)]":             "begins no expression",
	"%[DIR.hdr(Host]":             "begins no expression",
	"%[DIR.hdr(Host)":             "begins no expression",
	"%[DIR.hdrHost)]":             "begins no expression",
	"%DIR.hdr(Host)]":             "begins no expression",
	"%{DIR.hdr(Host)}":            "begins no expression",
	"%[DIR.hdr(host),,lower]":     "begins no expression",
	"%[DIR.hdr(host),]":           "begins no expression",
	"%[DIR.hdr(host),debug()]":    "begins no expression",
	"%[DIR.hdr(host),foo]":        "begins no expression",
	"%[foo,lower]":                "begins no expression",
	"%[ssl_c_der(host)]":          "begins no expression",
	"%[env(FOO)]":                 "begins no expression",
	"%[date(3600),http_date]":     "begins no expression",
	"%ci:%cp [%tr] %[ssl_fc_sni]": "begins no expression",
	"%[REVERSE.hdr(Host)]":        "begins no expression",
}

func TestHeaderValue(t *testing.T) {
	for value, want := range headerValues {
		for direction, other := range map[string]string{"req": "res", "res": "req"} {
			v := strings.NewReplacer("DIR", direction, "REVERSE", other).Replace(value)
			expect(t, fmt.Sprintf("%s %.40q", direction, v), grammar.HeaderValue(v, direction == "res"), want)
		}
	}
}

func expect(t *testing.T, what string, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("%s is accepted, want %q", what, want)
	case err != nil && want == "":
		t.Errorf("%s is refused: %v", what, err)
	case err != nil && !strings.Contains(err.Error(), want):
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}
