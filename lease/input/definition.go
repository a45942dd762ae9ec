package input

import (
	"math"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
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
