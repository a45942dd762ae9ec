package render

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// Migrated is a route of a lease in the form of the configuration's target.
type Migrated struct {
	// LeadsTo says which requests the route takes, and to which ports of Services they go.
	LeadsTo string
	// Objects are the objects of the new form, in the order of writing; none if the route is refused.
	Objects []Object
	// Lost are the settings that the new form does not have, each with the reason.
	Lost []string
	// Refused has the reasons why the route cannot be migrated: the target does not support a setting that decides who
	// reaches what.
	Refused []string
}

// Migrate renders the routes of a lease for the configuration's target, each by itself, by name. It drops settings that only tune
// a route if the target does not support them, and reports them as lost. It refuses a route if it would have to drop
// anything else. read are routes that the definition may lack. are says of which kind each route of the lease is now: others are left
// out, and those of the target's kind only count for settings that several routes share.
func Migrate(def *lease.Definition, read []AkashRoute, cfg *config.ProviderConfig, are map[string]kinds.Kind) map[string]*Migrated {
	m, moving, out := migration{cfg: cfg, def: def, issued: map[string]bool{}}, []route{}, map[string]*Migrated{}
	all := routes(def, cfg)
	for _, a := range read {
		if !slices.ContainsFunc(all, func(r route) bool { return r.name() == a.name() }) {
			all = append(all, a.route)
		}
	}
	for _, r := range all {
		kind, is := are[r.name()]
		r.target = cfg.Target
		switch {
		case !is:
		case slices.Contains(kinds.OfTarget(cfg.Target), kind):
			m.taken = append(m.taken, r)
		default:
			moving = append(moving, keepPlain(r, kind))
		}
	}
	for _, r := range moving {
		out[r.name()] = m.migrate(r)
	}
	return out
}

// migration is the state shared by routes of a lease that are migrated together.
type migration struct {
	cfg *config.ProviderConfig
	def *lease.Definition
	// taken are the routes that already have the target's form.
	taken []route
	// issued are the Secrets that cert-manager writes for their Ingresses.
	issued map[string]bool
}

// migrate renders one route and, unless it is refused, adds it to the taken routes.
func (m *migration) migrate(r route) *Migrated {
	out := &Migrated{LeadsTo: r.LeadsTo()}
	objects, problems := m.attempt(r)
	for _, option := range tuning {
		if len(problems) == 0 {
			break
		}
		without := r.clone()
		if !option.drop(&without) {
			continue
		}
		fewer, still := m.attempt(without)
		if len(still) < len(problems) {
			out.Lost = append(out.Lost, option.what+": "+vanished(problems, still))
			r, objects, problems = without, fewer, still
		}
	}
	if len(problems) > 0 {
		for _, p := range problems {
			out.Refused = append(out.Refused, p.Message)
		}
		return out
	}
	out.Objects = objects
	annotateDNS(out.Objects, m.def, m.cfg, nil)
	m.taken = append(m.taken, r)
	if t := r.tls(); m.cfg.Target == config.TargetIngress && t != nil && t.Issuer != nil && t.SecretName != "" {
		m.issued[t.SecretName] = true
	}
	return out
}

// LeadsTo says which requests the route takes, and to which ports of Services they go.
func (r route) LeadsTo() string {
	var to []string
	for _, b := range r.backends() {
		to = append(to, fmt.Sprintf("%s:%d", b.Service, b.Port))
	}
	slices.Sort(to)
	return lease.HostPath(r.host, r.path) + " to " + strings.Join(to, ", ")
}

// keepPlain makes requests without TLS find in the new form what they found in the route of another kind, where the definition leaves
// it to the router. Routers differ in that. An Ingress redirects, and cannot leave them without an answer.
func keepPlain(r route, from kinds.Kind) route {
	if tls := r.tls(); tls == nil || tls.Insecure != "" || tls.Termination == lease.Passthrough {
		return r
	}
	r = r.clone()
	switch tls := r.tls(); {
	case from == kinds.Ingress:
		tls.Insecure = lease.InsecureRedirect
	case from == kinds.HTTPRoute:
		tls.Insecure = lease.InsecureAllow
	case from == kinds.Route && r.target != config.TargetIngress:
		tls.Insecure = lease.InsecureNone
	}
	return r
}

// attempt renders one route together with the taken routes.
func (m *migration) attempt(r route) ([]Object, lease.Problems) {
	l := newLeased(m.def, m.cfg)
	l.issued = maps.Clone(m.issued)
	if m.cfg.Target == config.TargetRoute && r.expose.Port == 0 {
		l.refuse(r, r.at, "which port of the containers is behind port %d of Service %s cannot be seen, "+
			"and a Route names that one: the Service is not there, or names it", r.port, r.service)
	}
	l.findBackends(append(slices.Clone(m.taken), r))
	objects := l.appendRoute(nil, r)
	return objects, l.problems.Errors()
}

// vanished returns the messages of the problems in before that are not in after.
func vanished(before, after lease.Problems) string {
	var texts []string
	for _, p := range before {
		if !slices.ContainsFunc(after, func(q lease.Problem) bool { return q.Message == p.Message }) {
			texts = append(texts, p.Message)
		}
	}
	return strings.Join(texts, "; ")
}

// clone returns a copy whose options can be dropped.
func (r route) clone() route {
	expose := *r.expose
	r.expose = &expose
	if r.routing != nil {
		routing := *r.routing
		if routing.TLS != nil {
			tls := *routing.TLS
			routing.TLS = &tls
		}
		r.routing = &routing
	}
	return r
}

// option is a setting that a route can lose: it then serves the same clients, but less well tuned. drop returns false
// if the route does not have it.
type option struct {
	what string
	drop func(*route) bool
}

// tuning are the options that may be dropped. All other settings decide which requests reach which backend, and what
// the backend receives: TLS and its policies, CAs, weights, header rules, address lists.
var tuning = []option{
	{"maxBodySize", inHTTP(func(o *lease.HTTPOptions) bool { return zero(&o.MaxBodySize) })},
	{"readTimeout", inHTTP(func(o *lease.HTTPOptions) bool { return zero(&o.ReadTimeout) })},
	{"sendTimeout", inHTTP(func(o *lease.HTTPOptions) bool { return zero(&o.SendTimeout) })},
	{"nextTries", inHTTP(func(o *lease.HTTPOptions) bool { return zero(&o.NextTries) })},
	{"nextTimeout", inHTTP(func(o *lease.HTTPOptions) bool { return zero(&o.NextTimeout) })},
	{"nextCases", inHTTP(func(o *lease.HTTPOptions) bool {
		had := len(o.NextCases) > 0
		o.NextCases = nil
		return had
	})},
	{"sticky", inRouting(func(r *lease.Routing) bool { return zero(&r.Sticky) })},
	{"settings of OpenShift's router", inRouting(func(r *lease.Routing) bool {
		before := len(r.Annotations)
		r.Annotations = slices.DeleteFunc(slices.Clone(r.Annotations), func(a lease.RouteAnnotation) bool { return !admits(a.Key) })
		return len(r.Annotations) < before
	})},
	{"tls.secretName", inTLS(func(t *lease.TLS) bool { return zero(&t.SecretName) })},
	{"tls.issuer", inTLS(func(t *lease.TLS) bool { return zero(&t.Issuer) })},
}

// admits reports whether the setting decides which clients are admitted, or what they reach.
func admits(key string) bool {
	return key == grammar.Allowlist || key == grammar.Whitelist || key == grammar.RewriteTarget
}

func inHTTP(drop func(*lease.HTTPOptions) bool) func(*route) bool {
	return func(r *route) bool {
		dropped := drop(&r.expose.HTTP)
		r.http = r.expose.HTTP.WithDefaults()
		return dropped
	}
}

func inRouting(drop func(*lease.Routing) bool) func(*route) bool {
	return func(r *route) bool {
		if r.routing == nil || !drop(r.routing) {
			return false
		}
		r.routing = r.routing.OrNil()
		return true
	}
}

func inTLS(drop func(*lease.TLS) bool) func(*route) bool {
	return inRouting(func(r *lease.Routing) bool { return r.TLS != nil && drop(r.TLS) })
}

// zero clears a value and reports whether it was set.
func zero[T comparable](v *T) bool {
	var none T
	had := *v != none
	*v = none
	return had
}

// AkashRoute is a route in the form in which Akash's hostname operator writes it: the root of a host leads to a port of one Service, and
// annotations have the options.
type AkashRoute struct{ route }

// ReadAkashRoute reads a route that Akash's hostname operator has written with the provider's configuration. container is the
// containers' port behind that of the Service, 0 if it is not known. Everything else is an error, because it may decide who reaches what.
func ReadAkashRoute(o *unstructured.Unstructured, to lease.Backend, container uint16, cfg *config.ProviderConfig) (AkashRoute, error) {
	kind, akashs := kinds.Of(o.GetKind()), *cfg
	e := &lease.Expose{Port: container, As: to.Port, Protocol: lease.TCP, Global: true}
	r := route{host: o.GetName(), path: "/", service: to.Service, port: to.Port, expose: e, at: lease.Place{File: "route"}, target: config.TargetIngress}
	if akashs.Gateway.Implementation = config.GatewayAkash; kind == kinds.HTTPRoute {
		r.target = config.TargetHTTPRoute
	}
	options, err := readOptions(kind, o.GetAnnotations(), cfg)
	if err != nil {
		return AkashRoute{r}, err
	}
	e.HTTP, r.http = options.WithoutDefaults(), options.WithDefaults()
	id, _ := lease.IDOfObject(o.GetNamespace(), o.GetLabels())
	written := Rendered(newLeased(&lease.Definition{Lease: id}, &akashs).appendRoute(nil, r)[0])
	is, _ := o.Object["spec"].(map[string]any)
	want, _ := written.Object["spec"].(map[string]any)
	fields := maps.Clone(want)
	maps.Copy(fields, is)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !reflect.DeepEqual(is[field], want[field]) {
			return AkashRoute{r}, fmt.Errorf("its spec.%s is not what Akash's hostname operator writes with the provider's configuration", field)
		}
	}
	return AkashRoute{r}, nil
}

// readOptions reads the annotations in which Akash's hostname operator writes the HTTP options.
func readOptions(kind kinds.Kind, annotations map[string]string, cfg *config.ProviderConfig) (o lease.HTTPOptions, err error) {
	prefix, size := nginxPrefix, "proxy-body-size"
	if kind == kinds.HTTPRoute {
		prefix, size = gatewayPrefix, "client-max-body-size"
	}
	number := func(key string) uint64 {
		n, _ := strconv.ParseUint(strings.TrimSuffix(annotations[prefix+key], "s"), 10, 64)
		return min(n, math.MaxUint32)
	}
	seconds := func(key string) time.Duration { return time.Duration(number(key)) * time.Second }
	o.MaxBodySize = uint32(number(size))
	o.ReadTimeout, o.SendTimeout, o.NextTimeout = seconds("proxy-read-timeout"), seconds("proxy-send-timeout"), seconds("proxy-next-upstream-timeout")
	o.NextTries = uint32(number("proxy-next-upstream-tries"))
	for _, c := range strings.Fields(annotations[prefix+"proxy-next-upstream"]) {
		o.NextCases = append(o.NextCases, strings.TrimPrefix(c, "http_"))
	}
	written := OptionsOf(kind, o.WithDefaults())
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if value, is := written[key]; is && value == annotations[key] || key == gatewayPrefix+"proxy-buffer-size" || !Routes(key, annotations[key], cfg) {
			continue
		}
		return o, fmt.Errorf("%s: %s may decide who reaches what, and Akash's hostname operator does not write that", key, lease.Clip(annotations[key]))
	}
	return o, nil
}

// otherDomains are the domains of annotations that no router reads: those of Akash and of this program, of the tools that deploy, back
// up, watch and describe objects, of cert-manager, and of external-dns. A key without a domain is nobody's.
var otherDomains = []string{
	"", lease.LabelManaged, "kubectl.kubernetes.io", "deployment.kubernetes.io", "app.kubernetes.io",
	"external-dns.kubernetes.io", "external-dns.alpha.kubernetes.io",
	"helm.sh", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "fluxcd.io", "config.kubernetes.io",
	"internal.config.kubernetes.io", "config.k8s.io", "kustomize.config.k8s.io", "argoproj.io", "k14s.io", "cattle.io",
	"cert-manager.io", "prometheus.io", "velero.io", "stakater.com", "kyverno.io", "gethomepage.dev", "pulumi.com",
}

// Routes reports whether a router may read an annotation, or a label: one that its tools write, or that was written for external-dns
// because of the provider's configuration, is no router's.
func Routes(key, value string, cfg *config.ProviderConfig) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		domain = ""
	}
	return value != "" && domain != "openshift.io" && !strings.HasPrefix(key, cfg.DNS.AnnotationPrefix+"/") && !slices.ContainsFunc(otherDomains, func(d string) bool {
		return domain == d || d != "" && strings.HasSuffix(domain, "."+d)
	})
}
