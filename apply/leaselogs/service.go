package leaselogs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// UnknownServiceError says that a lease runs other services than the one that is named.
type UnknownServiceError struct {
	Service string
	// Has are those that it runs, sorted.
	Has []string
}

func (e *UnknownServiceError) Error() string {
	return fmt.Sprintf("it has no service %q: it has %s", e.Service, strings.Join(e.Has, ", "))
}

// checkService fails with an UnknownServiceError for a service without pods, where the lease runs others. A lease that runs
// nothing yet may have any; so may one of which that cannot be read.
func (r *reader) checkService(ctx context.Context) error {
	if r.opts.Service == "" {
		return nil
	}
	has := map[string]bool{}
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.StatefulSet} {
		_, err := cluster.ListMetas(ctx, r.cluster, kind.Resource(), r.namespace, metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"}, func(meta *metav1.ObjectMeta) (string, bool) {
			has[meta.Labels[lease.LabelService]] = true
			return "", false
		})
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		}
	}
	if len(has) == 0 || has[r.opts.Service] {
		return nil
	}
	return &UnknownServiceError{Service: r.opts.Service, Has: slices.Sorted(maps.Keys(has))}
}
