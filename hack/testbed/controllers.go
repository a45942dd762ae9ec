package testbed

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// StartControllerManager starts kube-controller-manager with the controllers that the ledger's behaviour depends on and
// those named, and waits until it says that they run.
func (p *ControlPlane) StartControllerManager(ctx context.Context, more ...string) error {
	path, err := programs.Path("kube-controller-manager")
	if err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	port := ports[0]
	controllers := strings.Join(append([]string{"namespace-controller", "garbage-collector-controller"}, more...), ",")
	manager, err := p.children.start(ctx, path, "--kubeconfig="+p.Kubeconfig, "--controllers="+controllers, "--leader-elect=false",
		"--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port), "--cert-dir="+p.Dir)
	if err != nil {
		return err
	}
	if err := WaitHealthy(manager.running, fmt.Sprintf("https://127.0.0.1:%d/healthz", port)); err != nil {
		return fmt.Errorf("kube-controller-manager: %w\n%s", err, tail(manager.log))
	}
	return nil
}

// StartMetalLB installs MetalLB's CRDs and namespace, starts its controller and waits until it
// works. The namespace for pools is programs.MetalLBNamespace.
func (p *ControlPlane) StartMetalLB(ctx context.Context) error {
	path, err := programs.Path("metallb-controller")
	if err != nil {
		return err
	}
	if err := PrepareMetalLB(ctx, p.Config); err != nil {
		return err
	}
	// No webhook, no certificates. It would serve its metrics on all of the machine's addresses, so it gets a port that
	// cannot be opened, which it notes in its log.
	controller, err := p.children.start(ctx, path, "-kubeconfig="+p.Kubeconfig, "-namespace="+programs.MetalLBNamespace,
		"-webhook-mode=disabled", "-disable-cert-rotation", "-port=-1")
	if err != nil {
		return err
	}
	if err := WaitMetalLB(controller.running, p.Config); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(controller.log))
	}
	return nil
}

// patience bounds the wait for one program; a loaded machine needs a good part of it.
const patience = 2 * time.Minute

// WaitHealthy waits until a URL of the loopback address answers 200. Certificates are not
// checked: the programs make their own at each start.
func WaitHealthy(ctx context.Context, url string) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // loopback
	}}
	defer client.CloseIdleConnections()
	last := fmt.Errorf("no answer yet")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			last = err
			return false, nil //nolint:nilerr // no answer yet: ask again
		}
		_ = response.Body.Close()
		last = fmt.Errorf("%s answers %s", url, response.Status)
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("not ready: %w (%w)", last, cmp.Or(context.Cause(ctx), err))
	}
	return nil
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	pools      = schema.GroupVersionResource{Group: "metallb.io", Version: "v1beta1", Resource: "ipaddresspools"}
)

// PrepareMetalLB makes what MetalLB's controller needs before it starts.
func PrepareMetalLB(ctx context.Context, config *rest.Config) error {
	crds, err := programs.MetalLBCRDs(ctx)
	if err != nil {
		return err
	}
	if err := InstallCRDs(config, crds); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": programs.MetalLBNamespace},
	}}
	_, err = client.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// WaitMetalLB waits until MetalLB's controller counts the addresses of a pool, made for the
// question and deleted after it. The pool is of a documentation range and gives nothing away.
func WaitMetalLB(ctx context.Context, config *rest.Config) error {
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	client := dyn.Resource(pools).Namespace(programs.MetalLBNamespace)
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
		"metadata": map[string]any{"name": "testbed-ready"},
		"spec":     map[string]any{"addresses": []any{"192.0.2.255/32"}, "autoAssign": false},
	}}
	if _, err := client.Create(ctx, pool, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		seen, err := client.Get(ctx, pool.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		free, _, err := unstructured.NestedInt64(seen.Object, "status", "availableIPv4")
		return free == 1, err
	})
	if err != nil {
		return fmt.Errorf("MetalLB's controller does not count the addresses of a pool: %w", cmp.Or(context.Cause(ctx), err))
	}
	return client.Delete(ctx, pool.GetName(), metav1.DeleteOptions{})
}
