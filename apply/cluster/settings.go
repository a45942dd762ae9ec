package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

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
