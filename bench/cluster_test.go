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
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
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

// running is the control plane of all benchmarks that leave little behind.
var running *cluster

// shared returns that control plane, without claims.
func shared(b *testing.B) *cluster {
	b.Helper()
	if running == nil {
		running = startCluster(b, *smallest)
	}
	harness.Plane = running.ControlPlane
	running.clear(b, size(0, 100))
	return running
}

func stopShared() (err error) {
	if running != nil {
		err = running.Stop()
	}
	running = nil
	return err
}

// ofItsOwn returns a control plane beside which no other runs; the shared one with -smallest.
func ofItsOwn(b *testing.B, addresses bool) *cluster {
	b.Helper()
	if *smallest {
		return shared(b)
	}
	check(b, stopShared())
	c := startCluster(b, addresses)
	b.Cleanup(func() { check(b, c.Stop()) })
	return c
}

func startCluster(b *testing.B, addresses bool) *cluster {
	b.Helper()
	log.SetLogger(log.Log.WithSink(log.NullLogSink{})) // what envtest logs is of no interest
	plane, err := testbed.Start(context.WithoutCancel(b.Context()))
	check(b, err)
	harness.Plane = plane
	metas, err := metadata.NewForConfig(plane.Config)
	check(b, err)
	c := &cluster{plane, metas, harness.Client(), config.Default().LedgerNamespace}
	install := c.run("install", plugin(b), "install")
	if addresses {
		check(b, testbed.PrepareMetalLB(b.Context(), plane.Config))
		install.args = append(install.args, "--config", harness.File(b, "{apiVersion: net.akash.network/v1alpha1, kind: ProviderConfig, spec: {ip: {ranges: [10.64.0.0/16]}}}"))
	}
	install.measure(b)
	return c
}

// run is a command line beside the cluster.
func (c *cluster) run(name string, args ...string) program {
	return program{name: name, args: args, kubeconfig: c.Kubeconfig}
}

// stored returns what is stored below prefixes.
func (c *cluster) stored(b *testing.B, prefixes ...string) (all []testbed.Pair) {
	b.Helper()
	for _, prefix := range prefixes {
		some, err := c.Stored(b.Context(), prefix)
		check(b, err)
		all = append(all, some...)
	}
	return all
}

var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// spread stores copies of what is stored of number 0 for the numbers from first to n. names are the texts by which one differs from another, all
// equally long: so it does not matter how objects are encoded.
func (c *cluster) spread(b *testing.B, model []testbed.Pair, first, n int, names func(i int) []string) {
	b.Helper()
	var all []map[string][]byte
	zero := names(0)
	for i := first; i < n; i++ {
		var both []string
		for at, name := range names(i) {
			both = append(both, zero[at], name)
		}
		with := strings.NewReplacer(both...)
		for _, one := range model {
			value := uid.ReplaceAllStringFunc(string(one.Value), func(string) string { return string(uuid.NewUUID()) })
			all = append(all, map[string][]byte{"key": []byte(with.Replace(string(one.Key))), "value": []byte(with.Replace(value))})
		}
	}
	check(b, c.Store(b.Context(), "requestPut", all))
}

// namesOf are the texts by which one lease differs from another.
func namesOf(i int) []string {
	d := definition(i)
	return []string{d.Name, fmt.Sprint(d.Lease.DSeq), d.Lease.Owner, d.Lease.Namespace(), d.Hash, kept.Name(d.Lease.Group())}
}

// written are the prefixes of the keys of what is written for leases, but for their namespaces.
func (c *cluster) written() []string {
	return []string{"leases/" + c.ledger + "/", kinds.ProviderHost.Group + "/" + kinds.ProviderHost.Plural + "/", "ingress/", "events/"}
}

// clear removes what was written for the leases 0 to n.
func (c *cluster) clear(b *testing.B, n int) {
	b.Helper()
	prefixes := c.written()
	for i := range n {
		prefixes = append(prefixes, "namespaces/"+definition(i).Lease.Namespace())
	}
	var all []map[string][]byte
	for _, prefix := range prefixes {
		all = append(all, testbed.Below(prefix))
	}
	check(b, c.Store(b.Context(), "requestDeleteRange", all))
}

// request is one request as it reached the API server.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// tripper does something with each request.
type tripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// through runs a program whose requests go through a proxy, which does something with each.
func (c *cluster) through(b *testing.B, p program, with func(next http.RoundTripper) http.RoundTripper) usage {
	b.Helper()
	p.kubeconfig = harness.Kubeconfig(b, harness.Proxy(b, c.Config, func(proxy *httputil.ReverseProxy) {
		proxy.Transport = with(proxy.Transport)
		proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // a client that went
	}))
	return p.measure(b)
}

// record runs a program against the cluster and returns what it asked of the API server.
func (c *cluster) record(b *testing.B, p program) (requests []request) {
	b.Helper()
	var mu sync.Mutex
	c.through(b, p, func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(in *http.Request) (*http.Response, error) {
			var body []byte
			if in.Body != nil {
				body, _ = io.ReadAll(in.Body)
				in.Body = io.NopCloser(bytes.NewReader(body))
			}
			mu.Lock()
			header := in.Header.Clone()
			header.Del("Accept-Encoding") // whoever sends it unpacks what comes
			requests = append(requests, request{in.Method, in.URL, header, body})
			mu.Unlock()
			return next.RoundTrip(in)
		})
	})
	return requests
}

// replay is what recorded requests are without the program: the least time that this work can take. Lists come first, side by
// side, the pages of each in turn; then the announcement; then the writes, those of one lease in their order and as many leases
// at a time as the program works on; in the end the announcement goes.
type replay [4][][]request

// newReplay takes the requests of a run over the leases 0 to n.
func newReplay(b *testing.B, requests []request, n int) (r replay) {
	b.Helper()
	leases := map[string]string{} // by the names of their objects
	for i := range n {
		d := definition(i)
		for _, name := range []string{d.Lease.Namespace(), d.Services[0].Expose[0].Hosts[0].Name, kept.Name(d.Lease.Group())} {
			leases[name] = d.Name
		}
	}
	index := map[string]int{} // of chains
	for _, q := range requests {
		phase, name := 2, path.Base(q.url.Path)
		chain := leases[name]
		switch {
		case state.IsAnnouncement(name) && q.method == http.MethodDelete:
			phase, q.body = 3, nil // it names the version of the announcement
		case state.IsAnnouncement(name):
			if phase = 1; q.method != http.MethodPatch || len(r[1]) > 0 { // how often it is renewed depends on the time
				continue
			}
		case q.method == http.MethodGet:
			phase, chain = 0, fmt.Sprint(q.url.Path, q.url.Query()["labelSelector"])
		case q.method == http.MethodPost: // a namespace, or an Event in one
			var o metav1.PartialObjectMetadata
			check(b, json.Unmarshal(q.body, &o))
			chain = leases[cmp.Or(o.Namespace, o.Name)]
		}
		if phase == 2 && chain == "" {
			b.Fatalf("%s %s belongs to no lease", q.method, q.url)
		}
		key := fmt.Sprint(phase, chain)
		at, known := index[key]
		if !known {
			at = len(r[phase])
			index[key], r[phase] = at, append(r[phase], nil)
		}
		r[phase][at] = append(r[phase][at], q)
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
	for _, chains := range r {
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
