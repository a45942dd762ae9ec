package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The ways to live beside Akash's operators.
const (
	// OperatorsAuto leaves to an operator what it makes where its Deployment is in the cluster.
	OperatorsAuto = "auto"
	// OperatorsOn leaves it to them without looking. OperatorsOff makes everything, and refuses what they
	// would write over where their Deployments are in the cluster.
	OperatorsOn  = "on"
	OperatorsOff = "off"
)

// OperatorsNamespace is where Akash's charts run the provider and its operators.
const OperatorsNamespace = "akash-services"

// The Deployments of Akash's operators, as its charts name them and as they did before.
var (
	hostnameOperators = []string{"operator-hostname", "akash-hostname-operator"}
	ipOperators       = []string{"operator-ip", "akash-ip-operator"}
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// operators are those of Akash's operators that make objects in this cluster: the hostname operator
// the route of each ProviderHost, the IP operator the Service of each ProviderLeasedIP.
type operators struct {
	hostname, ip bool
	// off is true where they are to be done without and run all the same.
	off bool
}

// OperatorError says that Akash's operators would stop at what was to be written, or ignore its lease
// from then on.
type OperatorError struct {
	Lease lease.ID
	At    lease.Place
	// Why says what does not fit.
	Why string
}

func (e *OperatorError) Error() string {
	text := fmt.Sprintf("lease %s: %s. Nothing was changed", e.Lease, e.Why)
	if at := e.At.String(); at != "" {
		return at + ": " + text
	}
	return text
}

// findOperators says which operators to count on. Those that are said to be off are looked for too: they
// do not ask whether they are wanted. Whoever may not look is believed.
func (a *Applier) findOperators(ctx context.Context) (operators, error) {
	switch a.opts.Operators {
	case OperatorsOn:
		return operators{hostname: true, ip: true}, nil
	case "":
		return operators{}, nil
	}
	off := a.opts.Operators == OperatorsOff
	list, err := a.cluster.Objects(ctx, deployments, OperatorsNamespace, metav1.ListOptions{})
	switch {
	case err != nil && off && !cluster.IsAway(err):
		return operators{}, nil
	case err != nil:
		return operators{}, fmt.Errorf("whether Akash's operators run cannot be seen: %w\n--operators=on or --operators=off says it", err)
	}
	found := operators{hostname: runs(list, hostnameOperators), ip: runs(list, ipOperators)}
	found.off = off && (found.hostname || found.ip)
	return found, nil
}

// ipOperatorFor is true where Akash's IP operator runs and a request asks for ports on which it has a say:
// those of endpoints whose address MetalLB chooses.
func (a *Applier) ipOperatorFor(ctx context.Context, requests []state.Request) (bool, error) {
	if a.opts.Config.IP.Mode != config.ModePool || !slices.ContainsFunc(requests, func(r state.Request) bool { return len(r.Endpoints) > 0 }) {
		return false, nil
	}
	found, err := a.findOperators(ctx)
	return found.ip, err
}

// runs is true where one of the Deployments is there and is not scaled to nothing.
func runs(deployments []*unstructured.Unstructured, names []string) bool {
	return slices.ContainsFunc(deployments, func(d *unstructured.Unstructured) bool {
		replicas, set, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		return slices.Contains(names, d.GetName()) && (!set || replicas > 0)
	})
}

// read takes the snapshot, and finds the operators and what they go by: the Manifests of Akash's
// provider.
func (a *Applier) read(ctx context.Context, withAddresses bool) (*snapshot, error) {
	return a.readWith(ctx, reading{addresses: withAddresses, further: kinds.RecordsOf(a.opts.Config)})
}

func (a *Applier) readWith(ctx context.Context, how reading) (*snapshot, error) {
	var s *snapshot
	var found operators
	manifests := map[string]*unstructured.Unstructured{}
	group, groupCtx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		s, err = readBy(groupCtx, a.cluster, a.ledger, how)
		return err
	})
	group.Go(func() (err error) {
		if found, err = a.findOperators(groupCtx); err != nil || !found.hostname {
			return err
		}
		list, err := a.cluster.Objects(groupCtx, cluster.AkashResource("manifests"), a.opts.Config.ManifestNamespace, metav1.ListOptions{})
		for _, m := range list {
			manifests[m.GetName()] = m
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.operators, s.manifests = found, manifests
	return s, nil
}

// fitsOperators refuses, before anything is claimed, what Akash's operators would choke on or write over.
// The hostname operator looks a ProviderHost's lease, service and port up in the lease's Manifest, and
// ignores the lease for good when it has not found them three times (provider: operator/hostname,
// event-failure-limit). The IP operator makes Services that ask for no address.
func (r *run) fitsOperators() error {
	if err := r.fitsIPOperator(); err != nil || !r.snapshot.operators.hostname {
		return err
	}
	if r.opts.Config.DNS.Form == config.DNSAnnotations {
		return r.unfit(r.def.At, "Akash's hostname operator makes its routes, and knows no annotations for external-dns (dns.form: annotations); dns.form endpoint works beside it")
	}
	for _, s := range r.def.Services {
		for _, e := range s.Expose {
			if err := r.fitsHostnameOperator(&s, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) unfit(at lease.Place, format string, args ...any) error {
	return &OperatorError{Lease: r.req.Lease, At: at, Why: fmt.Sprintf(format, args...)}
}

// fitsIPOperator refuses leased ports for which the IP operator would write other Services.
func (r *run) fitsIPOperator() error {
	switch {
	case !r.snapshot.operators.ip || len(r.req.Endpoints) == 0:
		return nil
	case r.opts.Config.IP.Mode != config.ModePool:
		return r.unfit(r.req.Endpoints[0].At, "Akash's IP operator lets MetalLB choose the addresses, which goes with ip.mode %q only and not with %q: "+
			"set ip.mode to %q, or stop the operator (%s)", config.ModePool, r.opts.Config.IP.Mode, config.ModePool, stop(ipOperators))
	case r.snapshot.operators.off:
		return r.unfit(r.req.Endpoints[0].At, "--operators=off, but Akash's IP operator runs, and writes its own Services over those of this program: "+
			"leave --operators=off out, or stop the operator (%s)", stop(ipOperators))
	}
	return nil
}

// fitsHostnameOperator refuses a root host that the hostname operator would not route, or would route
// otherwise.
func (r *run) fitsHostnameOperator(s *lease.Service, e lease.Expose) error {
	if e.IsIngress() && e.Routing != nil && r.known(e) {
		return r.unfit(e.At, "Akash's hostname operator makes plain routes of root hosts: "+
			"it does not know TLS, weights, header rules, sticky sessions, settings and labels")
	}
	hosts := len(e.Hosts) > 0 || len(r.opts.Config.OwnHosts(r.req.Lease, s)) > 0
	if !e.IsIngress() || !hosts || e.RoutePath() != "/" {
		return nil
	}
	if r.snapshot.operators.off && r.known(e) {
		return r.unfit(e.At, "--operators=off, but Akash's hostname operator runs, and writes its own route of %s over that of this program: "+
			"leave --operators=off out, or stop the operator (%s)", s.Name, stop(hostnameOperators))
	}
	manifest := r.snapshot.manifests[r.req.Lease.Namespace()]
	switch {
	case manifest == nil:
		return r.unfit(e.At, "it has no Manifest in namespace %s, and Akash's hostname operator would ignore the lease from then on: "+
			"apply again when the tenant has sent the manifest", r.opts.Config.ManifestNamespace)
	case !served(manifest, s.Name, e.ExternalPort()):
		return r.unfit(e.At, "its Manifest has no service %s with instances and a global port %d, and Akash's hostname operator would ignore the lease from then on: "+
			"apply what the tenant has deployed", s.Name, e.ExternalPort())
	}
	return nil
}

// stop is the command that stops an operator as Akash's charts name it.
func stop(names []string) string {
	return fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=0", OperatorsNamespace, names[0])
}

// known is true for an expose with a host of which Akash's operators know.
func (r *run) known(e lease.Expose) bool {
	return e.RoutePath() == "/" && (r.opts.Config.Ingress.StaticHosts || slices.ContainsFunc(e.Hosts, func(h lease.Host) bool { return !strings.HasPrefix(h.Name, "*.") }))
}

// served is true where the Manifest has what the hostname operator looks for: the service, with
// instances, and a global port of that number.
func served(manifest *unstructured.Unstructured, service string, port uint16) bool {
	if manifest == nil {
		return false
	}
	services, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "group", "services")
	return slices.ContainsFunc(services, func(v any) bool {
		s, ok := v.(map[string]any)
		if !ok || s["name"] != service || s["count"] == int64(0) {
			return false
		}
		exposes, _, _ := unstructured.NestedSlice(s, "expose")
		return slices.ContainsFunc(exposes, func(v any) bool {
			e, _ := v.(map[string]any)
			external, _ := e["external_port"].(int64)
			if external == 0 {
				external, _ = e["port"].(int64)
			}
			return e["global"] == true && external == int64(port)
		})
	})
}

// theirs is true for an object that one of Akash's operators makes of a ProviderHost or of a
// ProviderLeasedIP. What it does not know is not labelled as Akash's (design: 2.7).
func (o operators) theirs(object render.Object) bool {
	makes := o.hostname
	switch object.Kind {
	case render.Ingress, render.HTTPRoute:
	case render.Service:
		makes = o.ip
	default:
		return false
	}
	return makes && cluster.Rendered(object).GetLabels()[lease.LabelManaged] == "true"
}

// moves is true for a route of another lease that the hostname operator removes itself when the
// ProviderHost changes hands: where it finds it gone already it stops and starts anew.
func (o operators) moves(route owned) bool {
	return o.hostname && (route.kind == render.Ingress || route.kind == render.HTTPRoute) && route.live.GetLabels()[lease.LabelManaged] == "true"
}

// leaveTheirs tells of the objects that are left to the operators, and returns the others.
func (r *run) leaveTheirs(objects []render.Object) []render.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o render.Object) bool {
		if !r.snapshot.operators.theirs(o) {
			return false
		}
		if r.snapshot.theirRoute(o) == nil {
			r.event(Left, o.Kind.Singular, o.Namespace, o.Name, "to Akash's operator")
		} else {
			r.event(Unchanged, o.Kind.Singular, o.Namespace, o.Name, "")
		}
		return true
	})
}

// theirRoute is the live object that an operator has made for a rendered one; the hostname operator
// makes Ingresses or HTTPRoutes, whatever is rendered.
func (s *snapshot) theirRoute(o render.Object) *unstructured.Unstructured {
	for _, kind := range operatorKinds(o.Kind) {
		if live := s.live[kind.Plural][o.Namespace+"/"+o.Name]; live != nil {
			return live
		}
	}
	return nil
}

func operatorKinds(kind render.Kind) []render.Kind {
	if kind == render.Service {
		return []render.Kind{render.Service}
	}
	return []render.Kind{render.Ingress, render.HTTPRoute}
}

// wakes is a ProviderHost with the time at which it was last deployed, which Akash's provider
// writes too, so that its operator looks at it again. It stays while nothing else changes.
func (r *run) wakes(o render.Object) render.Object {
	if o.Kind != render.ProviderHost || !r.snapshot.operators.hostname {
		return o
	}
	body := cluster.Rendered(o)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	out := render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: body}
	if live := r.snapshot.find(o); live != nil {
		if at := live.GetAnnotations()[lease.AnnotationUpdatedAt]; at != "" && owns(live, r.group.FieldManager(), lease.AnnotationUpdatedAt) {
			annotations[lease.AnnotationUpdatedAt] = at
			body.SetAnnotations(annotations)
		}
		if cluster.Unchanged(out, live, r.manager(o)) || r.snapshot.ownership(live).Shared {
			return out
		}
	}
	annotations[lease.AnnotationUpdatedAt] = r.cluster.Now().UTC().Format(time.RFC3339)
	body.SetAnnotations(annotations)
	return out
}

// owns is true where a field manager has applied the annotation.
func owns(live *unstructured.Unstructured, manager, annotation string) bool {
	entry, ok := managed.Applied(live, manager)
	return ok && entry.Owns("metadata", "annotations", annotation)
}
