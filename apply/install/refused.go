package install

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// Refused says who may install and uninstall, where the API server does not let this user; other errors stay. Operators' roles do not help:
// nobody may grant with RBAC what he may not do himself.
func Refused(err error) error {
	var status apierrors.APIStatus
	if _, several := err.(interface{ Unwrap() []error }); several { // of several errors none is left out
		return err
	}
	if !apierrors.IsForbidden(err) || cluster.IsPolicy(err) || !errors.As(err, &status) {
		return err
	}
	return fmt.Errorf("not allowed: %s\nInstalling and uninstalling take a cluster administrator: run the command as one (--context, --as), or ask one", status.Status().Message)
}
