package observed

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/state"
)

// NodeUses reads the addresses of the nodes, which no lease gets. A user who may not list nodes goes on without them.
func NodeUses(ctx context.Context, c *cluster.Cluster) ([]state.Use, error) {
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	uses, err := cluster.ListObjects(ctx, c, nodes, "", metav1.ListOptions{}, state.NodeUses)
	if apierrors.IsForbidden(err) || cluster.IsMissingKind(err) {
		return nil, nil
	}
	return uses, err
}
