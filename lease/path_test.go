package lease_test

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// paths has what is wrong with each.
var paths = map[string]string{
	"/": "", "/v2": "", "/a/b/c": "", "/v1.0": "", "/.well-known/acme-challenge": "", "/a_b-c.d": "", "/...": "", "/A/a": "", "/" + strings.Repeat("a", 1023): "",
	"":                              "does not begin with /",
	"test":                          "does not begin with /",
	"*":                             "does not begin with /",
	"/" + strings.Repeat("a", 1024): "has 1025 characters",
	"//":                            "empty segment",
	"/a//b":                         "empty segment",
	"/a/":                           `write "/a", which serves both`,
	"/a#b":                          "may not hold '#'",
	"/a b":                          "may not hold ' '",
	"/a?b":                          "may not hold '?'",
	"/a\nb":                         `may not hold '\n'`,
	"/a\tb":                         `may not hold '\t'`,
	"/ä":                            "may not hold 'ä'",
	"/a%2fb":                        "may not hold '%'",
	"/a(.*)":                        "may not hold '('",
	"/a;b":                          "may not hold ';'",
	"/~a":                           "may not hold '~'",
	"/a:b":                          "may not hold ':'",
	`/a"b`:                          "may not hold '\"'",
	"/$1":                           "may not hold '$'",
	"/{a}":                          "may not hold '{'",
	"/.":                            `the segment "."`,
	"/..":                           `the segment ".."`,
	"/a/../b":                       `the segment ".."`,
	"/a/./b":                        `the segment "."`,
}

func TestCheckPath(t *testing.T) {
	for path, want := range paths {
		if got := errText(lease.CheckPath(path)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.40q: %q, want %q", path, got, want)
		}
	}
}

// TestCheckRoute is also what reserve HOST/PATH is judged by.
func TestCheckRoute(t *testing.T) {
	long := strings.Repeat("a.", 117) + "a" // 235 characters, and 18 come before a path's
	for _, c := range []struct{ host, path, want string }{
		{"shop.example.com", "/", ""},
		{"*.example.com", "/v2", ""},
		{long, "/v2", ""},
		{long + "b", "/v2", "a name of 254 characters"},
		{long + "b", "/", ""},
		{"*.com", "/", "covers a whole top-level domain"},
		{"*.", "/", "is empty"},
		{"*.*.example.com", "/", "is a wildcard where a host name is expected"},
		{"a.*.example.com", "/", "is not a host name"},
		{"*example.com", "/", "is not a host name"},
		{"*.203.0.113.7", "/", "is an IP address"},
		{"*." + strings.Repeat("a.", 122) + "a", "/", ""},
		{"*." + strings.Repeat("a.", 122) + "ab", "/", "a name of 254 characters"},
		{"*.pt--a.example.com", "/", "is reserved"},
		{"*.Example.com", "/", `write "example.com"`},
		{"shop.example.com", "v2", "does not begin"},
	} {
		if got := errText(lease.CheckRoute(c.host, c.path)); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%.40s %s: %q, want %q", c.host, c.path, got, c.want)
		}
	}
}

// FuzzPath compares with the rules of the targets: OpenShift's, the Gateway API's and Kubernetes'
// for a prefix, and the characters that ingress-nginx takes.
func FuzzPath(f *testing.F) {
	for path := range paths {
		f.Add(path)
	}
	characters := regexp.MustCompile(`\A/[-A-Za-z0-9_./]*\z`)
	f.Fuzz(func(t *testing.T, path string) {
		err := lease.CheckPath(path)
		refused := !characters.MatchString(path) || len(path) > 1024 || strings.Contains(path, "//") || strings.Contains(path, "/./") ||
			strings.Contains(path, "/../") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") || len(path) > 1 && strings.HasSuffix(path, "/")
		if (err != nil) != refused {
			t.Errorf("%q: %v", path, err)
		}
		if name := lease.RouteName("shop.example.com", path); err == nil && len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("the route of %q would be named %q", path, name)
		}
	})
}
