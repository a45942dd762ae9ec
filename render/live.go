package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Live is a route of the cluster in the words of a lease definition: one path of one host.
type Live struct {
	// Route is the object as it was read.
	Route *unstructured.Unstructured
	Lease lease.ID
	// Hash is that of the definition it was rendered from; empty where this program did not.
	Hash string
	Host string
	// Service is the route's own service; Expose its port, with no more than what the route says.
	// Expose.Port, the container's port, is 0 where nobody says it.
	Service string
	Expose  lease.Expose
	// Beside are the objects that say more of this route, and that go with it.
	Beside []Ref
	// Lost are the annotations and fields for which a definition has no word, with the reason.
	Lost []Loss
	// nginx are the annotations of an Ingress as they are.
	nginx map[string]string
}

// Loss is something of a route that its new form will not have.
type Loss struct {
	// What is the annotation, the field, or the word of the definition.
	What string
	// Why is empty where there simply is no word for it.
	Why string
}

func (l Loss) String() string {
	if l.Why == "" {
		return l.What
	}
	return l.What + ": " + l.Why
}

// Ref names an object in the namespace of its lease.
type Ref struct {
	Kind kinds.Kind
	Name string
}

// Surroundings are what else has to be known to read a route back.
type Surroundings struct {
	// Find is the object of that kind and name that this program wrote for the lease, or nil.
	Find func(kind kinds.Kind, name string) *unstructured.Unstructured
	// Ports are the ports of the lease's Services by name. What is not there is not known.
	Ports map[string][]ServicePort
}

// ServicePort is a port of a Service, and the port of the containers behind it.
type ServicePort struct {
	Name            string
	Port, Container uint16
}

// container is the port of the containers behind a Service's port, or 0.
func (s Surroundings) container(service string, port uint16) uint16 {
	for _, p := range s.Ports[service] {
		if p.Port == port {
			return p.Container
		}
	}
	return 0
}

// reader reads one route. Each annotation and label that is understood is taken out of its map; what
// is left in the end is lost.
type reader struct {
	*Live
	Surroundings
	cfg         *config.ProviderConfig
	annotations map[string]string
}

// ReadRoute reads a route back into the words of a definition. It may be this program's or one of
// Akash's provider. The error says why the route is none that a definition could mean: nothing that
// decides which requests reach the backend is left out.
func ReadRoute(o *unstructured.Unstructured, cfg *config.ProviderConfig, s Surroundings) (*Live, error) {
	id, labelled := lease.IDFromLabels(o.GetLabels())
	if !labelled {
		return nil, fmt.Errorf("its labels name no lease")
	}
	r := &reader{
		Live: &Live{
			Route: o, Lease: id, Hash: o.GetAnnotations()[lease.AnnotationDefinition],
			Expose: lease.Expose{Protocol: lease.TCP, Global: true, Routing: &lease.Routing{}},
		},
		Surroundings: s, cfg: cfg, annotations: map[string]string{},
	}
	for k, v := range o.GetAnnotations() {
		if !working(k) && !said(k, v, cfg) {
			r.annotations[k] = v
		}
	}
	r.labels()
	var err error
	switch o.GetKind() {
	case kinds.Ingress.Kind:
		err = r.ingress()
	case kinds.HTTPRoute.Kind:
		err = r.httpRoute()
	case kinds.TLSRoute.Kind:
		err = r.tlsRoute()
	default:
		err = r.openShiftRoute()
	}
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Sorted(maps.Keys(r.annotations)) {
		r.lose(k, "")
	}
	r.Expose.Hosts = []lease.Host{{Name: r.Host}}
	r.Expose.HTTP = r.Expose.HTTP.WithoutDefaults()
	r.Expose.Routing = r.Expose.Routing.OrNil()
	return r.Live, r.named()
}

// named refuses a route under a name that its new form would not have: there would be two.
func (r *reader) named() error {
	if err := lease.CheckRoute(r.Host, r.Expose.RoutePath()); err != nil {
		return err
	}
	if want := lease.RouteName(r.Host, r.Expose.RoutePath()); r.Route.GetName() != want {
		return fmt.Errorf("it is not named %s, as the route of %s is", want, lease.HostPath(r.Host, r.Expose.RoutePath()))
	}
	return nil
}

// working is true for annotations with which other programs do their work, and for those that every
// form of the route has.
func working(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	switch domain {
	case lease.Domain, lease.LabelManaged, "acme.cert-manager.io", "openshift.io":
		return true
	}
	return slices.Contains([]string{
		"kubectl.kubernetes.io/last-applied-configuration",
		"cert-manager.io/certificate-revision", "cert-manager.io/next-private-key",
	}, key)
}

// said is true for what the provider's configuration has said to external-dns: it says it of the new
// form too, but for who reads a route that goes.
func said(key, value string, cfg *config.ProviderConfig) bool {
	prefix := cfg.DNS.AnnotationPrefix + "/"
	return cfg.DNS.Form == config.DNSAnnotations &&
		(key == prefix+"ttl" || key == prefix+"target" || key == prefix+"controller" && value == lease.FieldManager)
}

// take is an annotation that is understood from here on.
func (r *reader) take(key string) string {
	value := r.annotations[key]
	delete(r.annotations, key)
	return value
}

func (r *reader) lose(what, format string, args ...any) {
	r.Lost = append(r.Lost, Loss{What: what, Why: fmt.Sprintf(format, args...)})
}

// labels are those of the definition: all but Akash's, Kubernetes' and ours.
func (r *reader) labels() {
	for _, k := range slices.Sorted(maps.Keys(r.Route.GetLabels())) {
		domain, _, _ := strings.Cut(k, "/")
		switch {
		case domain == lease.LabelManaged || strings.HasSuffix(domain, "."+lease.LabelManaged):
		case lease.ReservedDomain(k) != "":
			r.lose("label "+k, "")
		default:
			if r.Expose.Routing.Labels == nil {
				r.Expose.Routing.Labels = map[string]string{}
			}
			r.Expose.Routing.Labels[k] = r.Route.GetLabels()[k]
		}
	}
}

// tls is the TLS of the route, made when it is first spoken of.
func (r *reader) tls() *lease.TLS {
	if r.Expose.Routing.TLS == nil {
		r.Expose.Routing.TLS = &lease.TLS{}
	}
	return r.Expose.Routing.TLS
}

// leads sets the service and its port, with the container's where it is known.
func (r *reader) leads(service string, port uint16) {
	r.Service = service
	r.Expose.As, r.Expose.Port = port, r.container(service, port)
}

// beside is an object that goes with the route, or nil where there is none of this lease.
func (r *reader) beside(kind kinds.Kind, name string) *unstructured.Unstructured {
	if r.Find == nil {
		return nil
	}
	o := r.Find(kind, name)
	if o == nil {
		return nil
	}
	if id, ok := lease.IDFromLabels(o.GetLabels()); !ok || id.Group() != r.Lease.Group() {
		return nil
	}
	r.Beside = append(r.Beside, Ref{kind, name})
	return o
}

// as reads an object into the struct of its kind.
func as[T any](o *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return out, nil
}

// shares sets the services that share the traffic. One alone has all of it, whatever its weight.
func (r *reader) shares(all []lease.Backend) error {
	if len(all) > 4 {
		return fmt.Errorf("%d services share its traffic; at most 4 are supported", len(all))
	}
	if len(all) == 1 && all[0].Weight == 0 {
		return fmt.Errorf("its only service has the weight 0: it serves nothing")
	}
	r.leads(all[0].Service, all[0].Port)
	if len(all) == 1 {
		return nil
	}
	weight := all[0].Weight
	r.Expose.Routing.Weight, r.Expose.Routing.Backends = &weight, all[1:]
	return nil
}

// readWeight reads the weight of a service, or returns the default if it has none.
func readWeight(service string, weight *int32, defaultWeight int32) (uint16, error) {
	w := defaultWeight
	if weight != nil {
		w = *weight
	}
	if w < 0 || w > 256 {
		return 0, fmt.Errorf("service %q has the weight %d; at most 256 is supported", service, w)
	}
	return uint16(w), nil
}

// route is the live route as it is to be rendered for a target.
func (l *Live) route(target string) route {
	e := l.Expose
	return route{
		host: l.Host, path: e.RoutePath(), service: l.Service, port: e.ExternalPort(), http: e.HTTP.WithDefaults(),
		target: target, expose: &e, routing: e.Routing, at: cmp.Or(e.At, lease.Place{File: "route"}), nginx: l.nginx,
	}
}
