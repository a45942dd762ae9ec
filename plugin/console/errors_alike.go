package console

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// alikeError is the same error of several leases.
type alikeError struct {
	*report.LeaseError
	leases map[lease.Group]bool
}

func (e *alikeError) Error() string {
	if more := len(e.leases) - 1; more > 0 {
		return fmt.Sprintf("lease %s and %s: %v", e.Lease, lease.Count(more, "more lease"), e.Err)
	}
	return e.LeaseError.Error()
}

// joinAlike replaces the errors with the same text that a missing permission or a missing kind caused for several leases by
// one error. There may be hundreds of them.
func joinAlike(errs []error) []error {
	var out []error
	known := map[string]*alikeError{}
	for _, err := range errs {
		of, ok := err.(*report.LeaseError) //nolint:errorlint // what is around it stays
		if !ok || !isOfCluster(of.Err) {
			out = append(out, err)
			continue
		}
		text := of.Err.Error()
		if known[text] == nil {
			known[text] = &alikeError{of, map[lease.Group]bool{}}
			out = append(out, known[text])
		}
		known[text].leases[of.Lease] = true
	}
	for i, err := range out {
		if one, ok := err.(*alikeError); ok && len(one.leases) == 1 { //nolint:errorlint // it is none that wraps one
			out[i] = one.LeaseError
		}
	}
	return out
}

// isOfCluster reports whether the cluster refused something that does not depend on the lease. A *report.HalfError does not
// count, because it lists changes of its lease that could not be undone.
func isOfCluster(err error) bool {
	return (Is[*cluster.MissingKindError](err) || apierrors.IsForbidden(err)) && !Is[*report.HalfError](err)
}
