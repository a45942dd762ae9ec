// Package cluster connects to an API server. It bounds the number of concurrent requests, repeats them during an
// outage, pins writes to what was read, and explains errors. It knows nothing about leases.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// SkipFieldValidation disables the warnings about unknown and duplicate fields, for which the API server would parse
// the body of an apply a second time. An apply with a field outside the schema fails anyway, and our bodies have no
// duplicates.
const SkipFieldValidation = metav1.FieldValidationIgnore

// Resources that are read or written but not rendered.
var (
	Leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	Namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	ConfigMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// AkashResource returns the resource of one of Akash's kinds.
func AkashResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: plural}
}

// Cluster is a connection to a cluster. It uses discovery only for Contents, which lists everything in a namespace.
type Cluster struct {
	// Dynamic and Metadata are the clients for whole objects and for metadata. Wrap their requests in Read or Write.
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	discovery *discovery.DiscoveryClient
	// Retries bounds the retries after a lost race or an unclear answer.
	Retries wait.Backoff
	// Reads is true for a command that writes nothing: the viewer's roles allow what it does.
	Reads bool
	host  string
	// places bounds the number of concurrent requests.
	places       chan struct{}
	clock        *clock
	availability *availability
	config       *rest.Config
	http         *http.Client
	// Cache has what is read without a request.
	Cache Cache
	// drafts holds the writes of a dry run; nil outside of one.
	drafts *drafts
}

// Connect creates the clients of a REST configuration, with at most concurrency requests at a time. It disables
// client-go's rate limit: the bound on concurrency and API priority and fairness protect the server.
func Connect(config *rest.Config, concurrency int) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	clock, availability := &clock{}, &availability{patience: cmp.Or(config.Timeout, outage), backoff: outageBackoff}
	availability.writes.Store(int64(unanswered))
	config.Wrap(availability.answering)
	config.Wrap(clock.wrap)
	config.Wrap(availability.wrap)
	config.Wrap(noteStatus)
	config.Wrap(gated)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Retries: wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Steps: 10},
		config:  config, http: client, host: config.Host, places: make(chan struct{}, max(concurrency, 1)),
		clock: clock, availability: availability,
	}
	return c, c.connect(client)
}

// connect creates the clients.
func (c *Cluster) connect(client *http.Client) (err error) {
	if c.Dynamic, err = dynamic.NewForConfigAndClient(c.config, client); err != nil {
		return err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(c.config), client); err != nil {
		return err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(c.config, client)
	return err
}

type apartKey struct{}

// Apart returns a context whose requests do not count against the bound on concurrency. Use it for requests that must
// not wait.
func Apart(ctx context.Context) context.Context { return context.WithValue(ctx, apartKey{}, true) }

// enter waits until another request may be sent.
func (c *Cluster) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Value(apartKey{}) != nil {
		return func() {}, nil
	}
	select {
	case c.places <- struct{}{}:
		return func() { <-c.places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// clock is the API server's clock, taken from the Date header of its answers (RFC 9110). The client's own clock only
// measures the time since the last answer: it may be hours off, and may be set meanwhile.
type clock struct {
	mu     sync.Mutex
	server time.Time
	seen   time.Time
	// agreed is when an answer had that time last.
	agreed time.Time
	// least and most are the bounds of how far this machine's clock is behind the server's, by the last answer.
	least, most time.Duration
}

// Answers that arrive late, or come from an API server whose clock is behind that of another one, have earlier times. If for setBack there
// is no other, the clock was set back.
const (
	late    = 5 * time.Second
	setBack = time.Minute
)

// Now returns the API server's time, or the client's before the first answer.
func (c *Cluster) Now() time.Time {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	if c.clock.server.IsZero() {
		return time.Now()
	}
	return c.clock.server.Add(time.Since(c.clock.seen))
}

// Behind returns the bounds of how far this machine's clock is behind the server's; they are negative if it is ahead. ok is false
// before the first answer with a date.
func (c *Cluster) Behind() (least, most time.Duration, ok bool) {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.least, c.clock.most, !c.clock.server.IsZero()
}

// see takes the date of an answer that came at a time, to a request that was sent at another.
func (c *clock) see(date, sent, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The server wrote the date between sent and now, and rounded it down to seconds.
	c.least, c.most = date.Sub(now), date.Add(time.Second).Sub(sent)
	// The header is rounded down to seconds, so the later of two estimates is closer.
	known := c.server.Add(now.Sub(c.seen))
	if c.server.IsZero() || date.After(known) || now.Sub(c.agreed) > setBack {
		c.server, c.seen, c.agreed = date, now, now
	}
	if known.Sub(date) < late {
		c.agreed = now
	}
}

func (c *clock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := time.Now()
		response, err := next.RoundTrip(r)
		if err != nil {
			return response, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.see(date, sent, time.Now())
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ConfigMap reads the ConfigMap with the configuration in the ledger's namespace. It returns nil if there is none.
func (c *Cluster) ConfigMap(ctx context.Context, namespace string) (*unstructured.Unstructured, error) {
	var o *unstructured.Unstructured
	err := c.Read(ctx, func() (err error) {
		o, err = c.Dynamic.Resource(ConfigMaps).Namespace(namespace).Get(ctx, manifests.ConfigMapName, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.Explain(err, "get", ConfigMaps)
	}
	return o, nil
}

// ConfigText returns the configuration in a ConfigMap, and its place for messages. The text is empty if there is no ConfigMap. The error
// is a lease.Problems if the ConfigMap has no configuration.
func ConfigText(o *unstructured.Unstructured) (text, place string, err error) {
	place = "configmap " + config.Default().LedgerNamespace + "/" + manifests.ConfigMapName
	if o == nil {
		return "", place, nil
	}
	text, found, _ := unstructured.NestedString(o.Object, "data", manifests.ConfigMapKey)
	if !found {
		var problems lease.Problems
		problems.Add(lease.Place{File: place}, "it has no key %q in data", manifests.ConfigMapKey)
		return "", place, problems
	}
	return text, place, nil
}

// Config reads the configuration that all clients of the cluster share. See ConfigText.
func (c *Cluster) Config(ctx context.Context) (text, place string, err error) {
	o, err := c.ConfigMap(ctx, config.Default().LedgerNamespace)
	if err != nil {
		return "", "", err
	}
	return ConfigText(o)
}

// ReplaceConfig replaces the configuration in a ConfigMap that was read, whoever wrote it. The write is pinned: if the ConfigMap has
// changed since, the API server refuses it (see IsOvertaken).
func (c *Cluster) ReplaceConfig(ctx context.Context, live *unstructured.Unstructured, document string) (now *unstructured.Unstructured, err error) {
	o, err := manifests.Config(config.Default(), document)
	if err != nil {
		return nil, err
	}
	o.SetNamespace(live.GetNamespace())
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	err = c.Write(ctx, func(write context.Context) (err error) {
		now, err = c.Dynamic.Resource(ConfigMaps).Namespace(o.GetNamespace()).
			Apply(write, o.GetName(), o, metav1.ApplyOptions{FieldManager: lease.FieldManager, Force: true})
		return err
	})
	return now, err
}

// Version returns the version that the API server says it has.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	var info apimachineryversion.Info
	err := c.Read(ctx, func() error {
		body, err := c.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &info)
	})
	return info.GitVersion, c.Explain(err, "get", schema.GroupVersionResource{Resource: "version"})
}

// Served returns the resources of a group and version, by their plural names; none if the API server does not serve it. Every
// authenticated user may ask.
func (c *Cluster) Served(ctx context.Context, of schema.GroupVersion) ([]string, error) {
	var list metav1.APIResourceList
	path := "/apis/" + of.String()
	if of.Group == "" {
		path = "/api/" + of.Version
	}
	err := c.ReadOf(ctx, of.WithResource("resources"), func() error { return c.discovery.RESTClient().Get().AbsPath(path).Do(ctx).Into(&list) })
	if IsMissingKind(err) {
		return nil, nil
	}
	var names []string
	for _, r := range list.APIResources {
		names = append(names, r.Name)
	}
	return names, c.Explain(err, "get", of.WithResource("resources"))
}

// May reports whether the caller has a right.
func (c *Cluster) May(ctx context.Context, right *authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right}}
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	question := &unstructured.Unstructured{Object: body}
	question.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"))
	reviews := authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")
	var answer *unstructured.Unstructured
	err = c.Read(ctx, func() (err error) { // it persists nothing
		answer, err = c.Dynamic.Resource(reviews).Create(ctx, question, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, c.Explain(err, "create", reviews)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}
