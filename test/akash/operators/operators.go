// Package operators is a double of Akash's hostname operator and IP operator, and of the calls by which
// Akash's provider writes their objects. It is for tests: the operators' own module cannot be had from a
// module proxy. What it does is what the operators were read and seen to do (akash-network/provider,
// operator/hostname, operator/ip, cluster/kube), the awkward parts included: whole objects are sent by
// Update, every error ends a loop that begins anew after a delay, one object with a bad address in the list
// does so for all tenants, a lease without Manifest is ignored after the third time, and what is deleted while
// an operator is down is never noticed.
package operators

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Manager is the field manager of all that Akash's programs write.
const Manager = "provider-services"

// The resources of Akash's programs.
var (
	Hosts      = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "providerhosts"}
	LeasedIPs  = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "providerleasedips"}
	Manifests  = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "manifests"}
	Ingresses  = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	HTTPRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
	Services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	Namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// Options are the operators' flags, as far as they matter here.
type Options struct {
	// Owner limits the operators to the objects of one owner, so that tests can run side by side;
	// empty is every owner, as the real ones do.
	Owner string
	// Gateway is ingress-mode=gateway-api.
	Gateway bool
	// ManifestNamespace is k8s-manifest-ns; "lease" where it is empty.
	ManifestNamespace string
	// RetryDelay is the time between the end of a loop and the next; 3 seconds where it is 0.
	RetryDelay time.Duration
	// FailureLimit is event-failure-limit; 3 where it is 0.
	FailureLimit int
	// Pool is metal-lb-pool; "default" where it is empty.
	Pool string
}

// Operators are both operators, as one Helm release runs them.
type Operators struct {
	options Options
	client  dynamic.Interface

	mu     sync.Mutex
	cancel context.CancelFunc
	done   sync.WaitGroup
	errs   []error
	host   *hostnameOperator
	ip     *ipOperator
}

// Start starts both operators. It returns when each has read what there is, or has failed to.
func Start(config *rest.Config, o Options) (*Operators, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if o.ManifestNamespace == "" {
		o.ManifestNamespace = "lease"
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = 3 * time.Second
	}
	if o.FailureLimit == 0 {
		o.FailureLimit = 3
	}
	if o.Pool == "" {
		o.Pool = "default"
	}
	operators := &Operators{options: o, client: client}
	operators.start()
	return operators, nil
}

func (o *Operators) start() {
	ctx, cancel := context.WithCancel(context.Background())
	o.mu.Lock()
	o.cancel = cancel
	o.mu.Unlock()
	o.host = &hostnameOperator{operator: o.operator("hostname operator")}
	o.ip = &ipOperator{operator: o.operator("ip operator")}
	var synced sync.WaitGroup
	for _, run := range []func(context.Context, func()){o.host.run, o.ip.run} {
		synced.Add(1)
		once := sync.OnceFunc(synced.Done)
		o.done.Go(func() {
			defer once()
			run(ctx, once)
		})
	}
	synced.Wait()
}

// Stop ends both operators, as kill does: what they know is gone, and what happens until they start
// again they never see.
func (o *Operators) Stop() {
	o.mu.Lock()
	cancel := o.cancel
	o.cancel = nil
	o.mu.Unlock()
	if cancel != nil {
		cancel()
		o.done.Wait()
	}
}

// Restart stops both operators and starts them anew, with empty ignore lists.
func (o *Operators) Restart() {
	o.Stop()
	o.start()
}

// RestartAs restarts both operators with ingress-mode=gateway-api, or ingress.
func (o *Operators) RestartAs(gateway bool) {
	o.Stop()
	o.options.Gateway = gateway
	o.start()
}

// Errors are what has ended a loop of one of the operators since the last call.
func (o *Operators) Errors() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	errs := o.errs
	o.errs = nil
	return errs
}

// Ignored are the leases that the operators ignore.
func (o *Operators) Ignored() []lease.ID { return append(o.host.ignored(), o.ip.ignored()...) }

func (o *Operators) note(name string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.errs = append(o.errs, fmt.Errorf("%s: %w", name, err))
}

// object reads an object written as YAML.
func object(format string, args ...any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON(fmt.Appendf(nil, format, args...))
	if err == nil {
		err = o.UnmarshalJSON(body)
	}
	if err != nil {
		panic(err) // the texts are this package's own
	}
	return o
}

// create makes an object as Akash's programs do.
func (o *Operators) create(ctx context.Context, resource schema.GroupVersionResource, made *unstructured.Unstructured) error {
	_, err := o.client.Resource(resource).Namespace(made.GetNamespace()).Create(ctx, made, metav1.CreateOptions{FieldManager: Manager})
	return err
}

// replace sends the whole of an object, made anew, over the one that was read.
func (o *Operators) replace(ctx context.Context, resource schema.GroupVersionResource, live, made *unstructured.Unstructured) error {
	made.SetResourceVersion(live.GetResourceVersion())
	_, err := o.client.Resource(resource).Namespace(made.GetNamespace()).Update(ctx, made, metav1.UpdateOptions{FieldManager: Manager})
	return err
}

// get is an object, or nil where there is none.
func (o *Operators) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	live, err := o.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return live, err
}

// labels are the five labels of a lease with akash.network, in YAML.
func labels(id lease.ID) string {
	return fmt.Sprintf(`%s: "true", %s: %q, %s: "%d", %s: "%d", %s: "%d", %s: %q`, lease.LabelManaged, lease.LabelOwner, id.Owner,
		lease.LabelDSeq, id.DSeq, lease.LabelGSeq, id.GSeq, lease.LabelOSeq, id.OSeq, lease.LabelProvider, id.Provider)
}

// leaseSelector is that of Akash's deletes, which leave the provider out.
func leaseSelector(id lease.ID) string {
	return fmt.Sprintf("%s=true,%s=%s,%s=%d,%s=%d,%s=%d", lease.LabelManaged, lease.LabelOwner, id.Owner,
		lease.LabelDSeq, id.DSeq, lease.LabelGSeq, id.GSeq, lease.LabelOSeq, id.OSeq)
}

// put makes an object, or sends the whole of it over the one that is there.
func (o *Operators) put(ctx context.Context, resource schema.GroupVersionResource, made *unstructured.Unstructured) error {
	live, err := o.get(ctx, resource, made.GetNamespace(), made.GetName())
	switch {
	case err != nil:
		return err
	case live == nil:
		return o.create(ctx, resource, made)
	}
	return o.replace(ctx, resource, live, made)
}
