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

// Live is a route of the cluster, one path of one host, expressed as fields of a lease definition.
type Live struct {
	// Route is the object as it was read.
	Route *unstructured.Unstructured
	Lease lease.ID
	// Hash is the hash of the definition that the route was rendered from; empty if this program did not render it.
	Hash string
	Host string
	// Service is the route's own service. Expose is its port, with the settings of the route. Expose.Port, the
	// container's port, is 0 if it is unknown.
	Service string
	Expose  lease.Expose
	// Beside are the other objects of this route, which are deleted together with it.
	Beside []Ref
	// Lost are the annotations and fields that a definition cannot express.
	Lost []Loss
	// plain is what its router does with requests without TLS where the definition says nothing; empty if that does not
	// matter.
	plain lease.InsecurePolicy
	// nginx are the annotations of an Ingress, unchanged.
	nginx map[string]string
}

// Loss is a setting of a route that its new form does not have.
type Loss struct {
	// What is an annotation, a field of the object, or a field of the definition.
	What string
	// Why is the reason; empty if a definition simply has no field for it.
	Why string
}

func (l Loss) String() string {
	if l.Why == "" {
		return l.What
	}
	return l.What + ": " + l.Why
}

// Ref refers to an object in the namespace of its lease.
type Ref struct {
	Kind kinds.Kind
	Name string
}

// Surroundings are the other objects that are needed to read a route.
type Surroundings struct {
	// Find returns the object that this program wrote for the lease, or nil.
	Find func(kind kinds.Kind, name string) *unstructured.Unstructured
	// Ports maps the lease's Services to their ports. A missing Service is unknown.
	Ports map[string][]ServicePort
}

// ServicePort is a port of a Service and the container port behind it.
type ServicePort struct {
	Name            string
	Port, Container uint16
}

// container returns the container port behind a Service's port, or 0.
func (s Surroundings) container(service string, port uint16) uint16 {
	for _, p := range s.Ports[service] {
		if p.Port == port {
			return p.Container
		}
	}
	return 0
}

// reader reads one route. It removes every annotation that it understands; the remaining ones are lost.
type reader struct {
	*Live
	Surroundings
	cfg         *config.ProviderConfig
	annotations map[string]string
}

// ReadRoute reads a route of this program or of Akash's provider as fields of a definition. It returns an error if a
// definition cannot express which requests reach the backend.
func ReadRoute(o *unstructured.Unstructured, cfg *config.ProviderConfig, s Surroundings) (*Live, error) {
	id, labelled := lease.IDOfObject(o.GetNamespace(), o.GetLabels())
	if !labelled {
		return nil, fmt.Errorf("its labels do not name the lease of its namespace")
	}
	r := &reader{
		Live: &Live{
			Route: o, Lease: id, Hash: o.GetAnnotations()[lease.AnnotationDefinition],
			Expose: lease.Expose{Protocol: lease.TCP, Global: true, Routing: &lease.Routing{}},
		},
		Surroundings: s, cfg: cfg, annotations: map[string]string{},
	}
	for k, v := range o.GetAnnotations() {
		if !maintained(k) && !fromConfig(k, v, cfg) {
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
	if err := r.checkAnnotations(); err != nil {
		return nil, err
	}
	r.Expose.Hosts = []lease.Host{{Name: r.Host}}
	r.Expose.HTTP = r.Expose.HTTP.WithoutDefaults()
	r.Expose.Routing = r.Expose.Routing.OrNil()
	return r.Live, r.checkName()
}

// LeadsTo says which requests the route takes, and to which ports of Services they go.
func (l *Live) LeadsTo() string {
	to := []string{fmt.Sprintf("%s:%d", l.Service, l.Expose.ExternalPort())}
	if l.Expose.Routing != nil {
		for _, b := range l.Expose.Routing.Backends {
			to = append(to, fmt.Sprintf("%s:%d", b.Service, cmp.Or(b.Port, l.Expose.ExternalPort())))
		}
	}
	slices.Sort(to)
	return lease.HostPath(l.Host, l.Expose.RoutePath()) + " to " + strings.Join(to, ", ")
}

// checkName returns an error if the new form would have another name, because then both routes would exist.
func (r *reader) checkName() error {
	if err := lease.CheckRoute(r.Host, r.Expose.RoutePath()); err != nil {
		return err
	}
	if want := lease.RouteName(r.Host, r.Expose.RoutePath()); r.Route.GetName() != want {
		return fmt.Errorf("it is not named %s, as the route of %s is", want, lease.HostPath(r.Host, r.Expose.RoutePath()))
	}
	return nil
}

// maintained reports whether another program maintains the annotation, or every form of the route has it.
func maintained(key string) bool {
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

// fromConfig reports whether the annotation was written for external-dns because of the provider's configuration. The
// new form gets it again. It also matches the controller annotation of a route that is about to be deleted.
func fromConfig(key, value string, cfg *config.ProviderConfig) bool {
	prefix := cfg.DNS.AnnotationPrefix + "/"
	return cfg.DNS.Form == config.DNSAnnotations &&
		(key == prefix+"ttl" || key == prefix+"target" || key == prefix+"controller" && value == lease.FieldManager)
}

// take returns an annotation and removes it from those that are lost.
func (r *reader) take(key string) string {
	value := r.annotations[key]
	delete(r.annotations, key)
	return value
}

func (r *reader) lose(what, format string, args ...any) {
	r.Lost = append(r.Lost, Loss{What: what, Why: fmt.Sprintf(format, args...)})
}

// labels reads the labels of the definition: all except those of Akash, Kubernetes and this program.
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

// tls returns the TLS settings of the route, and creates them on first use.
func (r *reader) tls() *lease.TLS {
	if r.Expose.Routing.TLS == nil {
		r.Expose.Routing.TLS = &lease.TLS{}
	}
	return r.Expose.Routing.TLS
}

// setService sets the service and its port, with the container's port if it is known.
func (r *reader) setService(service string, port uint16) {
	r.Service = service
	r.Expose.As, r.Expose.Port = port, r.container(service, port)
}

// beside returns another object of the route, or nil if this lease has no such object.
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

// as converts an object to the type of its kind.
func as[T any](o *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return out, nil
}

// shares sets the services that share the traffic. A single service gets all of it, whatever its weight.
func (r *reader) shares(all []lease.Backend) error {
	if len(all) > 4 {
		return fmt.Errorf("%d services share its traffic; at most 4 are supported", len(all))
	}
	if len(all) == 1 && all[0].Weight == 0 {
		return fmt.Errorf("its only service has the weight 0: it serves nothing")
	}
	r.setService(all[0].Service, all[0].Port)
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

// route returns the live route for rendering with the target.
func (l *Live) route(target string) route {
	e := l.Expose
	return route{
		host: l.Host, path: e.RoutePath(), service: l.Service, port: e.ExternalPort(), http: e.HTTP.WithDefaults(),
		target: target, expose: &e, routing: e.Routing, at: cmp.Or(e.At, lease.Place{File: "route"}), nginx: l.nginx,
	}
}
