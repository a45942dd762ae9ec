package install

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// Refused explains who may install and uninstall, if RBAC refuses it. It returns other errors unchanged. The operators'
// roles do not suffice: nobody may grant rights with RBAC that they do not have.
func Refused(err error) error {
	var status apierrors.APIStatus
	if _, several := err.(interface{ Unwrap() []error }); several { // keep all errors of a join
		return err
	}
	if !apierrors.IsForbidden(err) || cluster.IsPolicy(err) || !errors.As(err, &status) {
		return err
	}
	return fmt.Errorf("not allowed: %s\nInstalling and uninstalling take a cluster administrator: run the command as one (--context, --as), or ask one",
		status.Status().Message)
}
