package input

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/sdl"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// The keys of a LeaseDefinition. The JSON schema has the same keys.
var (
	rootKeys     = []string{"apiVersion", "kind", "metadata", "spec"}
	metadataKeys = []string{"name", "annotations", "labels"}
	specKeys     = []string{"lease", "group", "services", "ipEndpoints"}
	leaseKeys    = []string{"owner", "dseq", "gseq", "oseq", "provider"}
	serviceKeys  = []string{"name", "target", "expose", "workload"}
	exposeKeys   = []string{"port", "as", "protocol", "service", "global", "hosts", "path", "ip", "sequence", "http",
		"tls", "weight", "alternateBackends", "sticky", "headers", "annotations", "labels"}
	httpKeys     = []string{"maxBodySize", "readTimeout", "sendTimeout", "nextTries", "nextTimeout", "nextCases"}
	endpointKeys = []string{"name", "addresses"}
)

// readDefinition reads a LeaseDefinition document. It always validates the workloads, and keeps them if workloads is
// true.
func readDefinition(c document.Cursor, workloads bool) *lease.Definition {
	c.Document().Strict = true
	defer func() { c.Document().Strict = false }()
	root := c.Mapping(rootKeys)
	metadata := root.Require("metadata").Mapping(metadataKeys)
	for _, key := range []string{"annotations", "labels"} {
		for _, v := range metadata.Get(key).AnyMapping().Entries() {
			v.Text()
		}
	}
	def := &lease.Definition{Name: metadata.Require("name").Text(), At: c.At()}
	spec := root.Require("spec").Mapping(specKeys)
	def.Lease = readLease(spec.Require("lease"))
	services := spec.Require("services")
	def.Services = make([]lease.Service, 0, services.Len())
	read := &lease.Workloads{Group: spec.Get("group").Text()}
	for item := range services.List() {
		s, w := readService(item, workloads)
		def.Services = append(def.Services, s)
		if w != nil {
			read.Services = append(read.Services, *w)
		} else if workloads {
			item.Errorf("the service has no \"workload\", which says what it runs")
		}
	}
	sortWorkloads(read)
	if workloads {
		def.Workloads = read
	}
	for item := range spec.Get("ipEndpoints").List() {
		def.IPEndpoints = append(def.IPEndpoints, readEndpoint(item))
	}
	c.Document().Check(def)
	return def
}

func readLease(c document.Cursor) lease.ID { return leaseOf(c.Mapping(leaseKeys)) }

func leaseOf(m document.Mapping) lease.ID {
	return lease.ID{
		Owner:    readAddress(m.Require("owner")),
		DSeq:     m.Require("dseq").Sequence(math.MaxUint64, "a number"),
		GSeq:     uint32(m.Require("gseq").Sequence(math.MaxUint32, "a number")),
		OSeq:     uint32(m.Require("oseq").Sequence(math.MaxUint32, "a number")),
		Provider: readAddress(m.Require("provider")),
	}
}

func readAddress(c document.Cursor) string {
	s, ok := c.ValidText()
	if ok && !c.IsNull() { // Require reports null
		c.Report(lease.CheckWallet(s))
	}
	return s
}

func readService(c document.Cursor, workloads bool) (lease.Service, *lease.Workload) {
	m := c.Mapping(serviceKeys)
	name := m.Require("name")
	s := lease.Service{Name: name.Text(), At: name.At()}
	s.Target = word(m.Get("target"), "target", config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute)
	exposes := m.Get("expose")
	s.Expose = make([]lease.Expose, 0, exposes.Len())
	for item := range exposes.List() {
		s.Expose = append(s.Expose, readExpose(item, workloads))
	}
	return s, readWorkload(m.Get("workload"), s)
}

func readExpose(c document.Cursor, workloads bool) lease.Expose {
	m := c.Mapping(exposeKeys)
	e := lease.Expose{At: c.At(), Protocol: lease.TCP, Global: m.Get("global").Bool()}
	port, _ := m.Require("port").Uint(1, math.MaxUint16, "a port")
	as, _ := m.Get("as").Uint(1, math.MaxUint16, "a port")
	e.Port, e.As = uint16(port), uint16(as)
	peer := m.Get("service").Text()
	sequence, _ := m.Get("sequence").Uint(1, math.MaxUint32, "the number of an IP endpoint")
	if workloads {
		e.Peer, e.Sequence, e.SaysAs = peer, uint32(sequence), e.As != 0 && e.As == e.Port
	}
	switch p := m.Get("protocol"); p.Text() {
	case "", "TCP":
	case "UDP":
		e.Protocol = lease.UDP
	default:
		p.Errorf("%q is not a protocol; TCP and UDP are", p.Text())
	}
	hosts := m.Get("hosts")
	if n := hosts.Len(); n > 0 {
		e.Hosts = make([]lease.Host, 0, n)
	}
	for item := range hosts.List() {
		e.Hosts = append(e.Hosts, lease.Host{Name: item.Text(), At: item.At()})
	}
	if path := m.Get("path"); !path.IsNull() {
		e.Path, e.PathAt = path.Text(), path.At()
	}
	ip := m.Get("ip")
	if e.IP = ip.Text(); e.IP != "" {
		e.IPAt = ip.At()
	}
	readHTTP(m.Get("http"), &e)
	e.Routing = readRouting(m)
	return e
}

func readHTTP(c document.Cursor, e *lease.Expose) {
	m := c.Mapping(httpKeys)
	if !m.Present() {
		return
	}
	body, read, send := m.Get("maxBodySize"), m.Get("readTimeout"), m.Get("sendTimeout")
	tries, next, cases := m.Get("nextTries"), m.Get("nextTimeout"), m.Get("nextCases")
	size, _ := body.Uint(0, lease.MaxBodySizeLimit, "a body size in bytes")
	count, _ := tries.Uint(0, math.MaxUint32, "a number of tries")
	e.HTTP = lease.HTTPOptions{
		MaxBodySize: uint32(size), ReadTimeout: read.Duration(), SendTimeout: send.Duration(),
		NextTries: uint32(count), NextTimeout: next.Duration(),
	}
	for item := range cases.List() {
		e.HTTP.NextCases = append(e.HTTP.NextCases, item.Word())
	}
	e.HTTPAt = &lease.HTTPPlaces{
		MaxBodySize: body.At(), ReadTimeout: read.At(), SendTimeout: send.At(),
		NextTries: tries.At(), NextTimeout: next.At(), NextCases: cases.At(),
	}
}

func readEndpoint(c document.Cursor) lease.IPEndpoint {
	m := c.Mapping(endpointKeys)
	name := m.Require("name")
	e := lease.IPEndpoint{Name: name.Text(), At: name.At()}
	for item := range m.Get("addresses").List() {
		a, err := config.ParseAddr(item.Text())
		if err != nil {
			item.Errorf("%v", err)
			continue
		}
		e.Addresses = append(e.Addresses, a)
	}
	return e
}

// The keys of an expose's route settings.
var (
	tlsKeys     = []string{"termination", "insecure", "secretName", "destinationCASecretName", "issuer"}
	issuerKeys  = []string{"name", "kind", "group"}
	backendKeys = []string{"service", "port", "weight"}
	stickyKeys  = []string{"cookie", "sameSite", "disabled"}
	headersKeys = []string{"request", "response"}
	headerKeys  = []string{"name", "action", "value"}
)

// readRouting reads the route settings of an expose; nil if there are none.
func readRouting(m document.Mapping) *lease.Routing {
	tls, weight, backends, sticky := m.Get("tls"), m.Get("weight"), m.Get("alternateBackends"), m.Get("sticky")
	headers, annotations, labels := m.Get("headers"), m.Get("annotations"), m.Get("labels")
	set := func(c document.Cursor) bool { return !c.IsNull() }
	if !slices.ContainsFunc([]document.Cursor{tls, weight, backends, sticky, headers, annotations, labels}, set) {
		return nil
	}
	r := &lease.Routing{TLS: readTLS(tls), Sticky: readSticky(sticky), Labels: readLabels(labels)}
	if n, ok := weight.Uint(0, maxWeight, "a weight"); ok {
		r.Weight = new(uint16)
		*r.Weight = uint16(n)
	}
	for item := range backends.List() {
		r.Backends = append(r.Backends, readBackend(item))
	}
	h := headers.Mapping(headersKeys)
	r.RequestHeaders, r.ResponseHeaders = readHeaders(h.Get("request")), readHeaders(h.Get("response"))
	for key, value := range annotations.AnyMapping().Entries() {
		r.Annotations = append(r.Annotations, lease.RouteAnnotation{Key: key.Key(), Value: value.Text(), At: value.At()})
	}
	r.At = lease.RoutingPlaces{
		TLS: tls.At(), Weight: weight.At(), Backends: backends.At(), Sticky: sticky.At(),
		Headers: headers.At(), Annotations: annotations.At(), Labels: labels.At(),
	}
	return r
}

const maxWeight = 256

func readTLS(c document.Cursor) *lease.TLS {
	m := c.Mapping(tlsKeys)
	if !m.Present() {
		return nil
	}
	t := &lease.TLS{
		Termination: lease.Termination(word(m.Get("termination"), "termination",
			string(lease.Edge), string(lease.Passthrough), string(lease.Reencrypt))),
		Insecure: lease.InsecurePolicy(word(m.Get("insecure"), "insecure",
			string(lease.InsecureNone), string(lease.InsecureAllow), string(lease.InsecureRedirect))),
		SecretName:              m.Get("secretName").Text(),
		DestinationCASecretName: m.Get("destinationCASecretName").Text(),
	}
	if issuer := m.Get("issuer").Mapping(issuerKeys); issuer.Present() {
		t.Issuer = &lease.Issuer{
			Name: issuer.Require("name").Text(), Kind: issuer.Get("kind").Text(), Group: issuer.Get("group").Text(),
		}
	}
	return t
}

func readBackend(c document.Cursor) lease.Backend {
	m := c.Mapping(backendKeys)
	b := lease.Backend{Service: m.Require("service").Text(), Weight: lease.DefaultWeight, At: c.At()}
	if port, ok := m.Get("port").Uint(1, 65535, "a port"); ok {
		b.Port = uint16(port)
	}
	if weight, ok := m.Get("weight").Uint(0, maxWeight, "a weight"); ok {
		b.Weight = uint16(weight)
	}
	return b
}

func readSticky(c document.Cursor) *lease.Sticky {
	m := c.Mapping(stickyKeys)
	if !m.Present() {
		return nil
	}
	return &lease.Sticky{
		Disabled: m.Get("disabled").Bool(), Cookie: m.Get("cookie").Text(),
		SameSite: word(m.Get("sameSite"), "sameSite", "Lax", "Strict", "None"),
	}
}

func readHeaders(c document.Cursor) []lease.HeaderRule {
	var rules []lease.HeaderRule
	for item := range c.List() {
		m := item.Mapping(headerKeys)
		rule := lease.HeaderRule{Name: m.Require("name").Text(), Value: m.Get("value").Text(), At: item.At()}
		action := m.Require("action")
		rule.Delete = word(action, "action", "Set", "Delete") == "Delete"
		if !action.IsNull() && action.Raw() == "" {
			action.Errorf("the action is empty; Set and Delete are known")
		}
		rules = append(rules, rule)
	}
	return rules
}

func readLabels(c document.Cursor) map[string]string {
	var labels map[string]string
	for key, value := range c.AnyMapping().Entries() {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key.Key()] = value.Text()
	}
	return labels
}

// word reads one of the known words. Any other word is an error, and is returned as "".
func word(c document.Cursor, what string, words ...string) string {
	text := c.Text()
	if text == "" || slices.Contains(words, text) {
		return text
	}
	last := len(words) - 1
	c.Errorf("unknown %s %q; %s and %s are known%s", what, text, strings.Join(words[:last], ", "), words[last],
		suggest.For(text, words))
	return ""
}

// ReadScheduler reads the result of a reservation, as JSON or YAML: a mapping of resource unit IDs to scheduler params
// as in a Manifest object, or null. The error is that of the reader.
func ReadScheduler(r io.Reader, file string) (map[uint32]*lease.SchedulerParams, lease.Problems, error) {
	var problems lease.Problems
	params := map[uint32]*lease.SchedulerParams{}
	for doc, err := range document.Read(r, file) {
		if err != nil {
			return nil, problems, err
		}
		doc.Strict = true
		for key, v := range doc.Root().AnyMapping().Entries() {
			id, err := strconv.ParseUint(key.Key(), 10, 32)
			if err != nil || id == 0 || key.Key() != strconv.FormatUint(id, 10) {
				key.Errorf("%q is not the id of a resource unit", key.Key())
			} else if _, twice := params[uint32(id)]; twice {
				key.Errorf("the resource unit %d is given twice", id)
			}
			params[uint32(id)] = sdl.ReadSchedulerParams(v)
		}
		problems = append(problems, doc.Problems.Sorted()...)
	}
	return params, problems, nil
}
