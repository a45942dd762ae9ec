package console

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// alikeError is an error that several leases have in common.
type alikeError struct {
	*report.LeaseError
	leases map[lease.Group]bool
}

func (e *alikeError) Error() string {
	if more := len(e.leases) - 1; more > 0 {
		return fmt.Sprintf("lease %s and %s: %v", e.Lease, terminal.Count(more, "more lease"), e.Err)
	}
	return e.LeaseError.Error()
}

// alike are the errors, of which one stands for all leases that a missing permission or a missing kind has ended with
// the same words: they are the cluster's, and there may be hundreds.
func alike(errs []error) []error {
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

// isOfCluster is true for what the cluster refuses whichever lease it is for, where nothing has to be taken back.
func isOfCluster(err error) bool {
	return (is[*cluster.MissingKindError](err) || apierrors.IsForbidden(err)) && !is[*report.HalfError](err)
}
