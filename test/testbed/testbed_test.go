package testbed_test

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

var plane *testbed.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, func(ctx context.Context, p *testbed.ControlPlane) error {
		plane = p
		if err := p.StartControllerManager(ctx); err != nil {
			return err
		}
		return p.StartMetalLB(ctx)
	}))
}

// Without MetalLB's controller no Service would ever get an address, and a cluster of one family
// would refuse the IPv6 Service.
func TestMetalLBGivesAddresses(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(plane.Config)
	makePool(t, "both-families", "203.0.113.0/28", "2001:db8:10::/120")
	tests := []struct {
		family corev1.IPFamily
		within string
	}{
		{corev1.IPv4Protocol, "203.0.113.0/28"},
		{corev1.IPv6Protocol, "2001:db8:10::/120"},
	}
	for _, tt := range tests {
		t.Run(string(tt.family), func(t *testing.T) {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "web-" + strings.ToLower(string(tt.family))},
				Spec: corev1.ServiceSpec{
					Type:       corev1.ServiceTypeLoadBalancer,
					IPFamilies: []corev1.IPFamily{tt.family},
					Ports:      []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}},
				},
			}
			if _, err := clients.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			var given string
			eventually(t, "an address of "+tt.within, func(ctx context.Context) (bool, error) {
				seen, err := clients.CoreV1().Services("default").Get(ctx, service.Name, metav1.GetOptions{})
				if err != nil || len(seen.Status.LoadBalancer.Ingress) == 0 {
					return false, err
				}
				given = seen.Status.LoadBalancer.Ingress[0].IP
				return true, nil
			})
			address, err := netip.ParseAddr(given)
			if err != nil || !netip.MustParsePrefix(tt.within).Contains(address) {
				t.Errorf("MetalLB gave %q, which is not of %s", given, tt.within)
			}
		})
	}
}

func TestDeletedNamespaceGoes(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(plane.Config).CoreV1().Namespaces()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "leaves"}}
	if _, err := client.Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), namespace.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.Get(ctx, namespace.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

func TestRBACHoldsForUsers(t *testing.T) {
	config, _, err := plane.AddUser("nobody")
	if err != nil {
		t.Fatal(err)
	}
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Services("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user without rights lists Services: %v", err)
	}
}

func TestGatewayAPICRDs(t *testing.T) {
	crds, err := programs.GatewayAPICRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := plane.InstallCRDs(crds); err != nil {
		t.Fatal(err)
	}
	routes := schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}
	if _, err := dynamic.NewForConfigOrDie(plane.Config).Resource(routes).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func TestKubectlReachesTheControlPlane(t *testing.T) {
	kubectl, err := programs.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", plane.Kubeconfig, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Server Version: v1.") {
		t.Errorf("kubectl version: %v\n%s", err, out)
	}
}

func makePool(t *testing.T, name string, ranges ...any) {
	t.Helper()
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"addresses": ranges},
	}}
	client := dynamic.NewForConfigOrDie(plane.Config).
		Resource(schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}).
		Namespace(programs.MetalLBNamespace)
	if _, err := client.Create(t.Context(), pool, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, check func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
