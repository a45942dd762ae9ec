package lease

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// Check validates the groups of one deployment against the rules that all input formats share. It also makes the
// definitions canonical: it sorts services, exposes and IP endpoints, and clears values that equal Akash's defaults. A
// path of a host and a port of an IP endpoint may occur only once per deployment (chain-sdk: validation of the manifest
// and the SDL).
func Check(groups ...*Definition) Problems { return check(groups, false) }

// CheckPartial is Check for definitions from a document that already has errors: it does not report missing values
// again.
func CheckPartial(groups ...*Definition) Problems { return check(groups, true) }

func check(groups []*Definition, partial bool) Problems {
	c := checker{
		partial: partial, routes: map[routeKey]hostUser{}, hosts: map[string]hostUser{}, passthrough: map[string]hostUser{},
		ports: map[portKey]portUser{}, keys: map[string]*IPEndpoint{},
	}
	for _, d := range groups {
		c.definition(d)
	}
	return c.problems.Sorted()
}

type checker struct {
	problems Problems
	partial  bool
	// routes maps each path of a host to its first use, hosts each host to its first use, and passthrough each host to
	// its first use by a route that passes TLS through.
	routes      map[routeKey]hostUser
	hosts       map[string]hostUser
	passthrough map[string]hostUser
	ports       map[portKey]portUser
	// keys maps each sharing key to the first endpoint that has it.
	keys map[string]*IPEndpoint
	// The maps below are per definition. used has the endpoint names that its exposes refer to; leased maps the name of
	// each Service of a leased port to the expose that the Service is for; services and endpoint map names to what the
	// definition declares.
	used     map[string]bool
	leased   map[string]*Expose
	services map[string][]*Service
	endpoint map[string]*IPEndpoint
}

type routeKey struct{ host, path string }

type portKey struct {
	endpoint string
	port     uint16
	protocol Protocol
}

type portUser struct {
	service string
	at      Place
}

func (c *checker) definition(d *Definition) {
	canonical(d)
	c.used, c.leased = map[string]bool{}, map[string]*Expose{}
	c.services, c.endpoint = map[string][]*Service{}, map[string]*IPEndpoint{}
	for i := range d.Services {
		c.services[d.Services[i].Name] = append(c.services[d.Services[i].Name], &d.Services[i])
	}
	for i := range d.IPEndpoints {
		if e := &d.IPEndpoints[i]; c.endpoint[e.Name] == nil {
			c.endpoint[e.Name] = e
		}
	}
	for i := range d.Services {
		s := &d.Services[i]
		c.service(s)
		if i > 0 && d.Services[i-1].Name == s.Name && !c.missing(s.Name == "") {
			c.problems.Add(s.At, "there are two services named %q", s.Name)
		}
		for j := range s.Expose {
			c.expose(d, s, &s.Expose[j])
		}
	}
	c.endpoints(d)
}

// CheckServiceName returns an error if a service cannot have the name. It applies Akash's rule (chain-sdk:
// serviceNameValidationRegex) and the limit of 63 characters of a Kubernetes Service name, which Akash enforces only
// when it deploys.
func CheckServiceName(name string) error {
	switch {
	case !isLabel(name) || name[0] < 'a':
		return fmt.Errorf("%q is not a service name (lower-case letters, digits and \"-\", a letter first)", Clip(name))
	case len(name) > validation.DNS1123LabelMaxLength:
		return fmt.Errorf("the service name %q has %d characters; at most %d are allowed", Clip(name), len(name),
			validation.DNS1123LabelMaxLength)
	}
	return nil
}

// missing reports whether a zero value needs no error here, because reading the document has already reported it.
func (c *checker) missing(zero bool) bool { return zero && c.partial }

func (c *checker) service(s *Service) {
	if c.missing(s.Name == "") {
		return
	}
	if err := CheckServiceName(s.Name); err != nil {
		c.problems.Add(s.At, "%v", err)
	}
}

func (c *checker) expose(d *Definition, s *Service, e *Expose) {
	if e.Port == 0 && !c.partial {
		c.problems.Add(e.At, "0 is not a port (1 to 65535)")
	}
	if e.Protocol != TCP && e.Protocol != UDP {
		c.problems.Add(e.At, "%q is not a protocol; TCP and UDP are", e.Protocol)
	}
	c.path(e)
	for _, h := range e.Hosts {
		if !c.missing(h.Name == "") {
			c.host(e, h)
		}
	}
	c.http(e)
	if e.Routing != nil {
		c.routing(s, e)
	}
	if e.IP != "" {
		c.ip(d, s, e)
	}
}

// laterEarlier orders two places. Problems are reported at the later one.
func laterEarlier(a, b Place) (later, earlier Place) {
	if a.File == b.File && cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) > 0 {
		return a, b
	}
	return b, a
}

// alsoAt returns the text that points to the other place, or "" if its line is unknown.
func alsoAt(p Place) string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" (also in line %d)", p.Line)
}

func (c *checker) ip(d *Definition, s *Service, e *Expose) {
	c.used[e.IP] = true
	if !e.Global {
		c.problems.Add(e.IPAt, "a port on an IP endpoint must be global; add \"global: true\"")
	}
	if c.endpoint[e.IP] == nil {
		c.problems.Add(e.IPAt, "no endpoint named %q%s", e.IP, c.suggestEndpoint(e.IP))
	}
	name := IPServiceName(s.Name, e.ExternalPort(), e.Protocol)
	if len(name) > validation.DNS1123LabelMaxLength {
		c.problems.Add(e.IPAt, "the Service would be named %q, %d characters; at most %d are allowed: shorten the service's name",
			name, len(name), validation.DNS1123LabelMaxLength)
	}
	if len(c.services[name]) > 0 {
		c.problems.Add(e.IPAt, "the Service would be named %q, and so is a service of the lease: one of the two needs another name",
			name)
	}
	if n := LeasedIPName(SharingKey(d.Lease.Owner, e.IP), e.Protocol,
		e.ExternalPort()); len(n) > validation.DNS1123SubdomainMaxLength {
		c.problems.Add(e.IPAt,
			"the endpoint's name is too long: the ProviderLeasedIP's name would have %d characters; at most %d are allowed",
			len(n), validation.DNS1123SubdomainMaxLength)
	}
	if c.missing(e.Port == 0) {
		return
	}
	c.leasedTwice(s, e, name)
	key := portKey{e.IP, e.ExternalPort(), e.Protocol}
	if first, ok := c.ports[key]; ok {
		at, also := laterEarlier(first.at, e.IPAt)
		c.problems.Add(at, "port %d/%s of IP endpoint %q is claimed twice, by service %q and service %q%s",
			key.port, key.protocol, e.IP, first.service, s.Name, alsoAt(also))
		return
	}
	c.ports[key] = portUser{s.Name, e.IPAt}
}

// leasedTwice reports a port of a service on two IP endpoints: both would get a Service of the same name, so one of the
// two addresses would not be served.
func (c *checker) leasedTwice(s *Service, e *Expose, name string) {
	first := c.leased[name]
	if first == nil {
		c.leased[name] = e
		return
	}
	if first.IP != e.IP {
		at, also := laterEarlier(first.IPAt, e.IPAt)
		c.problems.Add(at, "port %d/%s of service %q is on the IP endpoints %q and %q%s, and both would have the Service %q: give "+
			"one of them another port with \"as\"",
			e.ExternalPort(), e.Protocol, s.Name, first.IP, e.IP, alsoAt(also), name)
	}
}

func (c *checker) suggestEndpoint(name string) string {
	best := suggest.NearestKey(name, c.endpoint)
	if best == "" {
		return ""
	}
	if line := c.endpoint[best].At.Line; line > 0 {
		return fmt.Sprintf("; did you mean %q (line %d)?", best, line)
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
