package render

import (
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// Migrated is a route in its new form.
type Migrated struct {
	*Live
	// Objects are the objects of the new form, in the order of writing; none if the route is refused.
	Objects []Object
	// Lost are the settings that the new form does not have.
	Lost []Loss
	// Refused has the reasons why the route cannot be migrated: the target does not support a setting that decides who
	// reaches what.
	Refused []string
}

// Migrate renders live routes of one lease for the configuration's target. It drops settings that only tune a route if
// the target does not support them, and reports them as lost. It refuses a route if it would have to drop anything
// else. beside are the lease's routes that already have the target's form; they count for settings that several routes
// share.
func Migrate(lives, beside []*Live, cfg *config.ProviderConfig, s Surroundings) []Migrated {
	m := migration{cfg: cfg, Surroundings: s, taken: slices.Clone(beside), issued: map[string]bool{}}
	out := make([]Migrated, len(lives))
	for i, live := range lives {
		out[i] = m.migrate(live)
	}
	return out
}

// migration is the state shared by routes of a lease that are migrated together.
type migration struct {
	Surroundings
	cfg *config.ProviderConfig
	// taken are the routes that already have the target's form.
	taken []*Live
	// issued are the Secrets that cert-manager writes for their Ingresses.
	issued map[string]bool
}

// migrate renders one route and, unless it is refused, adds it to the taken routes.
func (m *migration) migrate(live *Live) Migrated {
	out := Migrated{Live: live}
	live.keepPlain(m.cfg.Target)
	out.Objects, out.Lost, out.Refused = m.fit(live)
	if len(out.Refused) > 0 {
		return out
	}
	out.Lost = append(live.readLosses(m.cfg), out.Lost...)
	annotateDNS(out.Objects, live.definition(), m.cfg, nil)
	m.taken = append(m.taken, live)
	if t := live.Expose.TLS(); m.cfg.Target == config.TargetIngress && t != nil && t.Issuer != nil && t.SecretName != "" {
		m.issued[t.SecretName] = true
	}
	return out
}

// keepPlain makes requests without TLS find in the new form what they found in the old one, where the definition leaves
// it to the router. Routers differ in that. An Ingress redirects, and cannot leave them without an answer.
func (l *Live) keepPlain(target string) {
	tls := l.Expose.TLS()
	if tls == nil || tls.Insecure != "" || tls.Termination == lease.Passthrough && l.plain != lease.InsecureRedirect ||
		slices.ContainsFunc(kinds.OfTarget(target), func(k kinds.Kind) bool { return k.Kind == l.Route.GetKind() }) ||
		target == config.TargetIngress && l.plain == lease.InsecureNone {
		return
	}
	tls.Insecure = l.plain
}

// definition returns a definition of just this route.
func (l *Live) definition() *lease.Definition {
	return &lease.Definition{Lease: l.Lease, Hash: l.Hash,
		Services: []lease.Service{{Name: l.Service, Expose: []lease.Expose{l.Expose}}}}
}

// readLosses returns the losses of reading the route, except for annotations that Akash's HTTPRoutes copy unchanged.
func (l *Live) readLosses(cfg *config.ProviderConfig) []Loss {
	if l.nginx == nil || cfg.Target != config.TargetHTTPRoute || cfg.Gateway.Implementation != config.GatewayAkash {
		return l.Lost
	}
	return slices.DeleteFunc(slices.Clone(l.Lost), func(lost Loss) bool {
		return lost.What == nginxPrefix+"proxy-body-size" || lost.What == nginxPrefix+"proxy-next-upstream"
	})
}

// fit renders a route, and drops tuning options until the target accepts it.
func (m *migration) fit(live *Live) (objects []Object,
	lost []Loss, refused []string) {
	objects, problems := m.attempt(live)
	for _, option := range tuning {
		if len(problems) == 0 {
			break
		}
		without := live.clone()
		if !option.drop(without) {
			continue
		}
		fewer, still := m.attempt(without)
		if len(still) < len(problems) {
			lost = append(lost, Loss{What: option.what, Why: vanished(problems, still)})
			*live, objects, problems = *without, fewer, still
		}
	}
	for _, p := range problems {
		refused = append(refused, p.Message)
	}
	if len(refused) > 0 {
		return nil, nil, refused
	}
	return objects, lost, nil
}

// attempt renders one route together with the taken routes.
func (m *migration) attempt(live *Live) ([]Object, lease.Problems) {
	l := newLeased(&lease.Definition{Lease: live.Lease, Hash: live.Hash, Services: m.services()}, m.cfg)
	l.issued = maps.Clone(m.issued)
	r := live.route(m.cfg.Target)
	if m.cfg.Target == config.TargetRoute && r.expose.Port == 0 {
		l.refuse(r, r.at, "which port of the containers is behind port %d of Service %s cannot be seen, "+
			"and a Route names that one: the Service is not there, or names it", r.port, r.service)
	}
	all := make([]route, 0, len(m.taken)+1)
	for _, t := range m.taken {
		all = append(all, t.route(m.cfg.Target))
	}
	l.findBackends(append(all, r))
	objects := l.appendRoute(nil, r)
	return objects, l.problems.Errors()
}

// services returns the cluster's Services as a definition would declare them.
func (s Surroundings) services() []lease.Service {
	var all []lease.Service
	for _, name := range slices.Sorted(maps.Keys(s.Ports)) {
		service := lease.Service{Name: name}
		for _, p := range s.Ports[name] {
			if p.Container != 0 {
				service.Expose = append(service.Expose, lease.Expose{Port: p.Container, As: p.Port, Protocol: lease.TCP})
			}
		}
		all = append(all, service)
	}
	return all
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
func (l *Live) clone() *Live {
	out := *l
	if r := l.Expose.Routing; r != nil {
		routing := *r
		if r.TLS != nil {
			tls := *r.TLS
			routing.TLS = &tls
		}
		out.Expose.Routing = &routing
	}
	return &out
}

// option is a setting that a route can lose: it then serves the same clients, but less well tuned. drop returns false
// if the route does not have it.
type option struct {
	what string
	drop func(*Live) bool
}

// tuning are the options that may be dropped. All other settings decide which requests reach which backend, and what
// the backend receives: TLS and its policies, CAs, weights, header rules, address lists.
var tuning = []option{
	{"maxBodySize", func(l *Live) bool { return zero(&l.Expose.HTTP.MaxBodySize) }},
	{"readTimeout", func(l *Live) bool { return zero(&l.Expose.HTTP.ReadTimeout) }},
	{"sendTimeout", func(l *Live) bool { return zero(&l.Expose.HTTP.SendTimeout) }},
	{"nextTries", func(l *Live) bool { return zero(&l.Expose.HTTP.NextTries) }},
	{"nextTimeout", func(l *Live) bool { return zero(&l.Expose.HTTP.NextTimeout) }},
	{"nextCases", func(l *Live) bool {
		had := len(l.Expose.HTTP.NextCases) > 0
		l.Expose.HTTP.NextCases = nil
		return had
	}},
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

func inRouting(drop func(*lease.Routing) bool) func(*Live) bool {
	return func(l *Live) bool {
		if l.Expose.Routing == nil || !drop(l.Expose.Routing) {
			return false
		}
		l.Expose.Routing = l.Expose.Routing.OrNil()
		return true
	}
}

func inTLS(drop func(*lease.TLS) bool) func(*Live) bool {
	return inRouting(func(r *lease.Routing) bool { return r.TLS != nil && drop(r.TLS) })
}

// zero clears a value and reports whether it was set.
func zero[T comparable](v *T) bool {
	var none T
	had := *v != none
	*v = none
	return had
}
