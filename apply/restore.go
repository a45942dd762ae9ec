package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/render"
)

// ConflictError says that somebody else manages fields of an object that a run wants to write.
type ConflictError struct {
	Object   string
	Managers []string
	// Differs is true where the fields have other values than the run wants. Else there is more in them: a
	// list is written as a whole by one manager.
	Differs bool
	Err     error
}

func (e *ConflictError) Error() string {
	how := ", with other values"
	if !e.Differs {
		how = ", with the wanted values and more beside them"
	}
	return fmt.Sprintf("%s: fields are managed by %s%s: %v\nNothing is forced. Let that manager drop the fields, or delete the object, and apply again",
		e.Object, strings.Join(e.Managers, ", "), how, e.Err)
}

func (e *ConflictError) Unwrap() error { return e.Err }

// alteredObject is an object that was there, and that a run has changed or become a manager of.
type alteredObject struct {
	object render.Object
	before *unstructured.Unstructured
	// answer is what the API server said of the change.
	answer *metav1.PartialObjectMetadata
}

// restoreAltered gives the objects that this run has changed the values that they had, and gives up the fields
// that it did not own before. What has been applied under the same manager since stays. The errors are of
// those that stay as the run has made them.
func (r *run) restoreAltered(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, a := range slices.Backward(r.altered) {
		err := r.cluster.Withdraw(ctx, a.object.Kind, a.before, a.answer, r.manager(a.object))
		switch {
		case err == nil:
			r.event(Configured, a.object.Kind.Singular, a.object.Namespace, a.object.Name, "taken back")
		case cluster.IsOwned(err), cluster.IsOvertaken(err), apierrors.IsNotFound(err): // somebody else has changed it since
		default:
			errs = append(errs, fmt.Errorf("%s could not be given its former values: %w", a.object, err))
		}
	}
	r.altered = nil
	return errors.Join(errs...)
}
