package leaselogs

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// UnknownServiceError reports that a lease has other services than the named one.
type UnknownServiceError struct {
	Service string
	// Has are the lease's services, sorted.
	Has []string
}

func (e *UnknownServiceError) Error() string {
	return fmt.Sprintf("it has no service %q: it has %s", e.Service, strings.Join(e.Has, ", "))
}

// checkService returns an UnknownServiceError for a service without pods, if the lease runs other services. It returns
// nil if the lease runs nothing yet or the user may not read what it runs.
func (r *reader) checkService(ctx context.Context) error {
	if r.opts.Service == "" {
		return nil
	}
	has := sets.New[string]()
	opts := metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"}
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.StatefulSet} {
		err := cluster.EachMeta(ctx, r.cluster, kind.Resource(), r.namespace, opts, func(meta *metav1.ObjectMeta) {
			has.Insert(meta.Labels[lease.LabelService])
		}, func() {})
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		}
	}
	if len(has) == 0 || has.Has(r.opts.Service) {
		return nil
	}
	return &UnknownServiceError{Service: r.opts.Service, Has: sets.List(has)}
}
