package sim

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// situation is a cluster with what commands have left in it, and how it is asked.
type situation struct {
	cfg    *config.ProviderConfig
	server *Server
	prune  bool
	adopt  bool
	// told is what has happened.
	told []string
}

// situationRanges are the addresses of a situation.
var situationRanges = [...]string{"10.0.0.0/31", "10.0.1.0/31"}

// newSituation is one in which nothing has happened: there are four addresses, and those that are named are picked last.
func newSituation(empty *Server) *situation {
	s := &situation{server: empty.copied(), cfg: settings(), prune: true}
	if err := s.server.ServeAll(); err != nil {
		panic(err)
	}
	s.cfg.IP.Ranges.Include = nil
	for _, text := range situationRanges {
		r, err := config.ParseRange(text)
		if err != nil {
			panic(err)
		}
		s.cfg.IP.Ranges.Include = append(s.cfg.IP.Ranges.Include, r)
	}
	return s
}

func (s *situation) tell(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *situation) options(concurrency int) command.Options {
	return command.Options{Config: s.cfg, Prune: s.prune, Adopt: s.adopt, AssumeServing: true, Concurrency: concurrency}
}

// copied is a server with the same objects, which changes by itself.
func (s *Server) copied() *Server {
	return &Server{kinds: s.kinds, objects: maps.Clone(s.objects), pages: map[string][]*stored{}, version: s.version}
}

// has is true for an object that is there, as resource/name.
func (s *Server) has(name string) bool {
	for path := range s.objects {
		if strings.HasSuffix(path, "/"+name) {
			return true
		}
	}
	return false
}

// connect is a client of the server.
func connect(s *Server) *cluster.Cluster {
	c, err := cluster.Connect(&rest.Config{Host: "http://sim", Transport: s}, 100)
	if err != nil {
		panic(err)
	}
	return c
}

// defined reads a definition: the lease, as "a1", then its hosts, their path, and ports as ENDPOINT:PORT[@ADDRESS].
func defined(text string) *lease.Definition {
	fields := strings.Fields(text)
	dseq, err := strconv.ParseUint(fields[0][1:], 10, 64)
	if err != nil {
		panic(err)
	}
	d := &lease.Definition{Name: "shop", Lease: leaseOf(fields[0][:1], dseq)}
	web := lease.Expose{Port: 8080, As: 80, Protocol: lease.TCP, Global: true}
	for _, field := range fields[1:] {
		endpoint, port, isPort := strings.Cut(field, ":")
		switch {
		case isPort:
			addPort(d, endpoint, port)
		case strings.HasPrefix(field, "/"):
			web.Path = field
		default:
			web.Hosts = append(web.Hosts, lease.Host{Name: field})
		}
	}
	if len(web.Hosts) > 0 {
		d.Services = append(d.Services, lease.Service{Name: "web", Expose: []lease.Expose{web}})
	}
	d.Hash = lease.Sum(d)
	return d
}

// addPort adds a port, as PORT[@ADDRESS], on an IP endpoint.
func addPort(d *lease.Definition, endpoint, text string) {
	text, address, named := strings.Cut(text, "@")
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		panic(err)
	}
	if d.Endpoint(endpoint) == nil {
		d.IPEndpoints = append(d.IPEndpoints, lease.IPEndpoint{Name: endpoint})
		d.Services = append(d.Services, lease.Service{Name: "game-" + endpoint})
	}
	if named {
		d.IPEndpoints[len(d.IPEndpoints)-1].Addresses = []netip.Addr{netip.MustParseAddr(address)}
	}
	i := slices.IndexFunc(d.Services, func(s lease.Service) bool { return s.Name == "game-"+endpoint })
	d.Services[i].Expose = append(d.Services[i].Expose, lease.Expose{Port: 8443, As: uint16(port), Protocol: lease.TCP, Global: true, IP: endpoint})
}

var planHosts = []string{"a.example.com", "b.example.com", "*.example.com", "example.org", "*.b.example.com", "x.b.example.com"}

// drawDefinition draws a definition as defined reads it.
func drawDefinition(t *rapid.T, lease string) string {
	fields := []string{lease}
	if rapid.IntRange(0, 4).Draw(t, "web") > 0 {
		fields = append(fields, rapid.SliceOfNDistinct(rapid.SampledFrom(planHosts), 0, 3, rapid.ID[string]).Draw(t, "hosts")...)
		fields = append(fields, rapid.SampledFrom([]string{"", "", "/v2"}).Draw(t, "path"))
	}
	own := "own" + lease[1:] // deployments of an owner that name different addresses of one endpoint share its ports' objects
	for _, endpoint := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"public", "other", own}), 0, 2, rapid.ID[string]).Draw(t, "endpoints") {
		at := ""
		if endpoint == own {
			at = rapid.SampledFrom([]string{"@10.0.1.0", "@10.0.1.1"}).Draw(t, "address")
		}
		for _, port := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"443", "444"}), 1, 2, rapid.ID[string]).Draw(t, "ports") {
			fields = append(fields, endpoint+":"+port+at)
		}
	}
	return strings.Join(fields, " ")
}

// drawDefinitions draws definitions of several leases.
func (s *situation) drawDefinitions(t *rapid.T, most int) (defs []*lease.Definition) {
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a1", "a2", "c1", "c2", "d1", "d2"}), 1, most, rapid.ID[string]).Draw(t, "leases") {
		text := drawDefinition(t, id)
		s.tell("  %s", text)
		defs = append(defs, defined(text))
	}
	return defs
}

// drawSituation draws what has happened.
func drawSituation(t *rapid.T, empty *Server) *situation {
	s := newSituation(empty)
	s.cfg.IP.Mode = rapid.SampledFrom([]string{config.ModeRange, config.ModeRange, config.ModeDedicated, config.ModePool}).Draw(t, "mode")
	s.drawTarget(t)
	for range rapid.IntRange(0, 4).Draw(t, "commands") {
		a, ctx := apply.New(connect(s.server), s.options(1)), context.Background()
		id, host := rapid.SampledFrom(allLeases()).Draw(t, "lease"), rapid.SampledFrom(planHosts).Draw(t, "host")
		switch rapid.IntRange(0, 7).Draw(t, "command") {
		default:
			a.Command.Options.Prune = rapid.Bool().Draw(t, "prune")
			err := a.Apply(ctx, s.drawDefinitions(t, 3))
			s.tell("applied, prune %v: %v", a.Command.Options.Prune, err)
		case 0:
			s.tell("transferred %s to %s: %v", host, id.Group(), a.Transfer(ctx, id, []string{host}, nil))
		case 1:
			s.tell("released %s of %s: %v", host, id.Group(), a.Release(ctx, []lease.Group{id.Group()}, host))
		case 2:
			if objects := s.objects(); len(objects) > 0 {
				s.lose(t, rapid.SampledFrom(objects).Draw(t, "object"))
			}
		case 3:
			s.foreign(strings.Replace(host, "*", "wild", 1), id.Namespace())
		}
	}
	s.prune = rapid.IntRange(0, 3).Draw(t, "prune") > 0
	s.adopt = rapid.IntRange(0, 5).Draw(t, "adopt") == 0
	if rapid.IntRange(0, 5).Draw(t, "retarget") == 0 {
		s.drawTarget(t)
	}
	s.tell("mode %s target %s prune %v adopt %v, input:", s.cfg.IP.Mode, s.cfg.Target, s.prune, s.adopt)
	return s
}

func (s *situation) drawTarget(t *rapid.T) {
	s.cfg.Target = rapid.SampledFrom([]string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute}).Draw(t, "target")
}

// objects are all that somebody may delete, in one order.
func (s *situation) objects() (paths []string) {
	for path, o := range s.server.objects {
		if o.kind.plural != "namespaces" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// lose deletes objects, by how their paths end.
func (s *situation) lose(t fatal, names ...string) {
	for _, name := range names {
		was := len(s.server.objects)
		maps.DeleteFunc(s.server.objects, func(path string, _ *stored) bool { return strings.HasSuffix(path, name) })
		if s.tell("deleted %s", name); len(s.server.objects) == was {
			t.Fatalf("there is no %s", name)
		}
	}
}

// foreign makes an Ingress of somebody who knows nothing of this program.
func (s *situation) foreign(host, namespace string) {
	body := fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":%q,"namespace":%q},
"spec":{"rules":[{"host":%q,"http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"site","port":{"number":80}}}}]}}]}}`,
		"by-hand-"+host, namespace, host)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://sim/apis/networking.k8s.io/v1/namespaces/"+namespace+"/ingresses", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	if _, err := s.server.RoundTrip(r); err != nil { //nolint:bodyclose // it is in memory
		panic(err)
	}
	s.tell("somebody made an Ingress for %s in %s", host, namespace)
}
