// Package examination reads what shows whether a cluster has what this program needs. The pure package state/examine decides
// about it.
package examination

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/examine"
)

// The kinds that only an examination reads.
var (
	definitions    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	ingressClasses = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}
	gatewayClasses = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gatewayclasses"}
	routers        = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"}

	admission = schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	policies  = []schema.GroupVersionResource{
		admission.WithResource("validatingadmissionpolicies"), admission.WithResource("validatingadmissionpolicybindings"),
	}
	webhooks = []schema.GroupVersionResource{
		admission.WithResource("validatingwebhookconfigurations"), admission.WithResource("mutatingwebhookconfigurations"),
	}
)

// Configuration is the provider's configuration as a text.
type Configuration struct {
	// Text is empty if there is none. Place names the file or the ConfigMap; File is true for a file.
	Text, Place string
	File        bool
}

// Read reads what shows whether a cluster has what this program needs, or needs before install. The configuration is nil to read the
// cluster's. A read that is refused stops no other one. The error means that the API server does not answer.
func Read(ctx context.Context, c *cluster.Cluster, configured *Configuration, before bool) (*examine.Seen, error) {
	r := newReader(c, config.Default())
	r.seen.Before = before
	if err := r.configuration(ctx, configured); err != nil {
		return nil, err
	}
	group, listing := parallel.WithContext(ctx)
	for _, read := range []func(context.Context) error{
		r.version, r.kinds, r.namespaces, r.rights, r.metallb, r.routes, r.gateway, r.webhooks, r.operators,
	} {
		group.Go(func() error { return read(listing) })
	}
	if !before {
		group.Go(func() error { return r.policies(listing) })
		group.Go(func() error { return r.reconciler(listing) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r.seen.Clock.Least, r.seen.Clock.Most, r.seen.Clock.Seen = c.Behind()
	r.seen.Now = c.Now()
	return r.seen, nil
}

// ReadServing reads only what serves the objects that the configuration writes: Gateway, routers, MetalLB with its pools.
func ReadServing(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) (*examine.Seen, error) {
	r := newReader(c, cfg)
	group, listing := parallel.WithContext(ctx)
	for _, read := range []func(context.Context) error{r.kinds, r.metallb, r.routes, r.gateway} {
		group.Go(func() error { return read(listing) })
	}
	return r.seen, group.Wait()
}

func newReader(c *cluster.Cluster, cfg *config.ProviderConfig) *reader {
	return &reader{cluster: c, seen: &examine.Seen{
		Config: cfg, Served: map[schema.GroupVersion]examine.Answer[[]string]{},
		Definitions: map[string]examine.Answer[examine.Object]{}, Namespaces: map[string]examine.Answer[examine.Object]{},
		Rights: map[examine.Right]examine.Answer[bool]{}, Backends: map[string]examine.Answer[examine.Backend]{},
	}}
}

// configuration reads the provider's configuration, by which the rest is chosen.
func (r *reader) configuration(ctx context.Context, configured *Configuration) error {
	var problems lease.Problems
	if configured == nil {
		ledger := config.Default().LedgerNamespace
		o, err := r.cluster.ConfigMap(ctx, ledger)
		if o, r.seen.Configured.Unread, err = answered(o, err, right("get", cluster.ConfigMaps, ledger, manifests.ConfigMapName)); err != nil {
			return err
		}
		text, place, broken := cluster.ConfigText(o)
		problems, _ = errors.AsType[lease.Problems](broken)
		configured = &Configuration{Text: text, Place: place}
	}
	at := &r.seen.Configured.Value
	at.Place, at.Missing = configured.Place, configured.Text == "" && !configured.File && problems == nil
	at.Edit = "kubectl akash-net config edit"
	if configured.File {
		at.Edit = "edit " + configured.Place
	}
	cfg, found, err := config.Read(strings.NewReader(configured.Text), configured.Place)
	if problems = append(problems, found...); err != nil {
		problems = append(problems, lease.Problem{Message: err.Error()})
	}
	if cfg != nil {
		r.seen.Config = cfg
	}
	at.Problems = problems
	return nil
}

func (r *reader) version(ctx context.Context) (err error) {
	version, err := r.cluster.Version(ctx)
	return answer(&r.seen.Version, version, err, examine.Right{Verb: "get", Resource: "version"})
}

// kinds reads which of the needed kinds are served, and the definitions of Akash's kinds and of those that are not.
func (r *reader) kinds(ctx context.Context) error {
	needed := examine.Kinds(r.seen.Config)
	group, reading := parallel.WithContext(ctx)
	for _, version := range groupVersions(needed) {
		group.Go(func() error {
			served, err := r.cluster.Served(reading, version)
			return put(r, r.seen.Served, version, served, err, examine.Right{Verb: "get", Group: version.Group, Resource: "resources"})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, reading = parallel.WithContext(ctx)
	for _, k := range needed {
		if slices.Contains(r.seen.Served[k.GroupVersion()].Value, k.Plural) {
			continue
		}
		group.Go(func() error { return getInto(reading, r, r.seen.Definitions, definitions, k.Plural+"."+k.Group) })
	}
	return group.Wait()
}

// groupVersions returns the groups and versions of kinds, each once.
func groupVersions(of []kinds.Kind) (out []schema.GroupVersion) {
	for _, k := range of {
		if !slices.Contains(out, k.GroupVersion()) {
			out = append(out, k.GroupVersion())
		}
	}
	return out
}

func (r *reader) namespaces(ctx context.Context) error {
	group, reading := parallel.WithContext(ctx)
	names := []string{r.seen.Config.LedgerNamespace, r.seen.Config.ManifestNamespace, manifests.OperatorsNamespace}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		group.Go(func() error { return getInto(reading, r, r.seen.Namespaces, cluster.Namespaces, name) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if there := r.seen.Namespaces[r.seen.Config.LedgerNamespace]; there.Unread == nil && there.Value == nil {
		if lost := ledger.New(r.cluster, r.seen.Config.LedgerNamespace).Lost(ctx); lost != nil {
			r.seen.Applied = lost.Object
		}
	}
	return nil
}

func (r *reader) metallb(ctx context.Context) error {
	namespace := r.seen.Config.IP.MetalLBNamespace
	group, reading := parallel.WithContext(ctx)
	group.Go(func() error { return list(reading, r, &r.seen.MetalLB, kinds.Deployment.Resource(), namespace) })
	group.Go(func() error { return list(reading, r, &r.seen.Pools, kinds.IPAddressPool.Resource(), namespace) })
	group.Go(func() error {
		return list(reading, r, &r.seen.L2Advertisements, kinds.L2Advertisement.Resource(), namespace)
	})
	group.Go(func() error {
		return list(reading, r, &r.seen.BGPAdvertisements, kinds.BGPAdvertisement.Resource(), namespace)
	})
	return group.Wait()
}

// routes reads what serves Ingresses and Routes. Of Ingresses one page is enough to see whether a controller answers.
func (r *reader) routes(ctx context.Context) error {
	group, reading := parallel.WithContext(ctx)
	switch r.seen.Config.Target {
	case config.TargetIngress:
		group.Go(func() error { return list(reading, r, &r.seen.IngressClasses, ingressClasses, "") })
		group.Go(func() error { return firstPage(reading, r, &r.seen.Ingresses, kinds.Ingress.Resource()) })
	case config.TargetRoute:
		group.Go(func() error { return list(reading, r, &r.seen.Routers, routers, "") })
	}
	return group.Wait()
}

// gateway reads the configured Gateway, and its class.
func (r *reader) gateway(ctx context.Context) error {
	g := r.seen.Config.Gateway
	if r.seen.Config.Target != config.TargetHTTPRoute {
		return nil
	}
	if err := get(ctx, r, &r.seen.Gateway, kinds.Gateway.Resource(), g.Namespace, g.Name); err != nil || r.seen.Gateway.Value == nil {
		return err
	}
	class, _ := state.Field(r.seen.Gateway.Value.Object, "spec", "gatewayClassName").(string)
	return get(ctx, r, &r.seen.GatewayClass, gatewayClasses, "", class)
}

func (r *reader) policies(ctx context.Context) error {
	return lists(ctx, r, &r.seen.Policies, policies)
}

// operators reads the Deployments, and the StatefulSets if the caller may, where Akash's operators and provider run.
func (r *reader) operators(ctx context.Context) error {
	var sets examine.Answer[[]examine.Object]
	group, reading := parallel.WithContext(ctx)
	group.Go(func() error {
		return list(reading, r, &r.seen.Operators, kinds.Deployment.Resource(), manifests.OperatorsNamespace)
	})
	group.Go(func() error {
		return list(reading, r, &sets, kinds.StatefulSet.Resource(), manifests.OperatorsNamespace)
	})
	err := group.Wait()
	r.seen.Operators.Value = append(r.seen.Operators.Value, sets.Value...)
	return err
}

func (r *reader) reconciler(ctx context.Context) error {
	ledger := r.seen.Config.LedgerNamespace
	group, reading := parallel.WithContext(ctx)
	group.Go(func() error {
		return get(reading, r, &r.seen.Reconciler, kinds.Deployment.Resource(), ledger, state.Reconciler)
	})
	group.Go(func() error {
		elections := metav1.ListOptions{LabelSelector: state.LabelComponent + "=" + state.ComponentElection}
		all, err := r.cluster.Objects(reading, cluster.Leases, ledger, elections)
		return answer(&r.seen.Elections, all, err, right("list", cluster.Leases, ledger, ""))
	})
	return group.Wait()
}

// webhooks reads the webhooks, and whether those answer that this program needs.
func (r *reader) webhooks(ctx context.Context) error {
	if err := lists(ctx, r, &r.seen.Webhooks, webhooks); err != nil {
		return err
	}
	group, reading := parallel.WithContext(ctx)
	for _, name := range r.seen.BackendsToRead() {
		group.Go(func() error { return r.backend(reading, name) })
	}
	return group.Wait()
}

// backend reads whether a Service, NAMESPACE/NAME, exists, and counts the addresses that answer behind it.
func (r *reader) backend(ctx context.Context, name string) error {
	namespace, service, _ := strings.Cut(name, "/")
	var found examine.Answer[examine.Object]
	if err := get(ctx, r, &found, kinds.Service.Resource(), namespace, service); err != nil {
		return err
	}
	var backend examine.Answer[examine.Backend]
	if backend.Unread = found.Unread; found.Value != nil {
		backend.Value.Exists = true
		opts := metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + service}
		slices, err := r.cluster.Objects(ctx, kinds.EndpointSlice.Resource(), namespace, opts)
		for _, o := range slices {
			backend.Value.Ready += ready(o)
		}
		_, backend.Unread, err = answered(slices, err, right("list", kinds.EndpointSlice.Resource(), namespace, ""))
		if err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.Backends[name] = backend
	return nil
}

// ready counts the addresses of an EndpointSlice that take requests. Without the condition they do (discovery/v1: Ready).
func ready(o examine.Object) (n int) {
	endpoints, _ := state.Field(o.Object, "endpoints").([]any)
	for _, e := range endpoints {
		addresses, _ := state.Field(e, "addresses").([]any)
		if isReady, said := state.Field(e, "conditions", "ready").(bool); isReady || !said {
			n += len(addresses)
		}
	}
	return n
}
