package workload

import (
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// binding binds the service's ServiceAccount to its Role.
func (s *service) binding() render.Object {
	return render.Object{Kind: kinds.RoleBinding, Namespace: s.ns, Name: s.Name, Config: rbacac.RoleBinding(s.Name, s.ns).
		WithLabels(s.leaseLabels(s.labels())).WithAnnotations(s.annotations()).
		WithSubjects(rbacac.Subject().WithKind(kinds.ServiceAccount.Kind).WithName(s.Name).WithNamespace(s.ns)).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup(kinds.Role.Group).WithKind(kinds.Role.Kind).WithName(s.Name))}
}
