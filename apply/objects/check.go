package objects

import (
	"errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// FindKinds returns an error for each kind of the lease's objects that the cluster does not serve.
func (r *Objects) FindKinds() error {
	var errs []error
	for _, kind := range r.Kinds {
		if r.Snapshot.Lacks[kind] {
			errs = append(errs, &cluster.MissingKindError{Resource: kind.Resource()})
		}
	}
	return errors.Join(errs...)
}
