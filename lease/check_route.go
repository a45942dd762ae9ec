package lease

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// hostUser is one use of a host in a deployment.
type hostUser struct {
	passthrough bool
	at          Place
}

// notRouted is the message for fields that only routed ports can have.
const notRouted = "only ports that are routed over HTTP have %s (global, TCP, and 80 outside or with tls)"

func (c *checker) path(e *Expose) {
	if e.Path == "" {
		return
	}
	if err := CheckPath(e.Path); err != nil {
		c.problems.Add(e.PathAt, "%v", err)
		return
	}
	if !e.IsIngress() && !c.missing(e.Port == 0) {
		c.problems.Add(e.PathAt, notRouted, "a path")
	}
	if e.passesThrough() {
		c.problems.Add(e.PathAt, "passthrough hides the path of a request from the router: there can be none")
	}
}

// TLS returns the TLS settings of the expose's routes, or nil.
func (e *Expose) TLS() *TLS {
	if e.Routing == nil {
		return nil
	}
	return e.Routing.TLS
}

func (e *Expose) passesThrough() bool {
	return e.TLS() != nil && e.TLS().Termination == Passthrough
}

// redirects reports whether requests without TLS are redirected. Some targets need a second route for that.
func (e *Expose) redirects() bool {
	return e.TLS() != nil && e.TLS().Insecure == InsecureRedirect
}

// host validates a host's name, and that each path of the host is served by one port of one service.
func (c *checker) host(e *Expose, h Host) {
	path := e.RoutePath()
	err := CheckHostOrWildcard(h.Name)
	if err == nil {
		err = checkRouteName(h.Name, path, e.redirects())
	}
	if err != nil {
		c.problems.Add(h.At, "%v", err)
		return
	}
	use := hostUser{e.passesThrough(), h.At}
	if first, again := c.routes[routeKey{h.Name, path}]; again {
		at, also := laterEarlier(first.at, h.At)
		if path == "/" {
			c.problems.Add(at, "host %q is named twice%s; a host leads to one port of one service", h.Name, alsoAt(also))
		} else {
			c.problems.Add(at, "path %s of host %q is named twice%s; it leads to one port of one service", path, h.Name, alsoAt(also))
		}
		return
	}
	first, other := c.passthrough[h.Name]
	if !other && use.passthrough {
		first, other = c.hosts[h.Name]
	}
	if other {
		at, also := laterEarlier(first.at, h.At)
		c.problems.Add(at, "host %q passes TLS through, so it has one path only; it is named twice%s", h.Name, alsoAt(also))
		return
	}
	c.routes[routeKey{h.Name, path}] = use
	if _, known := c.hosts[h.Name]; !known {
		c.hosts[h.Name] = use
	}
	if use.passthrough {
		c.passthrough[h.Name] = use
	}
}

// routing validates the route settings of an expose. The rules for TLS, weights, headers and annotations are
// OpenShift's, because they are the strictest; rendering for a target may refuse more.
func (c *checker) routing(s *Service, e *Expose) {
	r := e.Routing
	if !e.IsIngress() {
		if !c.missing(e.Port == 0) {
			c.notRouted(e)
		}
		return
	}
	if r.TLS != nil {
		c.tls(r.TLS, r.At.TLS)
	}
	if e.passesThrough() {
		c.passthroughOptions(e)
	}
	c.weights(s, e)
	c.sticky(r)
	c.headers(r.Headers.Request, "request", false, r.At.Headers)
	c.headers(r.Headers.Response, "response", true, r.At.Headers)
	c.annotations(r)
	c.labels(r)
}

func (c *checker) notRouted(e *Expose) {
	r := e.Routing
	for _, part := range []struct {
		given bool
		what  string
		at    Place
	}{
		{r.TLS != nil, "tls", r.At.TLS},
		{r.Weight != nil, "a weight", r.At.Weight},
		{len(r.Backends) > 0, "alternateBackends", r.At.AlternateBackends},
		{r.Sticky != nil, "sticky", r.At.Sticky},
		{len(r.Headers.Request)+len(r.Headers.Response) > 0, "headers", r.At.Headers},
		{len(r.Annotations) > 0, "annotations", r.At.Annotations},
		{len(r.Labels) > 0, "labels", r.At.Labels},
	} {
		if part.given {
			c.problems.Add(cmp.Or(part.at, e.At), notRouted, part.what)
		}
	}
}

func (c *checker) tls(t *TLS, at Place) {
	switch t.Termination {
	case Edge, Passthrough, Reencrypt:
	default:
		c.problems.Add(at, "unknown termination %q; edge, passthrough and reencrypt are known", t.Termination)
		return
	}
	switch t.Insecure {
	case "", InsecureNone, InsecureAllow, InsecureRedirect:
	default:
		c.problems.Add(at, "unknown insecure %q; None, Allow and Redirect are known", t.Insecure)
	}
	if t.Termination == Edge && t.DestinationCASecretName != "" {
		c.problems.Add(at, "with edge the router speaks plain HTTP to the backend: destinationCASecretName belongs to reencrypt")
	}
	c.secret(at, "secretName", t.SecretName)
	c.secret(at, "destinationCASecretName", t.DestinationCASecretName)
	if t.Issuer != nil && t.Termination != Passthrough {
		c.issuer(t.Issuer, at)
	}
}

func (c *checker) secret(at Place, key, name string) {
	if name != "" && !isSubdomain(name) {
		c.problems.Add(at, "%s %q is not the name of a Secret (a DNS subdomain)", key, Clip(name))
	}
}

func (c *checker) issuer(i *Issuer, at Place) {
	if !isSubdomain(i.Name) && !c.missing(i.Name == "") {
		c.problems.Add(at, "the issuer's name %q is not a name (a DNS subdomain)", Clip(i.Name))
	}
	if i.Group != "" && (!isSubdomain(i.Group) || !strings.Contains(i.Group, ".")) {
		c.problems.Add(at, "the issuer's group %q is not an API group such as %s", Clip(i.Group), certManager)
	}
	if i.Group == "" && i.Kind != "Issuer" && i.Kind != "ClusterIssuer" {
		c.problems.Add(at, "unknown kind of issuer %q; cert-manager has Issuer and ClusterIssuer (others have a group)", Clip(i.Kind))
	}
	if i.Group != "" && !isKind(i.Kind) {
		c.problems.Add(at, "the issuer's kind %q is not a kind such as ClusterIssuer", Clip(i.Kind))
	}
}

// isKind reports whether s is an upper-case letter followed by letters and digits.
func isKind(s string) bool {
	return len(s) <= validation.DNS1123LabelMaxLength && isLabel(strings.ToLower(s)) &&
		'A' <= s[0] && s[0] <= 'Z' && !strings.Contains(s, "-")
}

// passthroughOptions reports settings that a router cannot apply when it passes TLS through (openshift/library-go:
// route validation of certificates, headers and the insecure policy).
func (c *checker) passthroughOptions(e *Expose) {
	r, t := e.Routing, e.Routing.TLS
	refuse := func(given bool, at Place, why string) {
		if given {
			c.problems.Add(cmp.Or(at, e.At), "with passthrough %s", why)
		}
	}
	refuse(t.SecretName != "", r.At.TLS, "the backend has the certificate: there can be no secretName")
	refuse(t.DestinationCASecretName != "", r.At.TLS,
		"the router does not judge the backend's certificate: there can be no destinationCASecretName")
	refuse(t.Issuer != nil, r.At.TLS, "the backend has the certificate: there can be no issuer")
	refuse(t.Insecure == InsecureAllow, r.At.TLS, "insecure can be None or Redirect, not Allow")
	refuse(len(r.Headers.Request)+len(r.Headers.Response) > 0, r.At.Headers, "the router sees no headers: it can change none")
	refuse(r.Sticky != nil, r.At.Sticky, "the router sees no cookies: there can be no sticky")
	refuse(e.Options() != nil, e.At, "the router sees no requests: there can be no http options")
}

func (c *checker) weights(s *Service, e *Expose) {
	r := e.Routing
	if len(r.Backends) == 0 {
		if r.Weight != nil {
			c.problems.Add(r.At.Weight, "a weight is the service's share among alternateBackends, and there are none")
		}
		return
	}
	if len(r.Backends) > 3 {
		c.problems.Add(r.At.AlternateBackends, "there are %d alternate backends; at most 3 are allowed", len(r.Backends))
	}
	sum := uint32(DefaultWeight)
	if r.Weight != nil {
		sum = uint32(*r.Weight)
		c.weight(r.At.Weight, *r.Weight)
	}
	named := map[string]bool{s.Name: true}
	for _, b := range r.Backends {
		sum += uint32(b.Weight)
		c.weight(b.At, b.Weight)
		if c.missing(b.Service == "") {
			continue
		}
		if named[b.Service] {
			c.problems.Add(b.At, "service %q is named twice; each has one share of the traffic", b.Service)
			continue
		}
		named[b.Service] = true
		c.backend(e, b)
	}
	if sum == 0 {
		c.problems.Add(r.At.AlternateBackends, "all weights are 0: no service would be reached")
	}
}

func (c *checker) weight(at Place, w uint16) {
	if w > 256 {
		c.problems.Add(at, "%d is not a weight (0 to 256)", w)
	}
}

// backend validates that the service exists and exposes the port.
func (c *checker) backend(e *Expose, b Backend) {
	port := cmp.Or(b.Port, e.ExternalPort())
	for _, s := range c.services[b.Service] {
		for _, other := range s.Expose {
			if other.ExternalPort() == port && other.Protocol == TCP {
				return
			}
		}
	}
	switch {
	case len(c.services[b.Service]) == 0:
		c.problems.Add(b.At, "no service named %q%s", Clip(b.Service), suggest.ForKey(b.Service, c.services))
	case !c.partial:
		c.problems.Add(b.At, "service %q exposes no TCP port %d", b.Service, port)
	}
}
