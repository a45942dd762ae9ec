//go:build linux

package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var claims = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// cluster is a control plane with the program installed: etcd and kube-apiserver, no controllers.
type cluster struct {
	*testbed.ControlPlane
	metas  metadata.Interface
	client *kubernetes.Clientset
	ledger string
}

func startCluster(b *testing.B) *cluster {
	b.Helper()
	log.SetLogger(log.Log.WithSink(log.NullLogSink{})) // what envtest logs is of no interest
	plane, err := testbed.Start(b.Context())
	b.Cleanup(func() { check(b, plane.Stop()) })
	check(b, err)
	harness.Plane = plane
	metas, err := metadata.NewForConfig(plane.Config)
	check(b, err)
	c := &cluster{plane, metas, harness.Client(), config.Default().LedgerNamespace}
	c.run("install", plugin(b), "install").measure(b)
	return c
}

// run is a command line beside the cluster.
func (c *cluster) run(name string, args ...string) program {
	return program{name: name, args: args, kubeconfig: c.Kubeconfig}
}

// clear removes what was written for the leases 0 to n. No controller runs that would end a namespace, so its finalizer is
// taken away here, once it is empty.
func (c *cluster) clear(b *testing.B, n int) {
	b.Helper()
	remove := func(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
		return c.metas.Resource(resource).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}
	check(b, remove(b.Context(), claims, c.ledger))
	check(b, remove(b.Context(), kinds.ProviderHost.Resource(), config.Default().ManifestNamespace))
	each(b, n, func(ctx context.Context, i int) error {
		name, namespaces := definition(i).Lease.Namespace(), c.client.CoreV1().Namespaces()
		for _, resource := range []schema.GroupVersionResource{kinds.Ingress.Resource(), {Group: "events.k8s.io", Version: "v1", Resource: "events"}} {
			if err := remove(ctx, resource, name); err != nil {
				return err
			}
		}
		err := namespaces.Delete(ctx, name, metav1.DeleteOptions{})
		if err == nil {
			_, err = namespaces.Finalize(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.UpdateOptions{})
		} else if apierrors.IsNotFound(err) {
			err = nil
		}
		return err
	})
}

// request is one request as it reached the API server.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// recorder keeps what is asked of the API server.
type recorder struct {
	next     http.RoundTripper
	mu       sync.Mutex
	requests []request
}

// RoundTrip sends a request on.
func (r *recorder) RoundTrip(in *http.Request) (*http.Response, error) {
	var body bytes.Buffer
	if in.Body != nil {
		if _, err := body.ReadFrom(in.Body); err != nil {
			return nil, err
		}
		in.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	}
	r.mu.Lock()
	header := in.Header.Clone()
	header.Del("Accept-Encoding") // whoever sends it unpacks what comes
	r.requests = append(r.requests, request{in.Method, in.URL, header, body.Bytes()})
	r.mu.Unlock()
	return r.next.RoundTrip(in)
}

// record runs a program against the cluster and returns what it asked of the API server.
func (c *cluster) record(b *testing.B, p program) []request {
	b.Helper()
	r := &recorder{}
	p.kubeconfig = harness.Kubeconfig(b, harness.Proxy(b, c.Config, func(proxy *httputil.ReverseProxy) {
		r.next, proxy.Transport = proxy.Transport, r
	}))
	p.measure(b)
	return r.requests
}

// replay is what recorded requests are without the program: the least time that this work can take. Lists come first, side by
// side, the pages of each in turn; then the announcement; then the writes, those of one lease in their order and as many leases
// at a time as the program works on; in the end the announcement goes.
type replay struct{ lists, begin, writes, end [][]request }

// newReplay takes the requests of a run over the leases 0 to n.
func newReplay(b *testing.B, requests []request, n int) (r replay) {
	b.Helper()
	r.writes = make([][]request, n)
	leases := map[string]int{} // by the names of their objects
	for i := range n {
		d := definition(i)
		for _, name := range []string{d.Lease.Namespace(), d.Services[0].Expose[0].Hosts[0].Name, kept.Name(d.Lease.Group())} {
			leases[name] = i
		}
	}
	paged := map[string]int{}
	for _, q := range requests {
		name := path.Base(q.url.Path)
		switch {
		case state.IsAnnouncement(name) && q.method == http.MethodDelete:
			q.body = nil // it names the version of the announcement
			r.end = append(r.end, []request{q})
		case state.IsAnnouncement(name):
			if q.method == http.MethodPatch && len(r.begin) == 0 { // how often it is renewed depends on the time
				r.begin = append(r.begin, []request{q})
			}
		case q.method == http.MethodGet:
			list := fmt.Sprint(q.url.Path, q.url.Query()["labelSelector"])
			if _, known := paged[list]; !known {
				paged[list] = len(r.lists)
				r.lists = append(r.lists, nil)
			}
			r.lists[paged[list]] = append(r.lists[paged[list]], q)
		default:
			if q.method == http.MethodPost { // a namespace, or an Event in one
				var o metav1.PartialObjectMetadata
				check(b, json.Unmarshal(q.body, &o))
				name = cmp.Or(o.Namespace, o.Name)
			}
			i, ok := leases[name]
			if !ok {
				b.Fatalf("%s %s belongs to no lease", q.method, q.url)
			}
			r.writes[i] = append(r.writes[i], q)
		}
	}
	return r
}

// decoder reads what the API server answers as protobuf; that is most of what it answers.
var decoder = func() runtime.Decoder {
	utilruntime.Must(metav1.AddMetaToScheme(scheme.Scheme))
	return scheme.Codecs.UniversalDeserializer()
}()

// measure makes the requests, and reads the answers.
func (r replay) measure(b *testing.B, c *cluster) usage {
	b.Helper()
	client, err := rest.HTTPClientFor(c.Config)
	check(b, err)
	start := time.Now()
	for _, chains := range [][][]request{r.lists, r.begin, r.writes, r.end} {
		each(b, len(chains), func(ctx context.Context, i int) error {
			for _, q := range chains[i] {
				in, err := http.NewRequestWithContext(ctx, q.method, q.url.String(), bytes.NewReader(q.body))
				if err != nil {
					return err
				}
				in.Header = q.header
				out, err := client.Do(in)
				if err != nil {
					return err
				}
				body, err := io.ReadAll(out.Body)
				_ = out.Body.Close()
				if err == nil && strings.Contains(out.Header.Get("Content-Type"), "protobuf") {
					_, _, err = decoder.Decode(body, nil, nil)
				}
				if err == nil && out.StatusCode >= http.StatusBadRequest && (q.method != http.MethodGet || out.StatusCode != http.StatusNotFound) {
					err = fmt.Errorf("%s %s: %s", q.method, q.url, out.Status)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return usage{time.Since(start).Seconds()}
}
