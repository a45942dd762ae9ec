package sdl

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/manifest"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// service is a service of the SDL.
type service struct {
	at       lease.Place
	cursor   document.Cursor
	deployed bool
	exposes  []lease.Expose
	// named has the IP endpoint of each "to".
	named []endpointOf
}

type endpointOf struct {
	ip     string
	global bool
}

var (
	serviceKeys = []string{"image", "command", "args", "env", "expose", "dependencies", "params", "credentials"}
	exposeKeys  = []string{"port", "as", "proto", "to", "accept", "http_options"}
	toKeys      = []string{"service", "global", "ip", "ip_name", "http_options"}
)

// maxProxyBuffer is the limit of an option that Akash validates but does not use for its routes.
const maxProxyBuffer = 1048576

// readServices reads all services, and validates those that the deployment names. For the others Akash's parser only
// requires that they can be decoded.
func (r *reader) readServices() {
	for _, name := range slices.Sorted(maps.Keys(r.services)) {
		s := r.services[name]
		m := s.cursor.Mapping(serviceKeys)
		if !s.deployed && len(r.groups) > 0 {
			s.cursor.Warnf("service %q is not in the deployment and is ignored", name)
		}
		for item := range m.Get("expose").Items() {
			r.readExpose(item, s)
		}
		if r.workloads {
			sort.Sort(inManifest(s.exposes))
		}
		if !s.deployed {
			s.exposes = nil
			continue
		}
		if err := lease.CheckServiceName(name); err != nil {
			r.root.Document().Problems.Add(s.at, "%v", err)
		}
		if !r.workloads { // drop ports that are not reachable from outside and claim no host
			s.exposes = slices.DeleteFunc(s.exposes, func(e lease.Expose) bool {
				return !e.Global && len(e.Hosts) == 0 && e.IP == ""
			})
		}
	}
	if !r.anyGlobal() && !r.root.Document().Problems.Failed() {
		r.root.Errorf("no service is exposed globally; at least one must be")
	}
}

// inManifest sorts ports for the manifest as Akash's library does (chain-sdk: go/manifest/v2beta3, ServiceExposes): by the
// service that may connect, port and protocol, global first. Of more than twelve ports, those that are equal in all of these
// come out in the order in which sort.Sort leaves them, so it is sort.Sort that is used. A port's position names it.
type inManifest []lease.Expose

func (s inManifest) Len() int      { return len(s) }
func (s inManifest) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s inManifest) Less(i, j int) bool {
	a, b := s[i], s[j]
	if order := cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol)); order != 0 {
		return order < 0
	}
	return a.Global && !b.Global
}

func (r *reader) anyGlobal() bool {
	for _, names := range r.groups {
		for _, name := range names {
			s := r.services[name]
			if s != nil && slices.ContainsFunc(s.exposes, func(e lease.Expose) bool { return e.Global }) {
				return true
			}
		}
	}
	return false
}

// maxExposes and maxHosts limit what the "to" of an SDL can multiply: each of them has all hosts of "accept". The limits
// of the configuration are lower, and apply to the definition that was read.
const maxExposes, maxHosts = 100_000, 200_000

// readExpose adds one expose per "to", or one that is not global if there is no "to".
func (r *reader) readExpose(c document.Cursor, s *service) {
	m, deployed := c.Mapping(exposeKeys), s.deployed
	e := lease.Expose{At: c.At()}
	e.Port = readPort(m.Get("port"), deployed)
	if deployed && m.Present() && m.Get("port").IsNull() {
		m.Errorf("\"port\" is missing")
	}
	if as := m.Get("as"); !isZero(as) {
		e.As = readPort(as, deployed)
		e.SaysAs = r.workloads && e.As != 0 && e.As == e.Port
	}
	e.Protocol = readProtocol(m.Get("proto"), deployed)
	for item := range m.Get("accept").Items() {
		if r.hosts++; r.hosts > maxHosts {
			item.Errorf("there are more than %d hosts", maxHosts)
			break
		}
		name := item.Word()
		if _, err := url.ParseRequestURI("http://" + name); err != nil && !deployed {
			item.Errorf("%q is not a host name", name)
		}
		if deployed {
			refuseWildcard(item, name)
		}
		e.Hosts = append(e.Hosts, lease.Host{Name: name, At: item.At()})
	}
	readHTTP(m.Get("http_options"), &e, deployed)
	added := false
	for item := range m.Get("to").Items() {
		if r.exposes++; r.exposes > maxExposes || r.hosts+len(e.Hosts) > maxHosts {
			item.Errorf("each \"to\" exposes all hosts of \"accept\", which makes more than %d exposed ports or %d hosts", maxExposes, maxHosts)
			break
		}
		r.hosts += len(e.Hosts)
		one := e
		one.Hosts = slices.Clone(e.Hosts)
		peer := r.readTo(item, &one, deployed)
		if r.workloads {
			one.Peer = peer
		}
		s.exposes = append(s.exposes, one)
		s.named = append(s.named, endpointOf{one.IP, one.Global})
		added = true
	}
	if !added {
		s.exposes = append(s.exposes, e)
	}
}

// isZero reports whether a port is a zero, however it is written. Akash takes that for no port.
func isZero(c document.Cursor) bool {
	n, err := strconv.ParseUint(c.Raw(), 0, 32)
	return err == nil && n == 0
}

// refuseWildcard reports a wildcard, which Akash rejects although the common rules allow it.
func refuseWildcard(c document.Cursor, host string) {
	if strings.HasPrefix(host, "*.") {
		c.Errorf("%q is a wildcard; only a LeaseDefinition can name one", host)
	}
}

// readPort reads a port. It requires the range of ports only if validate is true.
func readPort(c document.Cursor, validate bool) uint16 {
	if !validate {
		c.Uint(0, math.MaxUint32, "a port")
		return 0
	}
	n, _ := c.Uint(1, math.MaxUint16, "a port")
	return uint16(n)
}

func readProtocol(c document.Cursor, validate bool) lease.Protocol {
	word := c.Word()
	switch strings.ToUpper(word) {
	case "", "TCP":
	case "UDP":
		return lease.UDP
	default:
		if validate {
			c.Errorf("%q is not a protocol; tcp and udp are", word)
		}
	}
	return lease.TCP
}

// readTo reads a "to" into the expose and returns the service that may connect.
func (r *reader) readTo(c document.Cursor, e *lease.Expose, deployed bool) (peer string) {
	m := c.Mapping(toKeys)
	peer = m.Get("service").Word()
	e.Global = m.Get("global").Bool()
	if options := m.Get("http_options"); !options.IsNull() {
		options.Warnf("http_options of a \"to\" are ignored by Akash; put them beside \"to\"")
	}
	ip, named := m.Get("ip"), m.Get("ip_name")
	e.IP, e.IPAt = ip.Word(), ip.At()
	if name := named.Word(); name != "" && deployed {
		if e.IP != "" {
			named.Warnf("\"ip_name\" is ignored beside \"ip\"")
		} else {
			named.Warnf("\"ip_name\" is not part of the SDL and Akash ignores it; it is read as \"ip: %s\" of an IP endpoint", name)
			e.IP, e.IPAt = name, named.At()
			if r.endpoints[name] == nil {
				r.endpoints[name] = &endpoint{IPEndpoint: lease.IPEndpoint{Name: name, At: named.At()}}
			}
		}
	}
	if e.IP == "" || !deployed {
		return peer
	}
	if known := r.endpoints[e.IP]; known != nil {
		known.used = true
		return peer
	}
	r.root.Document().Problems.Add(e.IPAt, "no endpoint named %q%s", e.IP, r.suggestEndpoint(e.IP))
	return peer
}

func (r *reader) suggestEndpoint(name string) string {
	best := suggest.NearestKey(name, r.endpoints)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q (line %d)?", best, r.endpoints[best].At.Line)
}

// readHTTP reads the http_options of the SDL. Their limits are validated with the definition, so only for deployed
// services.
func readHTTP(c document.Cursor, e *lease.Expose, deployed bool) {
	m := c.Mapping(document.Keys(manifest.HTTP{}))
	if !m.Present() {
		return
	}
	readOptions(m, asItIs, e)
	buffer := m.Get("proxy_buffer_size")
	size, _ := buffer.Uint(0, math.MaxUint32, "a number of bytes")
	switch {
	case size == 0 || !deployed:
	case size > maxProxyBuffer:
		buffer.Errorf("the proxy buffer size %d is greater than %d bytes", size, maxProxyBuffer)
	default:
		buffer.Warnf("\"proxy_buffer_size\" is ignored: Akash's routes do not use it")
	}
}

// readOptions reads the HTTP options, with the keys as the format spells them. Durations are in milliseconds.
func readOptions(m document.Mapping, of func(key string) string, e *lease.Expose) {
	size, read, send := m.Get(of("max_body_size")), m.Get(of("read_timeout")), m.Get(of("send_timeout"))
	tries, next, cases := m.Get(of("next_tries")), m.Get(of("next_timeout")), m.Get(of("next_cases"))
	number := func(c document.Cursor, what string) uint32 {
		n, _ := c.Uint(0, math.MaxUint32, what)
		return uint32(n)
	}
	milliseconds := func(c document.Cursor) time.Duration {
		return time.Duration(number(c, "a number of milliseconds")) * time.Millisecond
	}
	e.HTTP = lease.HTTPOptions{
		MaxBodySize: number(size, "a number of bytes"), ReadTimeout: milliseconds(read), SendTimeout: milliseconds(send),
		NextTries: number(tries, "a number of tries"), NextTimeout: milliseconds(next),
	}
	for item := range cases.Items() {
		e.HTTP.NextCases = append(e.HTTP.NextCases, item.Word())
	}
	e.HTTPAt = &lease.HTTPPlaces{
		MaxBodySize: size.At(), ReadTimeout: read.At(), SendTimeout: send.At(),
		NextTries: tries.At(), NextTimeout: next.At(), NextCases: cases.At(),
	}
}

var (
	gpuAttributeKeys = []string{"vendor"}
	modelKeys        = []string{"model", "ram", "interface"}
)

// readGPU reads the number of GPUs and the accepted models.
func readGPU(c document.Cursor) resources.GPU {
	m := c.RepeatingMapping(unitsKeys, gpuRepeats)
	units, _ := resources.ParseCount(m.Get("units").Raw())
	gpu := resources.GPU{Units: units}
	wishes := m.Get("attributes")
	if a := wishes.RepeatingMapping(gpuAttributeKeys, gpuAttributeRepeats); a.Present() {
		gpu.Attributes = readVendors(wishes, a.Get("vendor"))
	}
	switch {
	case wishes.IsNull():
		c.Report(resources.CheckGPU(gpu))
	case gpu.Attributes != nil:
		wishes.Report(resources.CheckGPU(gpu))
	}
	return gpu
}

// readVendors returns the accepted models, sorted. Akash's library supports only NVIDIA: it drops other vendors, and
// accepts any NVIDIA GPU if nothing is left (chain-sdk: go/sdl/gpu.go). This reader does the same, because that is what
// the provider receives, but warns about it.
func readVendors(attributes, c document.Cursor) []resources.Attribute {
	vendors := c.AnyMapping()
	if !vendors.Present() {
		attributes.Errorf("the attributes of a GPU name no vendor; write vendor: {nvidia: [{model: a100}]}, or vendor: {nvidia: } " +
			"for any of NVIDIA")
		return nil
	}
	var out []resources.Attribute
	for vendor, models := range vendors.Entries() {
		if vendor.Key() != resources.VendorNVIDIA {
			vendor.Warnf("Akash's SDL knows GPUs of nvidia alone: the wish for %q is dropped, and without another wish any card of "+
				"nvidia is asked for", vendor.Key())
			continue
		}
		for model := range models.Items() {
			out = append(out, resources.Attribute{Key: "vendor/" + resources.VendorNVIDIA + "/model/" + readModel(model), Value: "true"})
		}
	}
	if len(out) == 0 {
		out = []resources.Attribute{{Key: "vendor/" + resources.VendorNVIDIA + "/model/*", Value: "true"}}
	}
	slices.SortFunc(out, resources.Attribute.Compare)
	return out
}

func readModel(c document.Cursor) string {
	m := c.Mapping(modelKeys)
	model := m.Get("model").Word()
	if ram := m.Get("ram"); !ram.IsNull() {
		bytes, ok := resources.ParseBytes(ram.Word())
		decimal := strings.TrimRight(ram.Raw(), "kMGTPE") != ram.Raw() // Akash takes binary suffixes alone
		switch gi := bytes >> 30; {
		case !ok || gi == 0 || decimal:
			ram.Errorf("%q is not the memory of a GPU in whole gibibytes, such as 80Gi%s", ram.Raw(), suggestGibibytes(ram.Raw()))
		default:
			if bytes != gi<<30 {
				ram.Warnf("%q is read as %dGi: whole gibibytes count", ram.Raw(), gi)
			}
			model += fmt.Sprintf("/ram/%dGi", gi)
		}
	}
	if i := m.Get("interface"); !i.IsNull() {
		model += "/interface/" + i.Word()
	}
	return model
}

// suggestGibibytes returns the memory that a text probably means, as the end of a message, or "".
func suggestGibibytes(text string) string {
	for _, size := range resources.SuggestBytes(text) {
		if strings.HasSuffix(size, "Gi") || strings.HasSuffix(size, "Ti") {
			return fmt.Sprintf("; write %q", size)
		}
	}
	return ""
}
