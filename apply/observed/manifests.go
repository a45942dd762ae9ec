package observed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// Manifests yields the Manifest objects of Akash's provider as JSON, sorted by name.
func Manifests(ctx context.Context, c *cluster.Cluster, namespace string, yield func(name string, data []byte) error) error {
	objects, err := c.Objects(ctx, cluster.AkashResource("manifests"), namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range objects {
		data, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		if err := yield(o.GetName(), data); err != nil {
			return err
		}
	}
	return nil
}
