package lease

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// Problem is an error in an input, or a warning about it.
type Problem struct {
	At      Place
	Message string
	// Warning is true if the input is used anyway.
	Warning bool
	// Held is true if the input is valid, but another owner holds or requests the same thing.
	Held bool
}

func (p Problem) Error() string {
	if s := p.At.String(); s != "" {
		return s + ": " + p.Message
	}
	return p.Message
}

// Problems are the problems of the input of a run, in the order of the input. Returned as an error they mean that the
// run has changed nothing.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors returns the problems that are not warnings.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings returns the problems that are warnings.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

func (ps Problems) filter(warning bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Add appends an error.
func (ps *Problems) Add(at Place, format string, args ...any) {
	*ps = append(*ps, Problem{At: at, Message: Message(format, args...)})
}

// Warn appends a warning: the input is used, but the user should know about it.
func (ps *Problems) Warn(at Place, format string, args ...any) {
	*ps = append(*ps, Problem{At: at, Message: Message(format, args...), Warning: true})
}

// Sorted sorts the problems by line and column, and removes duplicates.
func (ps Problems) Sorted() Problems {
	if len(ps) < 2 {
		return ps
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	type key struct {
		file, message string
		line, column  int
	}
	seen := make(map[key]bool, len(ps))
	return slices.DeleteFunc(ps, func(p Problem) bool {
		k := key{p.At.File, p.Message, p.At.Line, p.At.Column}
		if p.At.Line == 0 {
			k.file = p.At.String()
		}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// Failed reports whether any problem is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return !p.Warning })
}

// maxShown is the length up to which messages repeat a value in full, in bytes. It is more than the length of any host
// name.
const maxShown = 512

// Clip shortens a value of an input for a message.
func Clip(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// Count returns a number with its noun, in the plural unless n is 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Some joins names, of which it counts those after the first ones.
func Some(names []string, first int) string {
	text := strings.Join(names[:min(len(names), first)], ", ")
	if more := len(names) - first; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxMessage is the length of the longest message about one problem, in bytes.
const maxMessage = 2048

// Message is fmt.Sprintf for messages about inputs: it shortens long string arguments, and the message itself if it is
// still too long.
func Message(format string, args ...any) string {
	for i, arg := range args {
		if s, ok := arg.(string); ok && len(s) > maxShown {
			args[i] = Clip(s)
		}
	}
	s := fmt.Sprintf(format, args...)
	if len(s) > maxMessage {
		return strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}

// Place is the source position of a value: a file ("-" is standard input; it may also be a cluster object), line and
// column, both counted from 1, and the path of the field in its document.
type Place struct {
	File         string
	Line, Column int
	// Path is the field's path as text. Readers leave it empty and set Field instead.
	Path string
	// Field is the field's path as a linked list of steps. It is cheap to build, and converted to text only when the
	// place is printed.
	Field *Step
}

// Step is one step of a field's path: a key of a mapping or, if Key is empty, an index of a list.
type Step struct {
	Parent *Step
	Key    string
	Index  int
}

// String returns the path from the document's root, such as services.web.expose[0].port.
func (s *Step) String() string {
	if s == nil {
		return ""
	}
	parent := s.Parent.String()
	switch {
	case s.Key == "":
		return parent + "[" + strconv.Itoa(s.Index) + "]"
	case strings.ContainsAny(s.Key, ".[]/ \"") || strings.ContainsFunc(s.Key, unprintable) || len(s.Key) > maxShown:
		return parent + "[" + strconv.Quote(Clip(s.Key)) + "]"
	case parent == "":
		return s.Key
	}
	return parent + "." + s.Key
}

// unprintable reports whether r is an encoding error or a character that a terminal may interpret.
func unprintable(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }

// String returns "file:line:column: path", without the parts that are unknown.
func (p Place) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	path := p.Path
	if path == "" {
		path = p.Field.String()
	}
	if path != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(path)
	}
	return b.String()
}
