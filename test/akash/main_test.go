// Package akash_test runs the program beside a double of Akash's operators and of its provider, on a real
// API server with MetalLB. The double is held against what is known of the real ones, and then taken
// through all that happens to leases.
package akash_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const (
	ledger    = "akash-net"
	manifests = "lease"
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

func TestMain(m *testing.M) {
	setup := harness.Setup{Controllers: true, MetalLB: true, Gateways: true, Binary: true, Reconciler: true, Install: true}
	setup.Then = func(ctx context.Context) (err error) {
		if err := harness.Kubectl(ctx, "", nil, "create", "namespace", "akash-services"); err != nil {
			return err
		}
		reconciler, err = harness.Reconciler(ctx)
		return err
	}
	os.Exit(harness.Main(m, setup))
}

// reconciler is a kubeconfig of the ServiceAccount that install --reconciler makes.
var reconciler string

// What the tests of this package ask of the cluster, and of its tenants.
var (
	claims, pools               = cluster.Leases, kinds.IPAddressPool.Resource()
	find, list, file, run       = harness.Find, harness.List, harness.File, harness.RunAs
	newTenant, leaseOf, newHost = harness.NewOwner, harness.LeaseOf, harness.NewHost
)

type result = harness.Result

// parse reads an object that a test has written.
func parse(text string) *unstructured.Unstructured {
	o, err := harness.ParseObject(text)
	if err != nil {
		panic(err)
	}
	return o
}

// eventually waits for what other programs do.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	harness.Eventually(t, what, func(context.Context) (bool, error) { return check(), nil })
}

// deploy makes the Deployments by which the operators are found, until the test ends.
func deploy(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		made := harness.Create(t, "helm", deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: `+name+`, namespace: akash-services},
			spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`)
		t.Cleanup(func() {
			if err := harness.Objects.Resource(deployments).Namespace(made.GetNamespace()).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// counter passes requests on to the API server and keeps those that write.
type counter struct {
	kubeconfig string
	mu         sync.Mutex
	writes     []string
	// before is called for each write before the API server has it.
	before func(method, path string)
	// reads is called for each read before the API server has it.
	reads func(path string)
}

func count(t *testing.T) *counter {
	t.Helper()
	c := &counter{}
	c.kubeconfig = harness.Kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
		pass := p.Rewrite
		p.Rewrite = func(r *httputil.ProxyRequest) {
			pass(r)
			if strings.Contains(r.In.URL.Path, "/events.k8s.io/") { // what a command tells of its work is none of it
				return
			}
			if r.In.Method != http.MethodGet {
				c.mu.Lock()
				c.writes = append(c.writes, r.In.Method+" "+r.In.URL.Path)
				before := c.before
				c.mu.Unlock()
				if before != nil {
					before(r.In.Method, r.In.URL.Path)
				}
			} else if c.reads != nil {
				c.reads(r.In.URL.Path)
			}
		}
		p.ErrorLog = log.New(io.Discard, "", 0)
	}))
	return c
}

// sent are the writes since the last call.
func (c *counter) sent() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.writes
	c.writes = nil
	return sent
}

// must ends the test for an error of the provider's double.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start runs the operators for an owner until the test ends, and the provider.
func start(t *testing.T, o operators.Options) (*operators.Operators, operators.Provider) {
	t.Helper()
	o.RetryDelay = 20 * time.Millisecond
	running, err := operators.Start(harness.Plane.Config, o)
	must(t, err)
	t.Cleanup(running.Stop)
	akash, err := operators.NewProvider(harness.Plane.Config, o.Owner)
	must(t, err)
	return running, akash
}
