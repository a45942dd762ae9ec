package render

import (
	"regexp"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// given is an HTTP option that differs from Akash's default.
type given struct {
	name string
	at   lease.Place
}

// given lists the HTTP options of the definition by the names that they have there. The defaults
// are left to the router where a target has no field for them.
func (r route) given() []given {
	o, at := r.expose.HTTP, r.expose.HTTPAt
	if at == nil {
		at = &lease.HTTPPlaces{}
	}
	var all []given
	for _, option := range []struct {
		given
		set bool
	}{
		{given{"maxBodySize", at.MaxBodySize}, o.MaxBodySize != 0},
		{given{"readTimeout", at.ReadTimeout}, o.ReadTimeout != 0},
		{given{"sendTimeout", at.SendTimeout}, o.SendTimeout != 0},
		{given{"nextTries", at.NextTries}, o.NextTries != 0},
		{given{"nextTimeout", at.NextTimeout}, o.NextTimeout != 0},
		{given{"nextCases", at.NextCases}, len(o.NextCases) > 0},
	} {
		if option.set {
			all = append(all, option.given)
		}
	}
	return all
}

// checkPassthrough refuses what needs a router that sees HTTP.
func (l *leased) checkPassthrough(r route) {
	const why = "with TLS passed through to the backend, the router sees no HTTP"
	for _, option := range r.given() {
		l.refuse(r, option.at, "%s: no %s", why, option.name)
	}
	if s := r.routing.Sticky; s != nil && !s.Disabled {
		l.refuse(r, r.routing.At.Sticky, "%s: no sticky sessions by cookie", why)
	}
	if len(r.routing.RequestHeaders)+len(r.routing.ResponseHeaders) > 0 {
		l.refuse(r, r.routing.At.Headers, "%s: no header rules", why)
	}
}

// refuseAnnotations refuses the settings of OpenShift's router on other targets.
func (l *leased) refuseAnnotations(r route) {
	for _, a := range r.routing.Annotations {
		l.refuse(r, a.At, "%s is a setting of OpenShift's router: only the target route has it", a.Key)
	}
}

// backendName is the name for which a backend's certificate is to be, where a CA of the lease
// verifies it: that of its Service, which the tenant's CA can sign whatever the hosts are.
func (l *leased) backendName(service string) string { return service + "." + l.namespace + ".svc" }

// The paths that the targets take: ingress-nginx (strict-validate-path-type, on since 1.12), the
// Gateway API's CRD, and NGINX Gateway Fabric, which writes the path into a file of nginx's.
var (
	ingressPath = regexp.MustCompile(`^/[-A-Za-z0-9/._]*$`)
	gatewayPath = regexp.MustCompile(`^/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$`)
	fabricPath  = regexp.MustCompile(`^[^;$]*$`)
)

// maxGatewayPath is the longest path of an HTTPRoute.
const maxGatewayPath = 1024

// checkPath refuses paths that the API server or the controller would. OpenShift's router takes
// any.
func (l *leased) checkPath(r route) {
	if r.path == "/" || r.target == config.TargetRoute {
		return
	}
	at := r.expose.PathAt
	what, takes := "an Ingress", ingressPath.MatchString(r.path)
	if r.target == config.TargetHTTPRoute {
		what, takes = "an HTTPRoute", gatewayPath.MatchString(r.path) && len(r.path) <= maxGatewayPath
		if l.cfg.Gateway.Implementation != config.GatewayStandard && !fabricPath.MatchString(r.path) {
			what, takes = "NGINX Gateway Fabric", false
		}
	}
	path := strings.ToLower(strings.TrimSuffix(r.path, "/")) + "/"
	for _, never := range []string{"//", "/./", "/../", "%2f"} {
		takes = takes && !strings.Contains(path, never)
	}
	if !takes {
		l.refuse(r, at, "%s does not take the path %q", what, r.path)
	}
}
