package cluster

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// NeedsRole is a refusal with the role that allows what was refused, for what is no part of the operator's and the viewer's
// roles. Other errors stay as they are.
func NeedsRole(err error, role string) error {
	status, ok := statusOf(err)
	if !ok || !apierrors.IsForbidden(err) || IsPolicy(err) {
		return err
	}
	return &RoleError{Message: status.Message, Role: role, err: err}
}

// RoleError says that a role is missing.
type RoleError struct {
	// Message is the API server's.
	Message string
	// Role is the ClusterRole that allows it.
	Role string
	err  error
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("not allowed: %s\nAsk an administrator to bind you the role %s as well:\n"+
		"  kubectl create clusterrolebinding NAME --clusterrole=%[2]s --user=YOU", e.Message, e.Role)
}

func (e *RoleError) Unwrap() error { return e.err }
