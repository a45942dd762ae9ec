package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// Config reads the configuration that all clients of the cluster share, and returns its place for messages. The text is
// empty if there is none.
func (c *Cluster) Config(ctx context.Context) (text, place string, err error) {
	namespace := config.Default().LedgerNamespace
	place = "configmap " + namespace + "/" + manifests.ConfigMapName
	var o *unstructured.Unstructured
	err = c.Read(ctx, func() (err error) {
		o, err = c.Dynamic.Resource(ConfigMaps).Namespace(namespace).Get(ctx, manifests.ConfigMapName, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return "", place, nil
	}
	if err != nil {
		return "", place, c.Explain(err, "get", ConfigMaps)
	}
	text, _, err = unstructured.NestedString(o.Object, "data", manifests.ConfigMapKey)
	return text, place, err
}
