package change

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
)

// clusterOfFolder returns a cluster with the objects in a folder, and the provider's configuration: that of --config, or of
// the ConfigMap among the objects.
func clusterOfFolder(ctx context.Context, c *session.Session, folder string) (*cluster.Cluster, *config.ProviderConfig, error) {
	cfg, err := c.Configuration(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	var objects []*unstructured.Unstructured
	err = files.OfFolder(ctx, folder, cfg.Limits, true, func(o *unstructured.Unstructured) { objects = append(objects, o) })
	if err != nil {
		return nil, nil, err
	}
	of, unowned, err := apply.OfFiles(objects)
	if err != nil {
		return nil, nil, lease.Problems{{At: lease.Place{File: folder}, Message: err.Error()}}
	}
	if unowned > 0 {
		objects := "1 object was"
		if unowned > 1 {
			objects = fmt.Sprint(unowned, " objects were")
		}
		c.Warn(lease.Problems{{At: lease.Place{File: folder}, Warning: true, Message: objects +
			" exported without managed fields, so values that apply would remove are not shown; export with: kubectl get -o yaml " +
			"--show-managed-fields"}})
	}
	if c.ConfigFile == "" {
		cfg, err = c.Configuration(ctx, of)
	}
	return of, cfg, err
}
