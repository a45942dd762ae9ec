package grammar_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// settingValues has, for the last part of a key, values and what is wrong with each. Where nothing
// is, OpenShift's router takes the value as it stands.
var settingValues = map[string]map[string]string{
	"timeout": {
		"30s": "", "5500ms": "", "10": "", "1us": "", "24d": "", "596h": "", "2147483647ms": "", "2147483647000us": "",
		"": "is empty", "0": "not a time", "0s": "not a time", "01s": "not a time", "1.5s": "not a time", "-1s": "not a time", "+1s": "not a time",
		" 5s": "not a time", "5s ": "not a time", "5m\n": "not a time", "5S": "not a time", "5sec": "not a time", "1d12h": "not a time",
		"s": "not a time", "us": "not a time", "５s": "not a time", "5mms": "not a time",
		"25d": "longer than", "1000h": "longer than", "2147483648": "longer than", "2147483647001us": "longer than",
		"9223372036854775808": "longer than", "99999999999999999999999d": "longer than",
	},
	"balance": {
		"roundrobin": "", "leastconn": "", "source": "", "random": "",
		"": "is empty", "RoundRobin": "not one of", "first": "not one of", "source ": "not one of", "leastconn|source": "not one of", "uri": "not one of",
	},
	"rate-limit-connections": {
		"true": "", "TRUE": "", "True": "", "t": "", "1": "", "false": "", "0": "",
		"": "is empty", "yes": "neither", "on": "neither", "tRuE": "neither", " true": "neither", "true\n": "neither",
	},
	"pod-concurrent-connections": {
		"1": "", "10": "", "2147483647": "",
		"": "is empty", "0": "not a number", "-5": "not a number", "+7": "not a number", "007": "not a number", "1e3": "not a number", "1.0": "not a number",
		" 10": "not a number", "10;": "not a number", "2147483648": "not a number", "99999999999999999999": "not a number",
	},
	"ip_allowlist": {
		"192.0.2.1": "", "192.0.2.0/24": "", "2001:db8::/32": "", "2001:db8::1": "", "192.0.2.1 10.0.0.0/8": "", "192.0.2.1  10.0.0.1": "", "10.0.0.1\t10.0.0.2": "", "0.0.0.0/0": "",
		"": "is empty", " 192.0.2.1": "let everybody in", "192.0.2.1 ": "let everybody in", "\t": "let everybody in",
		"192.0.2.1,10.0.0.1": "neither an address", "all": "neither an address", "192.0.2. 10.0.0.1": "neither an address", "10.0.0.1 all": "neither an address",
		"10.0.0.1/33": "neither an address", "10.0.0.1\n10.0.0.2": "neither an address", "010.0.0.1": "neither an address", "1.2.3.4:80": "neither an address",
		"fe80::1%eth0": "neither an address", "::ffff:1.2.3.4": "write it as IPv4", "10.0.0.1/8": "write 10.0.0.0/8, or 10.0.0.1",
	},
	"hsts_header": {
		"max-age=31536000": "", "max-age=31536000;includeSubDomains;preload": "", "includeSubDomains;max-age=1": "", `max-age="99"`: "", "max-age=99 ; preload": "",
		"MAX-AGE=1;PRELOAD": "", "max-age = 1": "",
		"": "is empty", "max-age=": "not a directive", "max-age=-1": "not a directive", "max-age": "not a directive", "includeSubDomains": "is missing", "max-age=1;foo": "not a directive",
		"max-age=1;": "not a directive", ";max-age=1": "not a directive", "max-age=1;max-age=2": "given twice", `max-age="1`: "not a directive", "max-age=1;preload=1": "not a directive",
		" max-age=1": "begins or ends", "max-age=1 ": "begins or ends", "max-age=1\n": "not a directive", "max-age=1' x '": "not a directive",
	},
	"set-forwarded-headers": {"append": "", "replace": "", "if-none": "", "never": "", "": "is empty", "Append": "not one of", "none": "not one of"},
	"rewrite-target": {
		"/": "", "/foo": "", "/foo/": "", "/a-b_c.d~": "",
		"": "is empty", "foo": "does not begin with /", "/foo bar": "may not stand", "/a\nb": "may not stand", `/\1`: "may not stand", "/%2e": "may not stand", "/a'": "may not stand", "/a#b": "may not stand",
	},
	"cookie_name":      {"session": "", "my-cookie_1": "", "": "is empty", "my cookie": "not the name", "a;b": "not the name", "été": "not the name"},
	"cookie-same-site": {"Lax": "", "Strict": "", "None": "", "": "is empty", "lax": "not one of"},
}

func TestSettings(t *testing.T) {
	same := map[string]string{
		"timeout-tunnel": "timeout", "haproxy.health.check.interval": "timeout", "disable_cookies": "rate-limit-connections", "h1-adjust-case": "rate-limit-connections",
		"rate-limit-connections.concurrent-tcp": "pod-concurrent-connections", "rate-limit-connections.rate-tcp": "pod-concurrent-connections",
		"rate-limit-connections.rate-http": "pod-concurrent-connections", "ip_whitelist": "ip_allowlist",
	}
	for _, s := range grammar.Settings() {
		name := s.Key[strings.LastIndex(s.Key, "/")+1:]
		values := settingValues[name]
		if other, ok := same[name]; ok {
			values = settingValues[other]
		}
		if len(values) == 0 {
			t.Errorf("%s is not tested", s.Key)
		}
		for value, want := range values {
			err := s.Check(value)
			expect(t, s.Key+" "+value, err, want)
			if err != nil && !strings.Contains(err.Error(), s.Example) {
				t.Errorf("%s %q: no good example in %v", s.Key, value, err)
			}
		}
		expect(t, s.Key+"'s example", s.Check(s.Example), "")
	}
}

func TestUnknownSetting(t *testing.T) {
	for _, key := range []string{"", "timeout", "haproxy.router.openshift.io/Timeout", "haproxy.router.openshift.io/", "nginx.ingress.kubernetes.io/server-snippet"} {
		if s, ok := grammar.Find(key); ok {
			t.Errorf("%q is %s", key, s.Key)
		}
	}
}
