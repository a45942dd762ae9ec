package grammar_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// What is said of headers and settings in full: testdata/rules.txt, a value a line, as it stands between Go's quotes;
// `go test ./lease/grammar -rewrite` writes what is said now.
func TestMessages(t *testing.T) {
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			value, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
			if err != nil {
				t.Fatal(line, err)
			}
			if text, times, ok := strings.Cut(value, "×"); ok {
				n, err := strconv.Atoi(times)
				if err != nil {
					t.Fatal(line, err)
				}
				value = strings.Repeat(text, n)
			}
			switch d.Cmd {
			case "name":
				err = grammar.HeaderName(value)
			case "request":
				err = grammar.HeaderValue(value, false)
			case "response":
				err = grammar.HeaderValue(value, true)
			default:
				setting, ok := grammar.Find("haproxy.router.openshift.io/" + d.Cmd)
				if !ok {
					setting, ok = grammar.Find("router.openshift.io/" + d.Cmd)
				}
				if !ok {
					t.Fatalf("%s is no setting", d.Cmd)
				}
				err = setting.Check(value)
			}
			said := "good"
			if err != nil {
				said = err.Error()
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", line, said)
		}
		return out.String()
	})
}

// The grammars once more, as OpenShift documents them; a control character is one of Unicode, as terminals take it.
var (
	headerValue = map[bool]*regexp.Regexp{
		false: regexp.MustCompile(`\A(?:%%|%(?:\{[-+]?[QXE](?:,[-+]?[QXE])*\})?\[(?:req\.hdr\([-0-9A-Za-z]+\)|ssl_c_der)(?:,(?:lower|base64))*\]|[^%\p{Cc}])+\z`),
		true:  regexp.MustCompile(`\A(?:%%|%(?:\{[-+]?[QXE](?:,[-+]?[QXE])*\})?\[(?:res\.hdr\([-0-9A-Za-z]+\)|ssl_c_der)(?:,(?:lower|base64))*\]|[^%\p{Cc}])+\z`),
	}
	token = `(?:includeSubDomains|preload)`
	wider = map[string]*regexp.Regexp{
		"timeout":         regexp.MustCompile(`\A[1-9][0-9]*(?:us|ms|s|m|h|d)?\z`),
		"hsts_header":     regexp.MustCompile(`(?i)\A(?:` + token + `\s*[;]\s*)*max-age\s*=\s*(?:\d+|"\d+")(?:\s*[;]\s*` + token + `)*\z`),
		"ip_allowlist":    regexp.MustCompile(`\A[0-9a-fA-F:./]+(?:[ \t]+[0-9a-fA-F:./]+)*\z`),
		"rewrite-target":  regexp.MustCompile(`\A/[^\s%\\'"#]*\z`),
		"cookie_name":     regexp.MustCompile(`\A[a-zA-Z0-9_-]+\z`),
		"disable_cookies": regexp.MustCompile(`\A(?:1|t|T|true|TRUE|True|0|f|F|false|FALSE|False)\z`),
	}
)

func FuzzHeaderValue(f *testing.F) {
	for _, value := range []string{"abc def", "%%", "50% off", "%[req.hdr(Host),lower]", "%[res.hdr(a)]", "%{+Q,-X}[ssl_c_der,base64]", "%{Q", "a\r\nb", "%[env(FOO)]"} {
		f.Add(value, false)
		f.Add(value, true)
	}
	f.Fuzz(func(t *testing.T, value string, response bool) {
		err := grammar.HeaderValue(value, response)
		if want := len(value) <= 16384 && headerValue[response].MatchString(value); (err == nil) != want {
			t.Errorf("%q: %v, want accepted: %v", value, err, want)
		}
	})
}

func FuzzHeaderName(f *testing.F) {
	f.Add("X-Frame-Options")
	f.Add("set-cookie")
	name := regexp.MustCompile("\\A[-!#$%&'*+.0-9A-Z^_`a-z|~]{1,255}\\z")
	f.Fuzz(func(t *testing.T, s string) {
		reserved := slices.Contains([]string{"strict-transport-security", "proxy", "cookie", "set-cookie"}, strings.ToLower(s))
		if err := grammar.HeaderName(s); (err == nil) != (name.MatchString(s) && !reserved) {
			t.Errorf("%q: %v", s, err)
		}
	})
}

// FuzzSettings: what is accepted is within the router's grammar and ends nothing that it stands in.
func FuzzSettings(f *testing.F) {
	settings := grammar.Settings()
	for i, s := range settings {
		for _, value := range []string{"", "30s", "01s", "true", "1", "192.0.2.1 10.0.0.0/8", "max-age=1;preload", "/a b", "a\nb"} {
			f.Add(byte(i), value)
		}
		f.Add(byte(i), s.Example)
	}
	f.Fuzz(func(t *testing.T, i byte, value string) {
		s := settings[int(i)%len(settings)]
		if err := s.Check(value); err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%s: the message has more than one line: %q", s.Key, err)
			}
			return
		}
		if strings.ContainsAny(value, "\n\r\\'#{}$") || value == "" {
			t.Errorf("%s takes %q", s.Key, value)
		}
		name := s.Key[strings.LastIndex(s.Key, "/")+1:]
		if re := wider[name]; re != nil && !re.MatchString(value) {
			t.Errorf("%s takes %q, the router does not", s.Key, value)
		}
	})
}

// Each setting takes its example, and names it where it takes a value not.
func TestExamples(t *testing.T) {
	for _, s := range grammar.Settings() {
		if err := s.Check(s.Example); err != nil {
			t.Errorf("%s: %v", s.Key, err)
		}
		for _, value := range []string{"", "?"} {
			if err := s.Check(value); err == nil || !strings.Contains(err.Error(), s.Example) {
				t.Errorf("%s takes %q: %v", s.Key, value, err)
			}
		}
	}
}

func TestUnknownSetting(t *testing.T) {
	for _, key := range []string{"", "timeout", "haproxy.router.openshift.io/Timeout", "haproxy.router.openshift.io/", "nginx.ingress.kubernetes.io/server-snippet"} {
		if s, ok := grammar.Find(key); ok {
			t.Errorf("%q is %s", key, s.Key)
		}
	}
}
