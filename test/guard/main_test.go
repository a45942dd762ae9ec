// Package guard_test tries the guard's rules on a real control plane with MetalLB: each attack on
// the ledger is refused with it, and what Akash and this tool do in the normal course is not.
package guard_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin"
)

// The tenants of the examples: alice has the shop, bob the blog.
const (
	alice    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	bob      = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

	shop     = "shop.example.com"
	shopPort = alice + "-ip-public-tcp-443"
)

var (
	aliceLease = lease.ID{Owner: alice, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}
	bobLease   = lease.ID{Owner: bob, DSeq: 5905802, GSeq: 1, OSeq: 1, Provider: provider}
)

var (
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	hosts      = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "providerhosts"}
	leasedIPs  = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "providerleasedips"}
	services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

var (
	plane   *testbed.ControlPlane
	cluster dynamic.Interface
)

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, func(ctx context.Context, p *testbed.ControlPlane) (err error) {
		plane = p
		if cluster, err = dynamic.NewForConfig(p.Config); err != nil {
			return err
		}
		if err := p.StartControllerManager(ctx); err != nil {
			return err
		}
		if err := p.StartMetalLB(ctx); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"install", "--config", example("provider-config")},
			{"apply", "-f", example("shop")},
			{"apply", "-f", example("blog")},
		} {
			if out, code := akashNet(ctx, args...); code != 0 {
				return fmt.Errorf("%v: exit code %d\n%s", args, code, out)
			}
		}
		return nil
	}))
}

func example(name string) string {
	return filepath.Join("..", "..", "manifests", "examples", name+".yaml")
}

// akashNet runs the plugin as the administrator.
func akashNet(ctx context.Context, args ...string) (out string, code int) {
	var text bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &text, ErrOut: &text}
	code = plugin.Main(ctx, append([]string{"kubectl-akash_net", "--kubeconfig", plane.Kubeconfig}, args...), streams)
	return text.String(), code
}

func mustAkashNet(t *testing.T, args ...string) string {
	t.Helper()
	out, code := akashNet(t.Context(), args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	return out
}

// kubectl runs kubectl with a text on stdin. Its error holds what it printed.
func kubectl(t *testing.T, stdin string, env []string, args ...string) error {
	t.Helper()
	path, err := programs.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--kubeconfig", plane.Kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// ref names an object.
type ref struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

var (
	aliceClaim   = ref{leases, "akash-net", shop}
	aliceAddress = ref{leases, "akash-net", "ip--203-0-113-0"}
	aliceHost    = ref{hosts, "lease", shop}
	alicePort    = ref{leasedIPs, "lease", shopPort}
	bobsService  = ref{services, bobLease.Namespace(), "blog-ip-22-tcp"}
)

func (r ref) client() dynamic.ResourceInterface {
	return cluster.Resource(r.resource).Namespace(r.namespace)
}

func (r ref) get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	o, err := r.client().Get(t.Context(), r.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// restore makes an object again what it was.
func (r ref) restore(t *testing.T, was *unstructured.Unstructured) {
	t.Helper()
	was.SetResourceVersion(r.get(t).GetResourceVersion())
	if _, err := r.client().Update(t.Context(), was, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, check func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
