package lease

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxPath is the Gateway API's limit; the other targets accept longer paths.
const maxPath = 1024

// CheckPath returns an error if a path cannot be routed. It accepts only what every target accepts, so that routes can
// be migrated between targets: the rules of the Gateway API and Kubernetes for prefixes, and the characters that
// ingress-nginx allows. It rejects a trailing slash: Ingress and the Gateway API treat /a/ like /a, OpenShift's router
// does not.
func CheckPath(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("the path %q does not begin with /", Clip(path))
	case len(path) > maxPath:
		return fmt.Errorf("the path has %d characters; at most %d are allowed", len(path), maxPath)
	case strings.Contains(path, "//"):
		return fmt.Errorf("the path %q has an empty segment", Clip(path))
	case len(path) > 1 && strings.HasSuffix(path, "/"):
		return fmt.Errorf("the path %q ends with a slash; write %q, which serves both", Clip(path), Clip(strings.TrimSuffix(path, "/")))
	}
	for i := range len(path) {
		if c := path[i]; !isPathByte(c) {
			return fmt.Errorf("the path %q may not hold %s (letters, digits, \"-\", \"_\" and \".\" in segments joined by \"/\")",
				Clip(path), badCharacter(path[i:]))
		}
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("the path %q has the segment %q", Clip(path), segment)
		}
	}
	return nil
}

func isPathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-_.", c) >= 0
}

// badCharacter returns the first character of s, quoted.
func badCharacter(s string) string {
	for _, r := range s {
		return fmt.Sprintf("%q", r)
	}
	return ""
}

// CheckRoute returns an error if a path of a host or wildcard cannot be claimed and routed.
func CheckRoute(host, path string) error {
	if err := CheckHostOrWildcard(host); err != nil {
		return err
	}
	if err := CheckPath(path); err != nil {
		return err
	}
	return checkRouteName(host, path, false)
}

// checkRouteName returns an error if the names of the route's objects would be too long: for further paths, wildcards
// and redirects they are longer than the host.
func checkRouteName(host, path string, redirects bool) error {
	name := RouteName(host, path)
	if redirects {
		name = RedirectName(name)
	}
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return fmt.Errorf("%q is too long: the route of its path %s would have a name of %d characters; at most %d are allowed",
			host, Clip(path), len(name), validation.DNS1123SubdomainMaxLength)
	}
	return nil
}
