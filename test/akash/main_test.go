// Package akash_test runs the program beside a double of Akash's operators and of its provider, on a real
// API server with MetalLB. The double is held against what is known of the real ones, and then taken
// through all that happens to leases.
package akash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
)

var (
	plane   *testbed.ControlPlane
	objects dynamic.Interface
	program string
)

const (
	ledger    = "akash-net"
	manifests = "lease"
	provider  = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

var (
	claims      = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	pools       = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}
)

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, func(ctx context.Context, p *testbed.ControlPlane) (err error) {
		plane, program = p, filepath.Join(p.Dir, "kubectl-akash_net")
		if objects, err = dynamic.NewForConfig(p.Config); err != nil {
			return err
		}
		gateways, err := programs.GatewayAPICRDs(ctx)
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error {
			if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "../../cmd/kubectl-akash_net").CombinedOutput(); err != nil {
				return fmt.Errorf("go build: %w\n%s", err, out)
			}
			return nil
		})
		group.Go(func() error { return p.StartControllerManager(context.WithoutCancel(ctx)) })
		group.Go(func() error {
			if err := p.StartMetalLB(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			return p.InstallCRDs(gateways)
		})
		if err := group.Wait(); err != nil {
			return err
		}
		if r := run(context.Background(), p.Kubeconfig, "install"); r.code != 0 {
			return errors.New(r.String())
		}
		_, err = objects.Resource(operators.Namespaces).Create(context.Background(), parse("{apiVersion: v1, kind: Namespace, metadata: {name: akash-services}}"), metav1.CreateOptions{})
		return err
	}))
}

func parse(text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(body)
	}
	if err != nil {
		panic(err)
	}
	return o
}

// deploy makes the Deployments by which the operators are found, until the test ends.
func deploy(t *testing.T, names ...string) {
	t.Helper()
	in := objects.Resource(deployments).Namespace("akash-services")
	for _, name := range names {
		_, err := in.Create(t.Context(), parse(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: `+name+`, namespace: akash-services},
			spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := in.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// result is how the program ended and what it printed.
type result struct {
	args           []string
	code           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit code %d\n--- stdout\n%s--- stderr\n%s", strings.Join(r.args, " "), r.code, r.stdout, r.stderr)
}

func (r result) exits(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("want exit code %d: %s", code, r)
	}
	return r
}

// says fails the test unless each text was printed.
func (r result) says(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("it does not say %q: %s", text, r)
		}
	}
	return r
}

func run(ctx context.Context, kubeconfig string, args ...string) result {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	r := result{args: args, stdout: out.String(), stderr: errOut.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code = exit.ExitCode()
	} else if err != nil {
		r.code, r.stderr = -1, r.stderr+err.Error()
	}
	return r
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
	// lost is true while no answer to a write comes back.
	lost atomic.Bool
}

func count(t *testing.T) *counter {
	t.Helper()
	transport, err := rest.TransportFor(plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(plane.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(server)
			if p.In.Method != http.MethodGet {
				c.mu.Lock()
				c.writes = append(c.writes, p.In.Method+" "+p.In.URL.Path)
				before := c.before
				c.mu.Unlock()
				if before != nil {
					before(p.In.Method, p.In.URL.Path)
				}
			} else if c.reads != nil {
				c.reads(p.In.URL.Path)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if c.lost.Load() && r.Request.Method != http.MethodGet {
				return errors.New("the answer is lost")
			}
			return nil
		},
		ErrorLog:  log.New(io.Discard, "", 0),
		Transport: transport, FlushInterval: -1,
	})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	c.kubeconfig = file(t, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: test,
  clusters: [{name: test, cluster: {server: %q}}], contexts: [{name: test, context: {cluster: test}}]}`, proxy.URL))
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

func file(t *testing.T, text string) string {
	t.Helper()
	f, err := os.CreateTemp(plane.Dir, "file-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the write is checked
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

var number atomic.Int64

// newTenant is an owner that no other test has.
func newTenant() string { return "akash1" + lease.Hash(fmt.Sprint("tenant ", number.Add(1)))[:38] }

func leaseOf(owner string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: provider}
}

// newHost is a host that no other test has.
func newHost(word string) string { return fmt.Sprintf("%s.n%d.example.com", word, number.Add(1)) }

func find(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := objects.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// list are the objects of a resource that match a selector, in their order.
func list(t *testing.T, resource schema.GroupVersionResource, selector string) []unstructured.Unstructured {
	t.Helper()
	found, err := objects.Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(found.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found.Items
}

// eventually waits for what other programs do.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return check(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
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
	running, err := operators.Start(plane.Config, o)
	must(t, err)
	t.Cleanup(running.Stop)
	akash, err := operators.NewProvider(plane.Config, o.Owner)
	must(t, err)
	return running, akash
}
