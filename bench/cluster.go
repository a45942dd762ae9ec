//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

var (
	claims     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// concurrency is how many requests are under way at a time: the program's default, and the same
// for flux and for the bare loop.
const concurrency = 16

// system is a control plane with the program installed: etcd and kube-apiserver, no controllers.
type system struct {
	*testbed.ControlPlane
	client metadata.Interface
	core   corev1client.CoreV1Interface
}

func (b *bench) startCluster(ctx context.Context) (*system, error) {
	fmt.Fprintln(os.Stderr, "starting a control plane")
	log.SetLogger(log.Log.WithSink(log.NullLogSink{})) // what envtest logs is of no interest
	plane, err := testbed.Start(ctx)
	if err != nil {
		return &system{ControlPlane: plane}, err
	}
	c := &system{ControlPlane: plane}
	if c.client, err = metadata.NewForConfig(plane.Config); err != nil {
		return c, err
	}
	if c.core, err = corev1client.NewForConfig(plane.Config); err != nil {
		return c, err
	}
	_, err = b.measure(ctx, program{name: "install", args: []string{b.tools.plugin, "install"}, env: c.env()})
	return c, err
}

// env selects the cluster.
func (c *system) env() []string { return []string{"KUBECONFIG=" + c.Kubeconfig} }

// clear removes what was written for the leases 0 to n. No controller runs that would end a
// namespace, so its finalizer is taken away here, once it is empty.
func (c *system) clear(ctx context.Context, n int) error {
	cfg := config.Default()
	if err := c.remove(ctx, claims, cfg.LedgerNamespace); err != nil {
		return err
	}
	if err := c.remove(ctx, kinds.ProviderHost.Resource(), cfg.ManifestNamespace); err != nil {
		return err
	}
	return each(ctx, n, func(ctx context.Context, i int) error {
		name := definition(i).Lease.Namespace()
		if err := c.remove(ctx, kinds.Ingress.Resource(), name); err != nil {
			return err
		}
		err := c.core.Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			_, err = c.core.Namespaces().Finalize(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.UpdateOptions{})
		}
		return err
	})
}

func (c *system) remove(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	return c.client.Resource(resource).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// count is how many claims, ProviderHosts, Ingresses and namespaces of leases there are.
func (c *system) count(ctx context.Context) (int, error) {
	total := 0
	for resource, selector := range map[schema.GroupVersionResource]string{
		claims:                        state.LabelKind,
		kinds.ProviderHost.Resource(): "",
		kinds.Ingress.Resource():      "",
		namespaces:                    lease.LabelDSeq,
	} {
		list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return 0, err
		}
		total += len(list.Items)
	}
	return total, nil
}

// each calls work for 0 to n, several at a time.
func each(ctx context.Context, n int, work func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() error { return work(ctx, i) })
	}
	return group.Wait()
}

// writeKubeconfig writes a kubeconfig that names a server and no user.
func (b *bench) writeKubeconfig(server string) (string, error) {
	path := filepath.Join(b.dir, "kubeconfig")
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // the write tells
	_, err = io.WriteString(file, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: bench,
  clusters: [{name: bench, cluster: {server: %q}}],
  contexts: [{name: bench, context: {cluster: bench}}]}`, server))
	return path, err
}
