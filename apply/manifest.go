package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Manifests yields the Manifest objects that Akash's provider keeps, as JSON, in the order of
// their names.
func (c *Cluster) Manifests(ctx context.Context, namespace string, yield func(name string, data []byte) error) error {
	objects, err := c.objects(ctx, akashResource("manifests"), namespace, metav1.ListOptions{})
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
